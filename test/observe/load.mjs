import { setTimeout as sleep } from 'node:timers/promises';
import { startLoad } from '../bench/load/load.mjs';
import { operationsOf, requestsOf } from '../bench/load/operations.mjs';
import { Random } from '../../dist/src/sandbox/seed/random.js';

/** How many of a hundred requests are of which operation. */
const SHARES = {
  listMix: 32,
  list: 8,
  getById: 30,
  getProfile: 8,
  search: 3,
  getRelated: 5,
  toggleFavorite: 10,
  create: 4,
};
const REQUESTS = 10_000;
/** Callers of each gateway, one number after the other, as a day has its hours; once more than it has room for. */
const CROWDS = [2, 4, 6, 4, 400, 4, 3];
const PAUSE_MS = 60;

const mixedRequests = (operations) => {
  const random = new Random('dashboard');
  const wheel = Object.entries(SHARES).flatMap(([name, share]) => Array.from({ length: share }, () => name));
  const requests = Object.fromEntries(Object.keys(SHARES).map((name) => [name, requestsOf(operations[name])]));
  return Array.from({ length: REQUESTS }, () => random.pick(requests[random.pick(wheel)]));
};

const JSON_TYPE = { 'Content-Type': 'application/json' };
const posted = (url, path, body, headers = {}) =>
  fetch(url + path, { method: 'POST', headers: { ...JSON_TYPE, ...headers }, body: JSON.stringify(body) });

/** What callers do besides: each takes the address of a gateway, and may fail. */
const oddities = ({ keys, gameIds, types }) => {
  const call = (url, procedure, json, headers) => posted(url, `/api/trpc/${procedure}`, { json }, headers);
  const of = (key) => ({ Authorization: `Bearer ${key}` });
  const game = { title: 'Sent twice', gameType: types.find((type) => type !== '') };
  const tool = { name: 'game_list', arguments: { page: 1, limit: 5 } };
  const mcp = { Accept: 'application/json, text/event-stream' };
  let turn = 0;
  /** Does not wait for the answer. */
  const leave = (url) => {
    turn += 1;
    const json = { page: 1 + (turn % 90), limit: 50, sortBy: 'views' };
    return fetch(`${url}/api/trpc/game.list`, {
      method: 'POST',
      headers: JSON_TYPE,
      body: JSON.stringify({ json }),
      signal: AbortSignal.timeout(4 + (turn % 30)),
    });
  };
  return [
    (url) => call(url, 'game.getById', { id: '00000000-0000-7000-8000-000000000000' }),
    (url) => call(url, 'game.list', { page: 0 }),
    (url) => call(url, 'game.create', game),
    (url) => call(url, 'game.create', game, of('cgk_0000000000000000000000000000000000')),
    (url) => call(url, 'game.guess', {}),
    (url) => call(url, 'image.list', { page: 1, limit: 20 }),
    (url) => call(url, 'game.toggleLike', { gameId: gameIds[0] }, of(keys[turn % keys.length])),
    // The same again is not done again.
    (url) => call(url, 'game.create', game, { ...of(keys[1]), 'Idempotency-Key': `sent-twice-${turn >> 6}` }),
    (url) => posted(url, '/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: tool }, mcp),
    (url) => fetch(`${url}/`),
    (url) => fetch(`${url}/errors/`),
    (url) => fetch(`${url}/readyz`),
    leave,
    leave,
    leave,
  ];
};

/** Sends them one after the other. @returns what ends it */
const startOddities = (urls, samples) => {
  let isOver = false;
  const acts = oddities(samples);
  const going = (async () => {
    for (let n = 0; !isOver; n += 1) {
      await acts[n % acts.length](urls[(n >> 4) % urls.length])
        .then((response) => response?.arrayBuffer())
        .catch(() => undefined);
      await sleep(PAUSE_MS);
    }
  })();
  return async () => {
    isOver = true;
    await going;
  };
};

/**
 * Loads gateways for some time with all that there may be: reads, searches, writes, calls that are wrong, other doors, and
 * for a while more callers than they have room for.
 *
 * @param between is awaited halfway, when nobody is connected
 * @returns how many requests of the mix were answered
 */
export const load = async ({ ports, samples, seconds, between }) => {
  const generator = startLoad();
  await generator.define('mix', mixedRequests(operationsOf(samples)));
  const end = startOddities(
    ports.map((port) => `http://127.0.0.1:${port}`),
    samples,
  );
  let answered = 0;
  for (const [index, connections] of CROWDS.entries()) {
    if (index === CROWDS.length >> 1) await between();
    const milliseconds = (seconds * 1000) / CROWDS.length;
    const order = { set: 'mix', connections, milliseconds, tolerant: true };
    const results = await Promise.all(ports.map((port) => generator.run({ ...order, port })));
    for (const result of results) answered += result.answered;
  }
  await end();
  return answered;
};
