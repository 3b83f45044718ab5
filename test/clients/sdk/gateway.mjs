import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** The command line of this checkout, as it was built last. */
export const PROGRAM = fileURLToPath(new URL('../../../dist/src/cli.js', import.meta.url));
const run = promisify(execFile);

/** How a gateway says where it is. */
const WELCOME = /^\s*Docs: +(http\S+)\/docs\/?$/m;
const MINUTE = 60_000;

/** Resolves with what the first line says that a program prints and that matches. */
const told = async (child, pattern) => {
  let output = '';
  for await (const text of child.stdout.setEncoding('utf8')) {
    output += text;
    const [, found] = pattern.exec(output) ?? [];
    if (found) return found;
  }
  throw new Error(`The program ended before it listened:\n${output}`);
};

/** Starts a command that serves. `heed` gets the lines of its log. Returns what it says of its address, and `stop`, which ends it. */
export const startServer = async (program, args, env, pattern, heed = (line) => console.error(line)) => {
  const child = spawn(process.execPath, [program, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'close');
  createInterface({ input: child.stderr }).on('line', heed);
  const patience = setTimeout(() => child.kill(), MINUTE);
  const url = await told(child, pattern);
  clearTimeout(patience);
  return {
    url,
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
};

/**
 * Makes a folder with a database that holds a user and three keys, and nothing else.
 *
 * @param program the compiled command line of the gateway
 * @returns `folder`, `writeKey`, `readKey` and `fullKey`
 */
const prepareDatabase = async (program) => {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const env = { PATH: process.env.PATH, DATABASE_URL: `sqlite:${folder}/content.db` };
  const cli = async (...args) => {
    const { stdout } = await run(process.execPath, [program, ...args], { env });
    return stdout.trim();
  };
  await cli('migrate');
  const user = await cli('users', 'create', '--nickname', '星野');
  const key = (scopes) => cli('keys', 'create', '--user', user, '--scopes', scopes);
  return {
    folder,
    writeKey: await key('content:write,user:read'),
    readKey: await key('user:read'),
    fullKey: await key('content:write,user:read,user:write'),
  };
};

/** What `prepareDatabase` makes, by the program. Five programs are started for one, so each gateway gets a copy. */
const prepared = new Map();
const preparedFor = (program) => {
  if (!prepared.has(program)) prepared.set(program, prepareDatabase(program));
  return prepared.get(program);
};

/** Level 40 of a line of the log is a warning. */
const WARNING = 40;
const TOO_MANY = 429;
const ERROR = 500;

/**
 * Counts what the log tells: the calls, by operation, and those that failed by no fault of the caller's. Passes on what is a warning.
 */
const countCalls = () => {
  const calls = { operations: new Map(), failed: 0 };
  const heed = (line) => {
    const { level, path, status, aborted } = line.startsWith('{') ? JSON.parse(line) : { level: WARNING };
    if (level >= WARNING) console.error(line);
    if (!path?.startsWith('/api/trpc/')) return;
    const operations = decodeURIComponent(path.slice('/api/trpc/'.length)).split(',');
    for (const id of operations) calls.operations.set(id, (calls.operations.get(id) ?? 0) + 1);
    if (aborted || status === TOO_MANY || status >= ERROR) calls.failed += operations.length;
  };
  return { calls, heed };
};

/**
 * Starts a gateway on a free port, with a database of its own that has no records yet.
 *
 * @param program the compiled command line of the gateway
 * @param more other settings
 * @returns `env`, what a scenario needs to know: `CONTENT_GATEWAY_URL`, `CONTENT_GATEWAY_API_KEY` (`content:write`,
 *   `user:read`), `GATEWAY_READ_KEY` (`user:read`) and `GATEWAY_FULL_KEY` (all of them); `stop`, which ends it and removes the database;
 *   and `calls`, which is complete then: how many there were of each of its `operations`, and how many `failed`
 */
export const startGateway = async (program = PROGRAM, more = {}) => {
  const { folder: origin, writeKey, readKey, fullKey } = await preparedFor(program);
  const folder = await mkdtemp(join(tmpdir(), 'gateway-'));
  await cp(origin, folder, { recursive: true });
  const env = { PATH: process.env.PATH, DATABASE_URL: `sqlite:${folder}/content.db`, HOST: '127.0.0.1', PORT: '0' };
  const serving = { ...env, LOG_LEVEL: 'info', RATE_LIMIT: 'off', ...more };
  const { calls, heed } = countCalls();
  const { url, stop } = await startServer(program, ['serve'], serving, WELCOME, heed);
  return {
    env: {
      CONTENT_GATEWAY_URL: url,
      CONTENT_GATEWAY_API_KEY: writeKey,
      GATEWAY_READ_KEY: readKey,
      GATEWAY_FULL_KEY: fullKey,
    },
    calls,
    stop: async () => {
      await stop();
      await rm(folder, { recursive: true });
    },
  };
};

/** Starts a sandbox on a free port, with random faults where there is a seed. Returns its `url`, `key`, which may do all, and `stop`. */
export const startSandbox = async (seed) => {
  const env = { PATH: process.env.PATH, HOST: '127.0.0.1', PORT: '0', LOG_LEVEL: 'warn', RATE_LIMIT: 'off' };
  const sandbox = await startServer(
    PROGRAM,
    ['serve', '--sandbox', ...(seed === undefined ? [] : ['--seed', String(seed)])],
    env,
    WELCOME,
  );
  const { keys } = await (await fetch(`${sandbox.url}/sandbox`)).json();
  return { ...sandbox, key: keys[0].key };
};

/** Starts the mock server, with all vectors or those of a file. Returns its `url` and `stop`. */
export const startFaultServer = (file) =>
  startServer(
    PROGRAM,
    ['mock-server', '--port', '0', ...(file ? ['--vectors', file] : [])],
    { PATH: process.env.PATH },
    /^\d+ vectors at (http\S+)\/vectors$/m,
  );
