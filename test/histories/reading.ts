import { until } from '../harness/until.ts';
import { type Entry, markOf } from './history.ts';
import { type Json, type Kind, kinds, seenIn, type Session, TRACE } from './session.ts';
import type { Walker } from './walker.ts';

// All that is read at the moments at which no client writes.

const LARGE_PAGE = 100;
/** The records of the erased user that are asked for. */
const MOST_GONE = 10;

/** Publishes a record. Returns its id. */
export const publish = async (session: Session, kind: Kind, name: string, more: Json = {}): Promise<string> => {
  const title = `${kind} ${name}`;
  const image = `https://images.example.com/${name.replaceAll(' ', '-')}.png`;
  const input = kind === 'game' ? { title, ...more } : { title, images: [image], ...more };
  const entry = await session.show(`${kind}.create`, input, { mark: markOf(input), key: title });
  const id = entry?.output?.id ?? '';
  if (entry) entry.record = id;
  return id;
};

/** The tag of the markers of a moment, by which they are found whatever the time of the service is. */
const tagOf = (quiet: number): string => `marker-${quiet}`;

/** Publishes one of each kind as the last of all, so that what is seen of it is true of all before. */
const publishMarkers = async (session: Session, quiet: number): Promise<Record<Kind, string>> => {
  const ids = { game: '', image: '' };
  for (const kind of kinds) {
    const id = await publish(session, kind, `marker ${quiet}`, { tagNames: [tagOf(quiet)] });
    ids[kind] = id;
    // Views are stored in their order, too.
    await session.show(`${kind}.getById`, { id }, { record: id, isPatient: true });
  }
  await session.show('game.toggleFavorite', { gameId: ids.game }, { record: ids.game, key: `marker ${quiet}` });
  return ids;
};

/** Resolves when the events and views of the markers are there, and so those of all before. */
const untilStored = async (session: Session, markers: Record<Kind, string>, quiet: number): Promise<void> => {
  const unnoted = { isUnnoted: true, isPatient: true };
  for (const [kind, types] of [
    ['game', ['game.created', 'game.reactionsChanged']],
    ['image', ['image.created']],
  ] as const)
    await until(async () => {
      const page = await session.readEvents({ recordId: markers[kind] }, unnoted);
      const there = page?.entry.events?.map(({ type }) => type) ?? [];
      return types.every((type) => there.includes(type));
    });
  for (const kind of kinds)
    await until(async () => {
      const page = await session.perform(`${kind}.list`, { limit: 1, page: 1, tagSlugs: [tagOf(quiet)] }, unnoted);
      const [item] = (page?.json['items'] ?? []) as { id: string; viewCount: number }[];
      return item?.id === markers[kind] && item.viewCount > 0;
    });
};

/**
 * Reads everything while no client writes: each user's lists and profile, the counts of tags and types, and the whole feed. Returns
 * the events.
 */
export const readAll = async (
  sessions: readonly Session[],
  quiet: number,
  { isCalm = false } = {},
): Promise<NonNullable<Entry['events']>> => {
  const [first] = sessions as [Session, ...Session[]];
  await untilStored(first, await publishMarkers(first, quiet), quiet);
  const about = { quiet, isCalm, isPatient: true };
  const tags: Record<Kind, Set<string>> = { game: new Set([TRACE]), image: new Set([TRACE]) };
  for (const session of sessions) {
    for (const kind of kinds) {
      const walk = await session.walk(kind, { sortBy: 'latest', limit: LARGE_PAGE }, about);
      if (!walk) continue;
      const { walked: _, ...entry } = walk.entry;
      for (const item of walk.items) {
        const output = seenIn(item);
        session.note({ ...entry, record: item['id'] as string, output });
        for (const slug of output.tags?.split(',') ?? []) tags[kind].add(slug);
      }
    }
    await session.show('user.getProfile', { id: session.user }, { record: session.user, ...about });
    for (const kind of kinds)
      await session.showAll(`${kind}.list`, { limit: 1, page: 1, authorId: session.user }, about);
  }
  for (const kind of kinds)
    for (const slug of tags[kind])
      if (slug !== '') await first.showAll(`${kind}.list`, { limit: 1, page: 1, tagSlugs: [slug] }, about);
  for (const kind of kinds) await first.walk(kind, { sortBy: 'views', limit: LARGE_PAGE }, about);
  const stats = await first.perform('game.getTypeStats', {}, about);
  if (stats) {
    const items = stats.json['items'] as { gameType: string | null; count: number }[];
    stats.entry.types = Object.fromEntries(items.map(({ gameType, count }) => [String(gameType), count]));
  }
  const whole = await first.readEvents({}, about);
  for (let page = whole; whole && page?.hasMore;) {
    page = await first.readEvents({ after: page.cursor }, { ...about, isUnnoted: true });
    whole.entry.events = [...(whole.entry.events ?? []), ...(page?.entry.events ?? [])];
  }
  return whole?.entry.events ?? [];
};

/** Asks for all that was of the user who is gone. */
export const lookFor = async (
  session: Session,
  { user, owner }: { user: Session; owner: Walker },
  records: ReadonlySet<string>,
  quiet: number,
): Promise<void> => {
  const about = { quiet, isPatient: true };
  await user.show('user.me', {}, about);
  await owner.repeat();
  await session.show('user.getProfile', { id: user.user }, { ...about, record: user.user });
  await session.showAll('user.search', { query: TRACE, limit: MOST_GONE }, about);
  for (const kind of kinds) await session.showAll(`${kind}.list`, { limit: MOST_GONE, page: 1, search: TRACE }, about);
  for (const id of [...records].slice(-MOST_GONE))
    for (const kind of kinds) await session.show(`${kind}.getById`, { id }, { ...about, record: id });
};
