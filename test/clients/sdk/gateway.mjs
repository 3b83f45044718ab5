import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const program = fileURLToPath(new URL('../../../dist/src/cli.js', import.meta.url));
const run = promisify(execFile);

/** Resolves with the address that the service prints once it listens. */
const addressOf = async (child) => {
  let output = '';
  for await (const text of child.stdout.setEncoding('utf8')) {
    output += text;
    const [, address] = /^Docs: (http\S+)\/docs$/m.exec(output) ?? [];
    if (address) return address;
  }
  throw new Error(`The gateway ended before it listened:\n${output}`);
};

/**
 * Starts a gateway from `dist/` on a free port, with an empty database of its own.
 *
 * @returns `env`, what a scenario needs to know: `GATEWAY_URL`, `GATEWAY_KEY` (`content:write`, `user:read`) and
 *   `GATEWAY_READ_KEY` (`user:read`); and `stop`, which ends it and removes the database
 */
export const startGateway = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-'));
  const env = { PATH: process.env.PATH, DATABASE_URL: `sqlite:${folder}/content.db`, HOST: '127.0.0.1', PORT: '0' };
  const cli = async (...args) => {
    const { stdout } = await run(process.execPath, [program, ...args], { env });
    return stdout.trim();
  };
  const user = await cli('users', 'create', '--nickname', '星野');
  const key = (scopes) => cli('keys', 'create', '--user', user, '--scopes', scopes);
  const [writeKey, readKey] = [await key('content:write,user:read'), await key('user:read')];

  const child = spawn(process.execPath, [program, 'serve'], {
    env: { ...env, LOG_LEVEL: 'warn', RATE_LIMIT: 'off' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const url = await addressOf(child);
  return {
    env: { GATEWAY_URL: url, GATEWAY_KEY: writeKey, GATEWAY_READ_KEY: readKey },
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
      await rm(folder, { recursive: true });
    },
  };
};
