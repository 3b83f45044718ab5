// Follows the feed of a gateway, and prints the events that come; then checks against pages from memory what no gateway shows.
import assert from 'node:assert/strict';
import { ContentGateway, NotFoundError } from 'content-gateway-client';
import type { Event, EventListInput, Feed, FetchRequest, FollowOptions } from 'content-gateway-client';

const gateway = new ContentGateway();
const create = (number: number): Promise<unknown> => gateway.game.create({ title: `follow ${number}` });

const { nextCursor: after } = await gateway.event.list({ start: 'latest' });
for (const number of [1, 2, 3]) await create(number);

const input: EventListInput = { after, types: ['game.created'], include: 'record' };
const feed: Feed<Event> = gateway.event.follow(input, { pollMs: 50 });
assert.equal(feed.cursor, undefined);
let count = 0;
for await (const { type, game } of feed) {
  console.log(`${type} ${game?.title}`);
  count += 1;
  if (count === 3) await create(4);
  if (count === 4) break;
}
console.log(`cursor: ${feed.cursor === undefined ? 'none' : 'there'}`);

// From the cursor, it goes on: nothing is missed.
await create(5);
const later = gateway.event.follow({ ...input, after: feed.cursor }, { pollMs: 50 });
const { value } = await later.next();
assert(['follow 4', 'follow 5'].includes(value.game?.title ?? ''));
// An open stream would keep the program from its end.
await later.return();

// A stream goes on where it was, also when it is left, and has what follow has.
const tail = gateway.event.tail({ types: ['game.created'], start: 'earliest' });
const titles: string[] = [];
for (const most of [2, 5]) {
  for await (const { record } of tail) {
    titles.push((await gateway.game.getById(record.id)).title);
    if (titles.length === most) break;
  }
}
assert.deepEqual(titles, ['follow 1', 'follow 2', 'follow 3', 'follow 4', 'follow 5']);

interface FakePage {
  items?: string[];
  nextCursor?: string;
  hasMore?: boolean;
  reason?: string;
}

/** A feed of pages from memory, without a stream, with what was asked for and how long it waited. */
const feedOf = (pages: FakePage[], given: EventListInput = {}, options: FollowOptions = {}) => {
  const asked: unknown[] = [];
  const waits: number[] = [];
  const answer = async (_: string, { method, body = '' }: FetchRequest): Promise<Response> => {
    if (method === 'GET') return new Response('not found', { status: 404 });
    asked.push((JSON.parse(body) as { json: unknown }).json);
    const { items = [], nextCursor, hasMore, reason } = pages.shift() ?? {};
    if (reason !== undefined) {
      const error = { json: { message: 'Gone.', data: { reason, code: 'NOT_FOUND' } } };
      return new Response(JSON.stringify({ error }), { status: 404 });
    }
    const json = { items: items.map((id) => ({ id })), nextCursor, hasMore };
    return new Response(JSON.stringify({ result: { data: { json } } }));
  };
  const clock = { now: () => Date.now(), sleep: async (ms: number) => void waits.push(ms) };
  const client = new ContentGateway({ baseUrl: 'http://memory.invalid', fetch: answer, clock });
  return { feed: client.event.follow(given, options), asked, waits };
};

/** Takes so many events. Returns their ids. */
const take = async (events: Feed<Event>, most: number): Promise<string[]> => {
  const ids: string[] = [];
  for await (const { id } of events) {
    ids.push(id);
    if (ids.length === most) break;
  }
  return ids;
};

{
  const pages = [
    { items: ['1', '2'], nextCursor: 'a', hasMore: true },
    { items: [], nextCursor: 'b', hasMore: true },
    { items: ['3'], nextCursor: 'c', hasMore: false },
    { reason: 'EVENTS_GONE' },
    { items: ['4', '5'], nextCursor: 'd', hasMore: false },
  ];
  const { feed: events, asked, waits } = feedOf(pages, { start: 'earliest', limit: 2 });
  assert.deepEqual(await take(events, 2), ['1', '2']);
  // The page is taken when more is asked for.
  assert.equal(events.cursor, undefined);
  assert.deepEqual(await take(events, 1), ['3']);
  assert.deepEqual([events.cursor, waits], ['b', []]);
  // An error is raised, and ends nothing.
  await assert.rejects(events.next(), (error) => error instanceof NotFoundError && error.reason === 'EVENTS_GONE');
  assert.deepEqual([events.cursor, waits], ['c', [1000]]);
  // What is asked for at once comes in turn.
  const both = await Promise.all([events.next(), events.next()]);
  assert.deepEqual(
    both.map((result) => result.value.id),
    ['4', '5'],
  );
  const others = ['a', 'b', 'c', 'c'].map((cursor) => ({ after: cursor, limit: 2 }));
  assert.deepEqual(asked, [{ start: 'earliest', limit: 2 }, ...others]);
}

{
  const cancelling = new AbortController();
  const pages = [{ items: ['1'], nextCursor: 'a', hasMore: false }];
  const { feed: events, asked, waits } = feedOf(pages, {}, { pollMs: 5000, signal: cancelling.signal });
  await take(events, 1);
  cancelling.abort();
  await assert.rejects(events.next(), { name: 'AbortError' });
  assert.deepEqual([asked.length, waits], [1, []]);
}

for (const pollMs of [0, -1, NaN, Infinity]) {
  assert.throws(() => gateway.event.follow({}, { pollMs }), TypeError);
  assert.throws(() => gateway.event.tail({}, { silenceMs: pollMs }), TypeError);
}
