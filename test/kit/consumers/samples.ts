import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type ConsumerContract, parseConsumerContract } from '../../../contract/consumer-contract.ts';
import { version } from '../../../src/base/version.ts';
import { contractOf, startRecordingProxy } from '../../../openapi/kit/consumers/recording-proxy.ts';

// Four consumers, each with a client of its own, and the service that their tests call.

declare global {
  /** The paths of what compiles or runs them, set by jest.config.mjs. */
  var TEST_LANGUAGES: { python: string; go: string };
}

const root = fileURLToPath(new URL('../../..', import.meta.url));
const execute = promisify(execFile);

/** A reply: a body that is undefined is none. */
export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: unknown;
}

/** A call, as it came: its operation, its headers by their names in lower case, and its body. */
export interface SentCall {
  id: string;
  headers: Readonly<Record<string, string>>;
  body: unknown;
}

/** What calls are answered by. */
export type Service = (call: SentCall) => Answer | Promise<Answer>;

/** A server whose service can be replaced. */
export const startStandIn = async () => {
  const standIn: { url: string; service: Service; stop: () => void } = {
    url: '',
    service: ({ id }) => Promise.reject(new Error(`${id} has no answer.`)),
    stop: () => server.close().closeAllConnections(),
  };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const sent = JSON.parse((await buffer(request)).toString()) as unknown;
    const id = (request.url ?? '').replace('/api/trpc/', '');
    const { status, headers, body } = await standIn.service({
      id,
      headers: request.headers as SentCall['headers'],
      body: sent,
    });
    response.writeHead(status, headers).end(body === undefined ? '' : JSON.stringify(body));
  };
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  // Consumers keep their connections, and wait long between their runs.
  server.keepAliveTimeout = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  standIn.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return standIn;
};

/** A program that runs the tests of a consumer as often as it is asked to. */
export interface RunningConsumer {
  /** Returns `passed`, or why a test failed. */
  run: () => Promise<string>;
  /** Lets it end, which it does by itself. */
  stop: () => Promise<void>;
}

interface Program {
  command: string;
  args: string[];
  env: NodeJS.ProcessEnv;
}

/** Starts a consumer that calls a service. */
export const startConsumer = (
  { command, args, env }: Program,
  url: string,
  more: NodeJS.ProcessEnv = {},
): RunningConsumer => {
  const variables = { ...process.env, ...env, CONTENT_GATEWAY_URL: url, CONTENT_GATEWAY_API_KEY: 'key', ...more };
  const child: ChildProcess = spawn(command, args, { env: variables, stdio: ['pipe', 'pipe', 'inherit'] });
  const { stdin, stdout } = child;
  if (!stdin || !stdout) throw new Error('It has no pipes.');
  const lines = createInterface(stdout)[Symbol.asyncIterator]();
  const ended = once(child, 'close');
  return {
    run: async () => {
      stdin.write('\n');
      const { value, done } = await lines.next();
      if (done) throw new Error(`${command} ${args.join(' ')} has ended.`);
      return value;
    },
    stop: async () => {
      stdin.end();
      await ended;
    },
  };
};

/** Of the consumers without an SDK: what their tests read, by the operation. */
const READS: Record<string, Record<string, string[]>> = {
  'profile-page': {
    'user.updateProfile': ['/bio', '/socialLinks/*'],
    'image.list': ['/items/*/id', '/items/*/title', '/items/*/imageCount', '/totalRelation'],
  },
  'ranking-bot': {
    'game.list': [
      ...['title', 'isFree', 'likeCount', 'author/nickname', 'viewer/favorited'].map((name) => `/items/*/${name}`),
      '/nextCursor',
    ],
    'user.me': ['/nickname', '/avatar', '/createdAt'],
  },
};

/** Builds what the consumers are made with, in a folder that is gone afterwards. */
export const buildConsumers = async () => {
  const folder = mkdtempSync(join(tmpdir(), 'consumers-'));
  const sample = (name: string): string => fileURLToPath(new URL(`samples/${name}`, import.meta.url));
  const built = join(folder, 'profile-page');
  const [{ stdout: tools }] = await Promise.all([
    execute(join(root, 'openapi/sdk/python/tools')),
    execute(process.execPath, [join(root, 'openapi/sdk/generate.mjs'), 'typescript', 'python'], {
      env: { ...process.env, SDK_BUILD: folder, CI: 'true' },
      cwd: root,
    }),
    execute(TEST_LANGUAGES.go, ['build', '-o', built, sample('profile-page.go')]),
  ]);
  const programs: Record<string, Program> = {
    'shop-web': {
      command: process.execPath,
      args: [sample('shop-web.mjs')],
      env: { SDK: join(folder, 'typescript/dist/index.js') },
    },
    'author-tool': {
      command: join(tools.trim(), 'python'),
      args: ['-B', sample('author_tool.py')],
      env: { PYTHONPATH: join(folder, 'python') },
    },
    'profile-page': { command: built, args: [], env: {} },
    'ranking-bot': { command: process.execPath, args: [sample('ranking-bot.mjs')], env: {} },
  };

  /** Has the SDK of a consumer record its contract, or the proxy where there is none. */
  const record = async (consumer: string, url: string): Promise<ConsumerContract> => {
    const program = programs[consumer] as Program;
    const file = join(folder, `${consumer}.json`);
    const proxy = await startRecordingProxy(url, 0);
    const env = { CONTENT_GATEWAY_CONTRACT: file, CONTENT_GATEWAY_CONSUMER: consumer };
    const running = startConsumer(program, proxy.url, env);
    const came = await running.run();
    await running.stop();
    await proxy.stop();
    if (came !== 'passed') throw new Error(`${consumer}: ${came}`);
    const told = READS[consumer];
    if (!told) return parseConsumerContract(file, readFileSync(file, 'utf8'));
    const { needs, ...rest } = contractOf({ consumer, contract: version }, proxy.recorder);
    return { ...rest, needs: needs.map((need) => ({ ...need, reads: told[need.operation] ?? [] })) };
  };

  return { programs, record, remove: () => rmSync(folder, { recursive: true }) };
};
