import { isDeepStrictEqual } from 'node:util';
import {
  checkOf,
  creationsIn,
  endsIn,
  type Entry,
  erasureIn,
  isDeletion,
  readsIn,
  type Seen,
  type SeenEvent,
} from './history.ts';
import { grouped, isOf, isToggle, kindOf, listed, quietMoments } from './moments.ts';

// The promises of the feed and of all that follows it.

/** An event in words, without the actor who was erased. */
const textOf = ({ id, position, type, record, actorId }: SeenEvent, erased: string | undefined): string =>
  JSON.stringify([position, type, record, id, actorId === erased ? null : actorId]);

const typesIn = ({ input }: Entry): readonly string[] | undefined => input['types'] as string[] | undefined;

/** The feed has each change once, at positions without gaps, for each reader the same; its records are those of the lists. */
export const feedIsWhole = checkOf('feed is whole', (history, note) => {
  const moments = quietMoments(history);
  const moment = moments.at(-1) ?? [];
  const whole = moment.find(({ events }) => events !== undefined);
  if (!whole) return;
  const { events = [] } = whole;
  const gap = events.findIndex(({ position }, n) => position !== n + 1);
  if (gap >= 0) note(`has position ${events[gap]?.position} at place ${gap + 1}`, [whole]);
  const erasure = erasureIn(history);
  const wordsOfEvent = (event: SeenEvent): string => textOf(event, erasure?.user);
  if (new Set(events.map(({ id }) => id)).size < events.length) note('has an event twice', [whole]);

  // Each follower's pages, one after the other, are the beginning of the feed as its filter leaves it.
  const pages = history.filter(
    (entry) => entry.events && isOf(entry, 'list') && entry !== whole && entry.outcome === 'ok',
  );
  for (const [, own] of grouped(pages, ({ client, quiet }) => `${client} ${quiet ?? ''}`)) {
    const types = typesIn(own[0]!);
    const expected = events.filter(({ type }) => types?.includes(type) ?? true).map(wordsOfEvent);
    const got = own.flatMap((page) => (page.events ?? []).map((event) => ({ page, text: wordsOfEvent(event) })));
    const wrong = got.findIndex(({ text }, n) => text !== expected[n]);
    if (wrong >= 0) note(`a follower got ${got[wrong]?.text} where it has ${expected[wrong]}`, [got[wrong]!.page]);
  }

  const byRecord = grouped(events, ({ record }) => record);
  const isRemoval = ({ type }: SeenEvent): boolean => /^(?:game|image)\.deleted$/.test(type);
  const isRemoved = (record: string): boolean => byRecord.get(record)?.some(isRemoval) ?? false;
  const count = (record: string | undefined, type: string): number =>
    (byRecord.get(record ?? '') ?? []).filter((event) => event.type === type).length;
  const records = grouped(listed(moment), ({ record }) => record);
  for (const [id, [row]] of records) {
    const kind = kindOf(row!);
    const own = byRecord.get(id) ?? [];
    if (isRemoved(id)) note(`has the deletion of ${id}`, [row!]);
    if (count(id, `${kind}.created`) !== 1) note(`has ${count(id, `${kind}.created`)} creations of ${id}`, [row!]);
    else if (own[0]?.type !== `${kind}.created`) note(`has ${own[0]?.type} of ${id} before its creation`, [row!]);
    else if (own[0].actorId !== row!.output?.authorId) note(`has another author of ${id}`, [row!]);
  }
  for (const { type, record } of events)
    if (/^(?:game|image)\.created$/.test(type) && !records.has(record) && !isRemoved(record))
      note(`has ${record}, which no list has`, [whole]);

  const ends = endsIn(history);
  const deletions = grouped(history.filter(isDeletion), ({ record }) => record);
  const hidden = new Set(history.flatMap(({ operation, record }) => (operation === 'hiding' ? (record ?? []) : [])));
  for (const [record, own] of byRecord) {
    const removals = own.filter(isRemoval);
    if (removals.length === 0) continue;
    const [{ actorId }] = removals as [SeenEvent];
    const deleters = (deletions.get(record) ?? []).filter(({ outcome }) => outcome !== 'refused');
    // The id of a record that the erased user published with an unknown outcome is known from the feed alone.
    const isErased = erasure !== undefined && [null, erasure.user].includes(own[0]!.actorId);
    if (!isErased && ends.earliest(record) === Number.POSITIVE_INFINITY)
      note(`has the deletion of ${record} without one`, [whole]);
    if (removals.length > 1) note(`has ${removals.length} deletions of ${record}`, [whole, ...deleters]);
    else if (!isRemoval(own.at(-1)!)) note(`has ${own.at(-1)?.type} of ${record} after its deletion`, [whole]);
    if (actorId !== null && !deleters.some(({ user }) => user === actorId))
      note(`has another actor of the deletion of ${record}`, [whole]);
    const isOwn = deleters.some(({ outcome, user }) => outcome === 'ok' && user !== erasure?.user);
    if (actorId === null && isOwn && !hidden.has(record)) note(`has no actor of the deletion of ${record}`, [whole]);
  }

  /** At a quiet moment each reaction has its event. One of later may go with its record before it has one. */
  const lastQuiet = (record: string): number =>
    Math.max(0, ...moments.flatMap(([first]) => (first!.call < ends.earliest(record) ? first!.call : [])));
  // A change of an unknown outcome may have happened or not.
  const counted = (entries: readonly Entry[], type: string, { isMerged }: { isMerged: boolean }): void => {
    for (const [id, own] of grouped(entries, ({ record }) => record)) {
      const isBrief = isMerged && isRemoved(id);
      const sure = own.filter((entry) => entry.outcome === 'ok' && (!isBrief || entry.return < lastQuiet(id))).length;
      // An erasure takes a favorite and a reaction away.
      const isTouched = erasure && own.some(({ user }) => user === erasure.user);
      const most = own.filter(({ outcome }) => outcome !== 'refused').length + (isMerged && isTouched ? 2 : 0);
      const n = count(id, type);
      if (n > most || n < (isMerged ? Math.min(sure, 1) : sure))
        note(`has ${n} events ${type} of ${id} for ${sure} to ${most} changes`, own);
    }
  };
  const changes = history.filter(({ repeats }) => repeats === undefined);
  counted(
    changes.filter(({ operation }) => operation.startsWith('user.update')),
    'user.updated',
    { isMerged: false },
  );
  for (const kind of ['game', 'image']) {
    const own = changes.filter((entry) => kindOf(entry) === kind);
    counted(
      own.filter((entry) => isOf(entry, 'update')),
      `${kind}.updated`,
      { isMerged: false },
    );
    counted(own.filter(isToggle), `${kind}.reactionsChanged`, { isMerged: true });
  }
});

/** Each event that an owner chose comes to the endpoint, under one id, signed; those of a record in their order. */
export const messagesAreWhole = checkOf('messages are whole', (history, note) => {
  const erased = erasureIn(history)?.user;
  const whole = quietMoments(history)
    .at(-1)
    ?.find(({ events }) => events !== undefined);
  const words = new Map((whole?.events ?? []).map((event) => [event.position, textOf(event, erased)]));
  const messages = history.filter(({ operation }) => operation === 'message');
  for (const [, own] of grouped(messages, ({ user }) => user)) {
    const firsts = [...grouped(own, ({ messageId }) => messageId).values()].map(([first, ...more]) => {
      for (const again of more)
        if (eventIn(again).position !== eventIn(first!).position) note('has the id of another event', [first!, again]);
      return first!;
    });
    for (const message of own) {
      if (!message.isSigned) note('is not signed', [message]);
      if (textOf(eventIn(message), erased) !== words.get(eventIn(message).position))
        note('is not what the feed has', [message]);
    }
    for (const [position, same] of grouped(firsts, (message) => String(eventIn(message).position)))
      if (same.length > 1) note(`event ${position} came under ${same.length} ids`, same);
    for (const [record, ofRecord] of grouped(firsts, (message) => eventIn(message).record)) {
      const late = ofRecord.findIndex(
        (message, n) => n > 0 && eventIn(message).position < eventIn(ofRecord[n - 1]!).position,
      );
      if (late > 0) note(`of ${record}, a later event came first`, ofRecord.slice(late - 1, late + 1));
    }
    const came = new Set(firsts.map((message) => eventIn(message).position));
    const types = typesIn(own[0]!) ?? [];
    const missing = (whole?.events ?? []).filter(({ type, position }) => types.includes(type) && !came.has(position));
    if (missing.length > 0)
      note(`${missing.length} events did not come, the first at ${missing[0]?.position}`, own.slice(-1));
  }
});

const eventIn = ({ events = [] }: Entry): SeenEvent => events[0]!;

/** What a copy by the feed can know: views have no events, and what a caller has done is no part of it. */
const copiedOf = ({ viewer: _viewer, viewCount: _views, ...seen }: Seen): Seen => seen;

/** At a quiet moment a copy that followed the feed is what the lists show. */
export const copyEqualsLists = checkOf('a copy equals the lists', (history, note) => {
  for (const moment of quietMoments(history)) {
    const copies = new Map(
      moment.filter(({ operation }) => operation === 'copy').map((entry) => [entry.record, entry]),
    );
    if (copies.size === 0) continue;
    const rows = new Map(listed(moment).map((entry) => [entry.record, entry]));
    for (const [id, row] of rows) {
      const copy = copies.get(id);
      if (!copy) note('is not in the copy', [row]);
      else if (!isDeepStrictEqual(copiedOf(copy.output ?? {}), copiedOf(row.output ?? {})))
        note('is not as in the copy', [row, copy]);
    }
    for (const [id, copy] of copies) if (!rows.has(id)) note('is in the copy alone', [copy]);
  }
});

const SHOWING = ['getById', 'getRelated', 'list', 'toggleFavorite', 'toggleReaction', 'update'];

/** Once a record is deleted or hidden, no call finds it; it is deleted once. */
export const endsAreFinal = checkOf('ends are final', (history, note) => {
  const ends = endsIn(history);
  for (const entry of history) {
    if (entry.outcome !== 'ok' || !isOf(entry, ...SHOWING)) continue;
    const shown = [...(entry.walked ?? []), ...readsIn(entry).map(({ record }) => record)];
    const gone = shown.find((record) => ends.latest(record) < entry.call);
    if (gone !== undefined) note(`shows ${gone}, which was gone`, [entry]);
  }
  const deletions = history.filter((entry) => isDeletion(entry) && entry.outcome === 'ok');
  for (const [, own] of grouped(deletions, ({ record }) => record)) if (own.length > 1) note('was deleted twice', own);
});

/** Once a user is erased, nothing shows the user, or what the user published; the keys do not work. */
export const erasureIsWhole = checkOf('an erasure is whole', (history, note) => {
  const erasure = erasureIn(history);
  if (!erasure) return;
  const { user } = erasure;
  const records = new Set(
    history.flatMap(creationsIn).flatMap((entry) => (entry.user === user ? (entry.record ?? []) : [])),
  );
  for (const entry of history.filter(({ call, outcome }) => call > erasure.return && outcome === 'ok')) {
    if (entry.user === user) note('was answered', [entry]);
    if (entry.isTraced) note('shows a text of the user', [entry]);
    if (entry.events?.some(({ actorId }) => actorId === user)) note('names the user', [entry]);
    const shown = readsIn(entry).filter(({ output }) => output);
    if (shown.some(({ output, record }) => output?.authorId === user || records.has(record ?? '')))
      note('shows a record of the user', [entry]);
  }
});
