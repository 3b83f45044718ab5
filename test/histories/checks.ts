import { isDeepStrictEqual } from 'node:util';
import type { Anomaly, Entry, Seen, SeenEvent } from './history.ts';

// The promises of which no order of operations has to be found: functions of a whole history.

type Check = (history: readonly Entry[]) => Anomaly[];

const grouped = <T>(items: readonly T[], nameOf: (item: T) => string | undefined): Map<string, T[]> => {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const name = nameOf(item);
    if (name === undefined) continue;
    const group = groups.get(name);
    if (group) group.push(item);
    else groups.set(name, [item]);
  }
  return groups;
};

const isOf = (entry: Entry, ...names: string[]): boolean => names.includes(entry.operation.split('.')[1] ?? '');
const isCreation = (entry: Entry): boolean => isOf(entry, 'create') && entry.repeats === undefined;
const isToggle = (entry: Entry): boolean =>
  isOf(entry, 'toggleFavorite', 'toggleReaction') && entry.repeats === undefined;
const kindOf = ({ operation }: Entry): string => operation.split('.')[0] ?? '';
const markOf = ({ mark = '' }: Entry): string => mark;

/** The reads at each moment at which no client wrote, in order. */
const quietMoments = (history: readonly Entry[]): Entry[][] => [
  ...grouped(
    history.filter(({ quiet }) => quiet !== undefined),
    ({ quiet }) => String(quiet),
  ).values(),
];

/** The records that the lists showed at a quiet moment, one entry for each reader. */
const listed = (moment: readonly Entry[]): Entry[] =>
  moment.filter((entry) => isOf(entry, 'list') && entry.record !== undefined && entry.output !== undefined);

/** Acknowledged creations are there once, those of an unknown outcome at most once, refused ones never; nothing else is. */
export const createsOnce: Check = (history) => {
  const last = quietMoments(history).at(-1) ?? [];
  const stored = grouped(listed(last), ({ output }) => output?.mark);
  const anomalies: Anomaly[] = [];
  const note = (found: string, entries: readonly Entry[]) => anomalies.push({ check: 'creates once', found, entries });
  const creations = history.filter(isCreation);
  const asked = grouped(creations, markOf);
  for (const creation of creations) {
    const rows = stored.get(markOf(creation)) ?? [];
    const ids = [...new Set(rows.map(({ record }) => record))];
    if (creation.outcome === 'ok' && !ids.includes(creation.record))
      note('was acknowledged and is not there', [creation]);
    if (creation.outcome === 'refused' && ids.length > 0) note('was refused and is there', [creation, ...rows]);
    if (ids.length > 1) note(`is there as ${ids.join(' and ')}`, [creation, ...rows]);
  }
  for (const [mark, rows] of stored) if (!asked.has(mark)) note(`${mark} is there and nothing created it`, rows);
  return anomalies;
};

/** A repetition has the answer of the first, to the letter; the same key with another input is refused. */
export const repeatsAnswerAlike: Check = (history) => {
  const anomalies: Anomaly[] = [];
  const note = (found: string, entries: readonly Entry[]) =>
    anomalies.push({ check: 'repeats answer alike', found, entries });
  const calls = grouped(history, ({ user, operation, key, client }) =>
    key === undefined ? undefined : `${user} ${operation} ${key} ${client}`,
  );
  for (const entries of calls.values()) {
    const [first, ...more] = entries;
    if (first?.outcome !== 'ok') continue;
    if (first.repeats === undefined && first.attempts === 1 && first.isReplayed)
      note('a new call got the answer of another one', [first]);
    for (const entry of more) {
      if (entry.repeats === 'other input') {
        if (entry.outcome === 'ok') note('another input was not refused', [first, entry]);
      } else if (entry.outcome === 'ok' && (entry.answer !== first.answer || !entry.isReplayed)) {
        note('a repetition got another answer', [first, entry]);
      } else if (entry.outcome === 'refused' && /MISMATCH|NOT_FOUND|GONE/.test(entry.reason)) {
        note('a repetition was refused', [first, entry]);
      }
    }
  }
  return anomalies;
};

const countsOf = ({ favoriteCount = 0, likeCount = 0, dislikeCount = 0 }: Seen) => ({
  favoriteCount,
  likeCount,
  dislikeCount,
});

/** At a quiet moment each counter is the number of the rows that it counts. */
export const countersEqualRows: Check = (history) =>
  quietMoments(history).flatMap((moment) => {
    const anomalies: Anomaly[] = [];
    const note = (found: string, entries: readonly Entry[]) =>
      anomalies.push({ check: 'counters equal rows', found, entries });
    const records = grouped(listed(moment), ({ record }) => record);
    for (const [id, rows] of records) {
      const viewers = rows.flatMap(({ output }) => output?.viewer ?? []);
      const counted = {
        favoriteCount: viewers.filter(({ favorited }) => favorited).length,
        likeCount: viewers.filter(({ reaction }) => reaction === 'like').length,
        dislikeCount: viewers.filter(({ reaction }) => reaction === 'dislike').length,
      };
      const wrong = rows.filter(({ output }) => !isDeepStrictEqual(countsOf(output ?? {}), counted));
      if (wrong.length > 0) note(`of ${id}, ${JSON.stringify(counted)} are there`, [...wrong, ...rows]);
    }
    const firsts = [...records.values()].flatMap(([first]) => first ?? []);
    for (const profile of moment.filter((entry) => isOf(entry, 'getProfile'))) {
      const own = firsts.filter(({ output }) => output?.authorId === profile.record);
      const counted = {
        gameCount: own.filter((entry) => kindOf(entry) === 'game').length,
        imagePostCount: own.filter((entry) => kindOf(entry) === 'image').length,
      };
      const { gameCount, imagePostCount } = profile.output ?? {};
      if (!isDeepStrictEqual({ gameCount, imagePostCount }, counted))
        note(`of user ${profile.record}, ${JSON.stringify(counted)} are there`, [profile]);
    }
    const games = firsts.filter((entry) => kindOf(entry) === 'game');
    const types = [...grouped(games, ({ output }) => String(output?.gameType))].map(([type, { length }]) => [
      type,
      length,
    ]);
    for (const stats of moment.filter((entry) => entry.types))
      if (!isDeepStrictEqual(stats.types, Object.fromEntries(types)))
        note(
          `of types, ${JSON.stringify(Object.fromEntries(types))} are there and ${JSON.stringify(stats.types)} told`,
          [stats],
        );
    return anomalies;
  });

/** Whether a record has the tags that a walk filters by. */
const isFound = (walk: Entry, { input }: Entry): boolean => {
  const { tagSlugs = [] } = walk.input as { tagSlugs?: string[] };
  const { tagNames = [] } = input as { tagNames?: string[] };
  return tagSlugs.every((slug) => tagNames.includes(slug));
};

/** A walk of a list repeats no record, and has each one whose creation was acknowledged before it began, in one order. */
export const walksAreWhole: Check = (history) => {
  const anomalies: Anomaly[] = [];
  const note = (found: string, entries: readonly Entry[]) =>
    anomalies.push({ check: 'walks are whole', found, entries });
  const creations = grouped(
    history.filter((entry) => isCreation(entry) && entry.outcome === 'ok'),
    kindOf,
  );
  const walks = history.filter(({ walked }) => walked !== undefined);
  for (const [kind, own] of grouped(walks, kindOf)) {
    const order = new Map((own.at(-1)?.walked ?? []).map((id, place) => [id, place]));
    const direction = (entry: Entry) => (entry.input['sortBy'] === own.at(-1)?.input['sortBy'] ? 1 : -1);
    for (const walk of own) {
      const ids = walk.walked ?? [];
      const there = new Set(ids);
      const repeated = [...grouped(ids, (id) => id)].flatMap(([id, same]) => (same.length > 1 ? id : []));
      if (repeated.length > 0) note(`repeats ${repeated.slice(0, 3).join(', ')}`, [walk]);
      const missing = (creations.get(kind) ?? []).filter(
        (creation) => creation.return < walk.call && isFound(walk, creation) && !there.has(creation.record ?? ''),
      );
      if (missing.length > 0) note(`skips ${missing.length} records that were there`, [walk, ...missing]);
      const places = ids.flatMap((id) => order.get(id) ?? []);
      const moved = places.findIndex((place, n) => n > 0 && (place - (places[n - 1] ?? place)) * direction(walk) < 0);
      if (moved > 0) note(`has ${ids[moved - 1]} and ${ids[moved]} in another order than the last walk`, [walk]);
    }
  }
  return anomalies;
};

/** A record is found by each read that begins when its creation was acknowledged; so is what a client has written itself. */
export const readsOwnWrites: Check = (history) => {
  const anomalies: Anomaly[] = [];
  const note = (found: string, entries: readonly Entry[]) =>
    anomalies.push({ check: 'reads own writes', found, entries });
  const created = new Map(
    history.filter((entry) => isCreation(entry) && entry.outcome === 'ok').map((entry) => [entry.record, entry]),
  );
  const written = new Map<string, Entry>();
  for (const entry of history.toSorted((a, b) => a.return - b.return)) {
    const { client, record, output } = entry;
    const creation = created.get(record);
    if (creation && creation.return < entry.call && entry.reason.endsWith('_NOT_FOUND'))
      note('was not found', [creation, entry]);
    if (entry.outcome !== 'ok' || output?.updatedAt === undefined || entry.repeats) continue;
    const name = `${client} ${record}`;
    const own = written.get(name);
    if (isOf(entry, 'update')) written.set(name, entry);
    if (isOf(entry, 'getById') && own && own.return < entry.call && output.updatedAt < (own.output?.updatedAt ?? ''))
      note('was read as it was before', [own, entry]);
  }
  return anomalies;
};

/** No client sees a record as it was before what it has seen already. */
export const readsAreMonotonic: Check = (history) => {
  const latest = new Map<string, Entry>();
  const anomalies: Anomaly[] = [];
  for (const entry of history.toSorted((a, b) => a.return - b.return)) {
    if (!isOf(entry, 'getById') || entry.output?.updatedAt === undefined) continue;
    const name = `${entry.client} ${entry.record}`;
    const before = latest.get(name);
    if (before && before.return < entry.call && entry.output.updatedAt < (before.output?.updatedAt ?? ''))
      anomalies.push({ check: 'reads are monotonic', found: 'was read as it was before', entries: [before, entry] });
    latest.set(name, entry);
  }
  return anomalies;
};

const textOf = ({ id, position, type, record, actorId }: SeenEvent): string =>
  JSON.stringify([position, type, record, id, actorId]);

const typesIn = ({ input }: Entry): readonly string[] | undefined => input['types'] as string[] | undefined;

/** The feed has each change once, at positions without gaps, for each reader the same; its records are those of the lists. */
export const feedIsWhole: Check = (history) => {
  const anomalies: Anomaly[] = [];
  const note = (found: string, entries: readonly Entry[]) => anomalies.push({ check: 'feed is whole', found, entries });
  const moment = quietMoments(history).at(-1) ?? [];
  const whole = moment.find(({ events }) => events !== undefined);
  if (!whole) return [];
  const { events = [] } = whole;
  const gap = events.findIndex(({ position }, n) => position !== n + 1);
  if (gap >= 0) note(`has position ${events[gap]?.position} at place ${gap + 1}`, [whole]);
  if (new Set(events.map(({ id }) => id)).size < events.length) note('has an event twice', [whole]);

  // Each follower's pages, one after the other, are the beginning of the feed as its filter leaves it.
  const pages = history.filter((entry) => entry.events && entry !== whole && entry.outcome === 'ok');
  for (const [, own] of grouped(pages, ({ client, quiet }) => `${client} ${quiet ?? ''}`)) {
    const types = typesIn(own[0]!);
    const expected = events.filter(({ type }) => types?.includes(type) ?? true).map(textOf);
    const got = own.flatMap((page) => (page.events ?? []).map((event) => ({ page, text: textOf(event) })));
    const wrong = got.findIndex(({ text }, n) => text !== expected[n]);
    if (wrong >= 0) note(`a follower got ${got[wrong]?.text} where it has ${expected[wrong]}`, [got[wrong]!.page]);
  }

  const byRecord = grouped(events, ({ record }) => record);
  const count = (record: string | undefined, type: string): number =>
    (byRecord.get(record ?? '') ?? []).filter((event) => event.type === type).length;
  const records = grouped(listed(moment), ({ record }) => record);
  for (const [id, [row]] of records) {
    const kind = kindOf(row!);
    const own = byRecord.get(id) ?? [];
    if (count(id, `${kind}.created`) !== 1) note(`has ${count(id, `${kind}.created`)} creations of ${id}`, [row!]);
    else if (own[0]?.type !== `${kind}.created`) note(`has ${own[0]?.type} of ${id} before its creation`, [row!]);
    else if (own[0].actorId !== row!.output?.authorId) note(`has another author of ${id}`, [row!]);
  }
  for (const { type, record } of events)
    if (/^(?:game|image)\.created$/.test(type) && !records.has(record))
      note(`has ${record}, which no list has`, [whole]);

  // A change of an unknown outcome may have happened or not.
  const counted = (entries: readonly Entry[], type: string, { isMerged }: { isMerged: boolean }): void => {
    for (const [id, own] of grouped(entries, ({ record }) => record)) {
      const sure = own.filter(({ outcome }) => outcome === 'ok').length;
      const most = own.filter(({ outcome }) => outcome !== 'refused').length;
      const n = count(id, type);
      if (n > most || n < (isMerged ? Math.min(sure, 1) : sure))
        note(`has ${n} events ${type} of ${id} for ${sure} to ${most} changes`, own);
    }
  };
  const changes = history.filter(({ repeats }) => repeats === undefined);
  counted(
    changes.filter(({ operation }) => operation === 'image.update'),
    'image.updated',
    { isMerged: false },
  );
  counted(
    changes.filter(({ operation }) => operation === 'user.updateProfile'),
    'user.updated',
    { isMerged: false },
  );
  for (const kind of ['game', 'image'])
    counted(
      changes.filter((entry) => isToggle(entry) && kindOf(entry) === kind),
      `${kind}.reactionsChanged`,
      { isMerged: true },
    );
  return anomalies;
};

const checks = [
  createsOnce,
  repeatsAnswerAlike,
  countersEqualRows,
  walksAreWhole,
  readsOwnWrites,
  readsAreMonotonic,
  feedIsWhole,
];

/** All anomalies of a history that need no search for an order. */
export const anomaliesIn: Check = (history) => checks.flatMap((check) => check(history));
