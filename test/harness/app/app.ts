import { once } from 'node:events';
import { Agent, type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Agent as SupertestAgent } from 'supertest';
import supertest from 'supertest';
import {
  type Contract,
  type ErrorResponse,
  type Issue,
  type OutputOf,
  type Route,
  type Scope,
  scopes,
  type SentOf,
} from '../../../contract/index.ts';
import { createApp } from '../../../src/app/app.ts';
import { httpServerOf } from '../../../src/app/server.ts';
import { createSandboxApp } from '../../../src/sandbox/middleware.ts';
import { type Config, readConfig } from '../../../src/config/config.ts';
import { closeContext, type Context, openContext } from '../../../src/app/context.ts';
import { workspaceOn, type Workspaces } from '../../../src/sandbox/workspaces.ts';
import type { HttpServerLimits } from '../../../src/http/server/connections.ts';
import { generateKey } from '../../../src/auth/format.ts';
import { createKey, revokeKey } from '../../../src/auth/service.ts';
import { createLog } from '../../../src/app/log.ts';
import { suspendUser } from '../../../src/admin/moderation/users.ts';
import { systemActor } from '../../../src/auth/audit/log.ts';
import type { Observer } from '../../../src/base/observer.ts';
import { createUser } from '../../../src/user/service.ts';
import { createDatabase } from './database.ts';
import { WEBHOOK_KEY } from './webhook-key.ts';
import { observe } from './observer.ts';
import { expectNoSecrets } from '../documents/secrets.ts';

type RouterName = keyof Contract;
type Procedures = {
  [R in RouterName]: {
    [P in keyof Contract[R] & string as Contract[R][P] extends Route ? `${R}.${P}` : never]: Contract[R][P];
  };
}[RouterName];
type Intersection<U> = (U extends unknown ? (member: U) => void : never) extends (member: infer I) => void ? I : never;
type AllProcedures = Intersection<Procedures>;

/** `game.list`, `user.me`, … */
export type ProcedureId = keyof AllProcedures;
/** What a caller may send. */
export type Input<Id extends ProcedureId> = SentOf<AllProcedures[Id]>;
/** What a caller gets. */
export type Output<Id extends ProcedureId> = OutputOf<AllProcedures[Id]>;

/** A user with a key. */
export interface TestUser {
  id: string;
  nickname: string;
  key: string;
  keyId: string;
}

/** A failure, without its envelope. */
export type Failure = ErrorResponse['error']['json'] & { issues: Issue[] };

/** What came back: the names of the headers are in lower case. */
export interface Reply {
  status: number;
  headers: Record<string, string>;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into it as they please
  body: any;
}

/** Why a key is refused. */
type BadKey = 'KEY_MALFORMED' | 'KEY_UNKNOWN' | 'KEY_EXPIRED' | 'KEY_REVOKED' | 'USER_SUSPENDED';

export interface TestApp {
  /** `http://127.0.0.1:<port>` */
  url: string;
  /** The `DATABASE_URL` it runs on. */
  databaseUrl: string;
  context: Context;
  /** What it has logged so far, from `debug` on. */
  log(): string;
  /** Any request, by supertest. */
  http: SupertestAgent;
  /** Sends an input. @throws Error if what comes back is not as the published document says */
  send(id: ProcedureId, input: unknown, key?: string, headers?: Record<string, string>): Promise<Reply>;
  /** Calls a procedure. @throws Error if it does not answer 200 */
  call<Id extends ProcedureId>(id: Id, input: Input<Id>, key?: string): Promise<Output<Id>>;
  /** Calls a procedure that is to fail. @throws Error if it answers with another status */
  fail(id: ProcedureId, input: unknown, status: number, key?: string): Promise<Failure>;
  /** A new user with a key of all scopes, or of these. */
  aUser(options?: { nickname?: string; scopes?: readonly Scope[]; expiresAt?: Date }): Promise<TestUser>;
  /** For each reason to refuse a key, a key that is refused for it. */
  badKeys(): Promise<Record<BadKey, string>>;
  /** A new game of a new user, or of this one. */
  aGame(input?: Partial<Input<'game.create'>>, author?: TestUser): Promise<Output<'game.create'>>;
  /** A new image post of a new user, or of this one. */
  anImagePost(input?: Partial<Input<'image.create'>>, author?: TestUser): Promise<Output<'image.create'>>;
  /** @throws Error that names each reply that was not as the published document says, and what leaked into the log */
  stop(): Promise<void>;
}

/** The service of an app under other settings, on the same database, for any request by supertest. */
export const withSettings = ({ context }: TestApp, settings: Partial<Config>): SupertestAgent =>
  supertest(createApp({ ...context, config: { ...context.config, ...settings } }));

let serial = 0;

interface Options {
  /** Its clock. */
  now?: () => Date;
  /** What its callers are held to, as `RATE_LIMIT` says it: nothing, unless told. */
  rates?: string;
  /** Where it counts, if not alone. */
  redisUrl?: string;
  /** How long it waits for that. */
  redisTimeoutMs?: number;
  /** Whether it fails on demand, as the sandbox does. */
  sandbox?: boolean;
  /** The address of a database that is there already, and stays. */
  databaseUrl?: string | undefined;
  /** By which address it reaches the database of this address: its own, unless told. */
  reach?: (databaseUrl: string) => Promise<string>;
  /** What its listener bears, where it is other than usual. */
  edge?: Partial<HttpServerLimits>;
  /** How long a request may take: tests crowd a machine that is busy with others, and none is to end for that. */
  requestTimeoutMs?: number;
  /** Other settings, as environment variables. */
  settings?: Record<string, string>;
  /** Watches it. */
  observer?: Observer;
}

/** A sandbox whose one space is the service itself, on whatever data that has. */
const soleSpace = (context: Context): Workspaces => {
  const space = workspaceOn(context);
  return {
    within: (_name, work) => work(space),
    reset: () => undefined,
    catalogue: () => Promise.reject(new Error('this is no sandbox of its own data')),
  };
};

/** Sends a text and reads the JSON of the answer. `fetch` spends twice as much of the processor on the same. */
const post = async (url: string, body: string, agent: Agent, headers: OutgoingHttpHeaders): Promise<Reply> => {
  const sent = request(url, { method: 'POST', agent, headers });
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const { statusCode = 0, headers: named } = response;
  return { status: statusCode, headers: named as Reply['headers'], body: JSON.parse(await text(response)) };
};

/**
 * Starts the service over HTTP on an empty database of its own, unless told of another one. Whatever it answers to calls of procedures, to whichever
 * client, is held against the published document; a difference fails the call by `send`, else `stop`.
 */
export const startApp = async ({
  now = () => new Date(),
  rates = 'off',
  redisUrl = '',
  redisTimeoutMs = 1000,
  sandbox = false,
  databaseUrl,
  reach = (url) => Promise.resolve(url),
  edge = {},
  requestTimeoutMs = 25_000,
  settings = {},
  observer,
}: Options = {}): Promise<TestApp> => {
  const database =
    databaseUrl === undefined
      ? await createDatabase({ migrated: true })
      : { url: databaseUrl, drop: () => Promise.resolve() };
  const environment = {
    DATABASE_URL: await reach(database.url),
    RATE_LIMIT: rates,
    REDIS_URL: redisUrl,
    REDIS_TIMEOUT_MS: String(redisTimeoutMs),
    LOG_LEVEL: 'silent',
    WEBHOOK_SECRET_KEY: WEBHOOK_KEY,
    REQUEST_TIMEOUT_MS: String(requestTimeoutMs),
    // What tests do at once is no overload, however slow the machine.
    MAX_QUEUE_MS: '20000',
    ...settings,
  };
  const config = readConfig(environment);
  let logged = '';
  const log = createLog('debug', { write: (line: string) => void (logged += line) });
  const context = await openContext(config, log, now, observer);
  await context.db.migrate();
  const observed = observe(sandbox ? createSandboxApp(context, soleSpace(context)) : createApp(context));
  const listener = httpServerOf(context, observed.listener, { limits: edge });
  const url = `http://127.0.0.1:${await listener.listen(0, '127.0.0.1')}`;
  const http = supertest(url);

  const agent = new Agent({ keepAlive: true });

  const send: TestApp['send'] = async (id, input, key, more) => {
    const reply = await post(`${url}/api/trpc/${id}`, JSON.stringify({ json: input }), agent, {
      'Content-Type': 'application/json',
      ...(key !== undefined && { Authorization: `Bearer ${key}` }),
      ...more,
    });
    observed.expectAsPublished();
    return reply;
  };

  const app: TestApp = {
    url,
    databaseUrl: database.url,
    context,
    log: () => logged,
    http,
    send,
    call: async (id, input, key) => {
      const { status, body } = await send(id, input, key);
      if (status !== 200) throw new Error(`${id} answered ${status}: ${JSON.stringify(body)}`);
      return body.result.data.json;
    },
    fail: async (id, input, status, key) => {
      const response = await send(id, input, key);
      if (response.status !== status) {
        throw new Error(`${id} answered ${response.status}, not ${status}: ${JSON.stringify(response.body)}`);
      }
      const { json } = (response.body as ErrorResponse).error;
      return { ...json, issues: json.data.issues ?? [] };
    },
    aUser: async (options = {}) => {
      serial += 1;
      const { nickname = `user ${serial}`, scopes: granted = scopes, expiresAt = null } = options;
      const id = await createUser(context.db, nickname, now());
      const created = await createKey(context.db, { userId: id, name: 'test', scopes: granted, expiresAt }, now());
      return { id, nickname, key: created.key, keyId: created.id };
    },
    badKeys: async () => {
      const [good, expired] = [await app.aUser(), await app.aUser({ expiresAt: now() })];
      const [revoked, suspended] = [await app.aUser(), await app.aUser()];
      await revokeKey(context.db, revoked.keyId, now());
      await suspendUser(context.db, suspended.id, systemActor(), { hide: false });
      return {
        KEY_MALFORMED: good.key.slice(0, -1),
        KEY_UNKNOWN: generateKey(),
        KEY_EXPIRED: expired.key,
        KEY_REVOKED: revoked.key,
        USER_SUSPENDED: suspended.key,
      };
    },
    aGame: async (input, author) => {
      serial += 1;
      const { key } = author ?? (await app.aUser());
      return app.call('game.create', { title: `game ${serial}`, ...input }, key);
    },
    anImagePost: async (input, author) => {
      serial += 1;
      const { key } = author ?? (await app.aUser());
      const images = ['https://images.example.com/1.webp'];
      return app.call('image.create', { title: `post ${serial}`, images, ...input }, key);
    },
    stop: async () => {
      agent.destroy();
      await listener.stop(5000);
      await closeContext(context);
      await database.drop();
      observed.expectAsPublished();
      expectNoSecrets(logged);
    },
  };
  return app;
};
