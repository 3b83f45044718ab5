/**
 * @engines sqlite
 * @tier fault
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { openClient } from '../harness/app/client.ts';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';
import { type ServeProcess, startServe } from '../harness/app/program.ts';
import { blocksOf } from '../harness/documents/guide.ts';
import { stopAfterTest } from '../harness/faults/running.ts';
import { startTogglers, startWriters } from '../harness/faults/writers.ts';
import { freePorts } from '../harness/free-ports.mjs';
import { aKey } from '../harness/http/load.ts';

const KILLS = 4;
/** What is under way at the end is in the feed by then. */
const SETTLED_MS = 5000;

let database: TestDatabase;
let served: ServeProcess;
let folder: string;
afterEach(async () => {
  await served.stop('SIGKILL');
  await database.drop();
  await rm(folder, { recursive: true });
});

interface Page {
  items: { id: string }[];
  nextCursor: string | null;
}

/** All games as lists show them, by their ids. */
const listed = async (base: string): Promise<Record<string, object>> => {
  const client = openClient(base);
  const games: Record<string, object> = {};
  for (let place: object | undefined = { page: 1 }; place;) {
    const ending = await client.call('game.list', { limit: 100, sortBy: 'oldest', ...place });
    if (ending.kind !== 'answered' || ending.status !== 200) throw new Error(JSON.stringify(ending));
    const { json } = (JSON.parse(ending.text) as { result: { data: { json: Page } } }).result.data;
    for (const game of json.items) games[game.id] = game;
    place = json.nextCursor === null ? undefined : { cursor: json.nextCursor };
  }
  client.close();
  return games;
};

test('the program of docs/events.md keeps an exact copy, though it and the service are killed', async () => {
  database = await createDatabase();
  folder = await mkdtemp(join(tmpdir(), 'content-gateway-copies-'));
  const key = await aKey(database.url);
  const [port = 0] = await freePorts(1);
  const env = { LOG_LEVEL: 'error', RATE_LIMIT: 'off', PORT: String(port) };
  served = await startServe({ url: database.url, env });
  const { base } = served;
  const printed = blocksOf(await readFile('docs/events.md', 'utf8')).filter(({ text }) => text.includes('MIRROR_FILE'));
  expect(printed.map(({ language }) => language)).toEqual(['python']);
  const program = join(folder, 'mirror.py');
  const file = `${program}.json`;
  await writeFile(program, printed[0]!.text);
  const run = (more: Record<string, string> = {}) => {
    const own = { PATH: process.env['PATH'], GATEWAY_URL: base, MIRROR_FILE: file, ...more };
    const child = spawn('python3', [program], { env: own, stdio: ['ignore', 'ignore', 'inherit'] });
    stopAfterTest(() => void child.kill('SIGKILL'));
    return { child, closed: once(child, 'close') };
  };

  const options = { count: 4, obedient: true, restMs: 20 };
  const callers = [startWriters(base, key, options), await startTogglers(base, key, options)];
  const succeeded = () => Promise.all(callers.map((one) => one.succeeded(20)));
  for (let kill = 0; kill < KILLS; kill += 1) {
    const { child, closed } = run();
    await succeeded();
    await served.stop('SIGKILL');
    served = await startServe({ url: database.url, env });
    await succeeded();
    child.kill('SIGKILL');
    await closed;
  }
  await Promise.all(callers.map((one) => one.stop()));
  await sleep(SETTLED_MS);
  const games = await listed(base);
  expect(Object.keys(games).length).toBeGreaterThan(KILLS * 20);
  expect(await run({ MIRROR_ONCE: 'true' }).closed).toEqual([0, null]);
  expect((JSON.parse(await readFile(file, 'utf8')) as { games: object }).games).toEqual(games);
});
