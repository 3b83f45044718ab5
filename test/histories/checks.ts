import { isDeepStrictEqual } from 'node:util';
import { copyEqualsLists, endsAreFinal, erasureIsWhole, feedIsWhole, messagesAreWhole } from './feed-checks.ts';
import { type Check, checkOf, creationsIn, endsIn, type Entry, erasureIn, readsIn, type Seen } from './history.ts';
import { grouped, isOf, isToggle, kindOf, listed, quietMoments } from './moments.ts';

// The promises of which no order of operations has to be found: functions of a whole history.

/**
 * Acknowledged creations are there once until they end, those of an unknown outcome at most once, refused ones never; nothing else is.
 * Of records that are published together, there are all or none.
 */
export const createsOnce = checkOf('creates once', (history, note) => {
  const creations = history.map(creationsIn);
  const asked = new Set(creations.flat().map(({ mark }) => mark));
  const erasure = erasureIn(history);
  const ends = endsIn(history);
  for (const { output, mark, ...creation } of creations.flat())
    if (output?.mark !== undefined && output.mark !== mark) note(`was answered with ${output.mark}`, [creation]);
  for (const rows of quietMoments(history).map(listed)) {
    const began = Math.min(...rows.map(({ call }) => call));
    const stored = grouped(rows, ({ output }) => output?.mark);
    const idsOf = ({ mark = '' }: Entry) => [...new Set((stored.get(mark) ?? []).map(({ record }) => record))];
    for (const together of creations) {
      const [first] = together;
      if (!first || first.return > began || (erasure && erasure.call < began && first.user === erasure.user)) continue;
      const staying = together.filter(({ record }) => ends.earliest(record) > began);
      for (const creation of staying) {
        const ids = idsOf(creation);
        if (creation.outcome === 'ok' && !ids.includes(creation.record))
          note('was acknowledged and is not there', [creation]);
        if (creation.outcome === 'refused' && ids.length > 0) note('was refused and is there', [creation]);
        if (ids.length > 1) note(`is there as ${ids.join(' and ')}`, [creation]);
      }
      const there = staying.filter((creation) => idsOf(creation).length > 0).length;
      if (there > 0 && there < staying.length) note(`${there} of ${staying.length} records are there`, staying);
    }
    for (const [mark, own] of stored) if (!asked.has(mark)) note(`${mark} is there and nothing created it`, own);
  }
});

/** Whether an answer shows what was asked for. */
const isOwnAnswer = ({ input, mark, record, output }: Entry): boolean =>
  (mark === undefined || output?.mark === mark) &&
  (record === undefined || output?.id === undefined || output.id === record) &&
  (typeof input['nickname'] !== 'string' || output?.nickname === input['nickname']);

/**
 * A repetition has the answer of the first, to the letter, unless a record has ended that it shows; the same key with another input is
 * refused.
 */
export const repeatsAnswerAlike = checkOf('repeats answer alike', (history, note) => {
  const ends = endsIn(history);
  const calls = grouped(history, ({ user, operation, key, client }) =>
    key === undefined ? undefined : `${user} ${operation} ${key} ${client}`,
  );
  for (const entries of calls.values()) {
    const [first, ...more] = entries;
    if (first?.outcome !== 'ok') continue;
    const isNew = first.repeats === undefined && first.attempts === 1;
    const shown = isOf(first, 'delete') ? [] : readsIn(first).map(({ record }) => record);
    const mayBeGone = ({ return: end }: Entry): boolean => shown.some((record) => ends.earliest(record) < end);
    if ((isNew && first.isReplayed) || !isOwnAnswer(first)) note('a call got the answer of another one', [first]);
    for (const entry of more) {
      if (entry.repeats === 'other input') {
        if (entry.outcome === 'ok') note('another input was not refused', [first, entry]);
      } else if (entry.outcome === 'ok' && (entry.answer !== first.answer || !entry.isReplayed)) {
        note('a repetition got another answer', [first, entry]);
      } else if (entry.outcome === 'ok' && shown.some((record) => ends.latest(record) < entry.call)) {
        note('a repetition shows what is gone', [first, entry]);
      } else if (entry.outcome === 'refused' && /MISMATCH|NOT_FOUND|GONE/.test(entry.reason) && !mayBeGone(entry)) {
        note('a repetition was refused', [first, entry]);
      }
    }
  }
});

const countsOf = ({ favoriteCount = 0, likeCount = 0, dislikeCount = 0 }: Seen) => ({
  favoriteCount,
  likeCount,
  dislikeCount,
});

const hasTags = ({ output }: Entry, slugs: readonly string[]): boolean => {
  const own = output?.tags?.split(',') ?? [];
  return slugs.every((slug) => own.includes(slug));
};

/** At a quiet moment each counter is the number of the rows that it counts. */
export const countersEqualRows = checkOf('counters equal rows', (history, note) => {
  for (const moment of quietMoments(history)) {
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
    for (const profile of moment.filter(
      ({ operation, outcome }) => operation === 'user.getProfile' && outcome === 'ok',
    )) {
      const own = firsts.filter(({ output }) => output?.authorId === profile.record);
      const counted = {
        gameCount: own.filter((entry) => kindOf(entry) === 'game').length,
        imagePostCount: own.filter((entry) => kindOf(entry) === 'image').length,
      };
      const { gameCount, imagePostCount } = profile.output ?? {};
      if (!isDeepStrictEqual({ gameCount, imagePostCount }, counted))
        note(`of user ${profile.record}, ${JSON.stringify(counted)} are there`, [profile]);
    }
    for (const list of moment.filter(
      (entry) => isOf(entry, 'list') && entry.total !== undefined && entry.input['search'] === undefined,
    )) {
      const { tagSlugs = [], authorId } = list.input as { tagSlugs?: string[]; authorId?: string };
      const own = firsts.filter(
        (entry) =>
          kindOf(entry) === kindOf(list) &&
          hasTags(entry, tagSlugs) &&
          (authorId === undefined || entry.output?.authorId === authorId),
      );
      if (list.record === undefined && own.length !== list.total)
        note(
          `of ${kindOf(list)} ${tagSlugs.join(',') || (authorId ?? '')}, ${own.length} are there and ${list.total} told`,
          [list],
        );
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
  }
});

/** Whether a record has the tags that a walk filters by. */
const isFound = (walk: Entry, { input }: Entry): boolean => {
  const { tagSlugs = [] } = walk.input as { tagSlugs?: string[] };
  const { tagNames = [] } = input as { tagNames?: string[] };
  return tagSlugs.every((slug) => tagNames.includes(slug));
};

/** A walk of a list repeats no record, and has each one whose creation was acknowledged before it began, in one order. */
export const walksAreWhole = checkOf('walks are whole', (history, note) => {
  const ends = endsIn(history);
  const creations = grouped(
    history.flatMap(creationsIn).filter(({ outcome }) => outcome === 'ok'),
    kindOf,
  );
  const walks = history.filter(({ walked }) => walked !== undefined);
  for (const [kind, own] of grouped(walks, kindOf)) {
    const byTime = own.filter(({ input }) => input['sortBy'] !== 'views');
    const isOldest = ({ input }: Entry): boolean => input['sortBy'] === 'oldest';
    const order = new Map((byTime.at(-1)?.walked ?? []).map((id, place) => [id, place]));
    const direction = (entry: Entry) => (isOldest(entry) === isOldest(byTime.at(-1)!) ? 1 : -1);
    for (const walk of own) {
      const ids = walk.walked ?? [];
      const there = new Set(ids);
      const repeated = [...grouped(ids, (id) => id)].flatMap(([id, same]) => (same.length > 1 ? id : []));
      if (repeated.length > 0) note(`repeats ${repeated.slice(0, 3).join(', ')}`, [walk]);
      const missing = (creations.get(kind) ?? []).filter(
        (creation) =>
          creation.return < walk.call &&
          isFound(walk, creation) &&
          !there.has(creation.record ?? '') &&
          ends.earliest(creation.record) > walk.return,
      );
      if (missing.length > 0) note(`skips ${missing.length} records that were there`, [walk, ...missing]);
      const places = !byTime.includes(walk) ? [] : ids.flatMap((id) => order.get(id) ?? []);
      const moved = places.findIndex((place, n) => n > 0 && (place - (places[n - 1] ?? place)) * direction(walk) < 0);
      if (moved > 0) note(`has ${ids[moved - 1]} and ${ids[moved]} in another order than the last walk`, [walk]);
    }
  }
});

/** A record is found, until it ends, by each read that begins when its creation was acknowledged; so is what a client has written itself. */
export const readsOwnWrites = checkOf('reads own writes', (history, note) => {
  const ends = endsIn(history);
  const created = new Map(
    history
      .flatMap(creationsIn)
      .filter(({ outcome }) => outcome === 'ok')
      .map((entry) => [entry.record, entry]),
  );
  const written = new Map<string, Entry>();
  for (const entry of history.toSorted((a, b) => a.return - b.return)) {
    const { client, record, output } = entry;
    const creation = created.get(record);
    if (
      creation &&
      ends.earliest(record) > entry.return &&
      creation.return < entry.call &&
      entry.reason.endsWith('_NOT_FOUND')
    )
      note('was not found', [creation, entry]);
    if (entry.outcome !== 'ok' || output?.updatedAt === undefined || entry.repeats) continue;
    const name = `${client} ${record}`;
    const own = written.get(name);
    if (isOf(entry, 'update')) written.set(name, entry);
    if (isOf(entry, 'getById') && own && own.return < entry.call && output.updatedAt < (own.output?.updatedAt ?? ''))
      note('was read as it was before', [own, entry]);
  }
});

/** No client sees a record as it was before what it has seen already. */
export const readsAreMonotonic = checkOf('reads are monotonic', (history, note) => {
  const latest = new Map<string, Entry>();
  for (const entry of history.toSorted((a, b) => a.return - b.return)) {
    if (!isOf(entry, 'getById') || entry.output?.updatedAt === undefined) continue;
    const name = `${entry.client} ${entry.record}`;
    const before = latest.get(name);
    if (before && before.return < entry.call && entry.output.updatedAt < (before.output?.updatedAt ?? ''))
      note('was read as it was before', [before, entry]);
    latest.set(name, entry);
  }
});

/** What an answer shows is what was asked for. */
export const answersFit = checkOf('answers fit', (history, note) => {
  const erasure = erasureIn(history);
  const users = new Set(history.map(({ user }) => user).filter((user) => user !== '' && user !== erasure?.user));
  const ends = endsIn(history);
  const games = history
    .flatMap(creationsIn)
    .filter(({ operation, outcome }) => operation.startsWith('game') && outcome === 'ok');
  const toggles = grouped(history.filter(isToggle), ({ record }) => record);
  const counters: Record<string, 'likeCount' | 'favoriteCount'> = { likes: 'likeCount', favorites: 'favoriteCount' };
  for (const entry of history) {
    const { record, output, items, input } = entry;
    if (output?.id !== undefined && record !== undefined && output.id !== record) note(`is of ${output.id}`, [entry]);
    if (!items) continue;
    const ids = items.map(({ id }) => id);
    if (new Set(ids).size < ids.length) note('shows one twice', [entry]);
    const {
      tagSlugs = [],
      sortBy = '',
      limit = 0,
      authorId,
    } = input as { tagSlugs?: string[]; sortBy?: string; limit?: number; authorId?: string };
    if (isOf(entry, 'list') && !items.every((one) => hasTags({ ...entry, output: one }, tagSlugs)))
      note('shows one without the tags', [entry]);
    if (authorId !== undefined && items.some((one) => one.authorId !== authorId)) note('is of another author', [entry]);
    const counter = counters[sortBy];
    // Its counts may be newer than its order.
    const isStill = (one: Seen): boolean =>
      !(toggles.get(one.id ?? '') ?? []).some((toggle) => toggle.call < entry.return && toggle.return > entry.call);
    const isLess = (one: Seen, n: number): boolean =>
      n > 0 && counter !== undefined && (one[counter] ?? 0) > (items[n - 1]?.[counter] ?? 0);
    if (counter && items.every(isStill) && items.some(isLess)) note('is in another order', [entry]);
    if (
      entry.operation === 'user.search' &&
      input['query'] === 'user' &&
      [...users].some((user) => !ids.includes(user))
    )
      note('lacks a user', [entry]);
    if (!isOf(entry, 'getRelated')) continue;
    if (ids.includes(input['gameId'] as string)) note('relates a game to itself', [entry]);
    const isThere = ({ record: id, return: end }: Entry): boolean =>
      end < entry.call && ends.earliest(id) > entry.return;
    // The service reads the ids before the records: each game that ends between may be missing.
    const mayEnd = ({ record: id }: Entry): boolean =>
      ends.earliest(id) <= entry.return && ends.latest(id) >= entry.call;
    const least = Math.min(limit, games.filter(isThere).length - 1) - games.filter(mayEnd).length;
    if (ids.length < least) note('shows too few', [entry]);
  }
});

/** A view count is never more than the reads that began until then, never falls, and is exact where nothing was harmed. */
export const viewsAreCounted = checkOf('views are counted', (history, note) => {
  const isView = (entry: Entry) => isOf(entry, 'getById') && entry.outcome !== 'refused';
  const views = grouped(history.filter(isView), ({ record }) => record);
  const shown = history
    .filter(({ repeats }) => repeats === undefined)
    .flatMap(readsIn)
    .filter(({ output }) => output?.viewCount !== undefined);
  const countIn = ({ output }: Entry): number => output?.viewCount ?? 0;
  for (const [id, reads] of grouped(
    shown.filter(({ operation }) => operation !== 'copy'),
    ({ record }) => record,
  )) {
    const own = views.get(id) ?? [];
    const begun = own.toSorted((a, b) => a.call - b.call);
    const ended = reads.toSorted((a, b) => a.return - b.return);
    let [most, n, highest, m]: [number, number, Entry | undefined, number] = [0, 0, undefined, 0];
    for (const read of ended) {
      for (; n < begun.length && begun[n]!.call < read.return; n += 1) most += begun[n]!.attempts;
      if (countIn(read) > most) note(`of ${id}, at most ${most} views were made`, [read]);
    }
    for (const read of reads.toSorted((a, b) => a.call - b.call)) {
      for (; m < ended.length && ended[m]!.return < read.call; m += 1)
        if (!highest || countIn(ended[m]!) > countIn(highest)) highest = ended[m];
      if (highest && countIn(read) < countIn(highest)) note(`of ${id}, some views are gone`, [highest, read]);
    }
  }
  let before = new Map<string | undefined, Entry>();
  for (const moment of quietMoments(history)) {
    const rows = listed(moment);
    for (const row of rows.filter(({ isCalm }) => isCalm)) {
      const { record = '' } = row;
      const [since, counted] = [before.get(record)?.return ?? 0, before.get(record)?.output?.viewCount ?? 0];
      const made = (views.get(record) ?? []).filter(
        (view) => view.call > since && view.return < row.call && view.outcome === 'ok',
      ).length;
      if (countIn(row) < counted + made) note(`of ${record}, ${counted} and ${made} views were made`, [row]);
    }
    before = new Map(rows.map((row) => [row.record, row]));
    for (const { walked = [], ...walk } of moment.filter(({ input }) => input['sortBy'] === 'views')) {
      const counts = walked.flatMap((id) => before.get(id)?.output?.viewCount ?? []);
      if (counts.some((count, n) => n > 0 && count > counts[n - 1]!)) note('is not in the order of views', [walk]);
    }
  }
});

/** Each failure is one of the catalogue: no fault of the service shows as its own. */
export const failuresAreKnown = checkOf('failures are known', (history, note) => {
  for (const entry of history) if (entry.reason === 'INTERNAL') note('failed', [entry]);
});

const checks = [
  createsOnce,
  repeatsAnswerAlike,
  countersEqualRows,
  walksAreWhole,
  readsOwnWrites,
  readsAreMonotonic,
  answersFit,
  viewsAreCounted,
  failuresAreKnown,
  feedIsWhole,
  messagesAreWhole,
  copyEqualsLists,
  endsAreFinal,
  erasureIsWhole,
];

/** All anomalies of a history that need no search for an order. */
export const anomaliesIn: Check = (history) => checks.flatMap((check) => check(history));
