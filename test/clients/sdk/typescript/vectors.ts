// Makes the calls that the fault server lists, and prints what came of each as a line of JSON.
import { setTimeout } from 'node:timers';
import { inspect } from 'node:util';
import { ContentGateway, GatewayError } from 'content-gateway-client';
import type {
  Attempt,
  CurrentUser,
  Game,
  GameGetByIdInput,
  GameGetRelatedInput,
  GameInput,
  GameListInput,
  GameListOutput,
  GatewayOptions,
  GatewayPromise,
  ListAllOptions,
  Page,
  UserSearchInput,
  WriteOptions,
} from 'content-gateway-client';

interface VectorOptions extends WriteOptions, ListAllOptions {
  silenceMs?: number;
  appName?: string;
  maxConnections?: number;
}

interface Vector {
  name: string;
  baseUrl: string;
  key: string | null;
  call: {
    operation: string;
    input: object;
    form: 'call' | 'generic' | keyof typeof walks;
    scalar?: true;
    via?: 'withOptions';
    take?: number;
    times?: number;
    options?: VectorOptions;
    cancel?: 'during-wait' | 'during-reply';
  };
  clockOffsetSeconds?: number;
  typed?: true;
}

/** How long a call that is cancelled during its reply lasts before. */
const CANCEL_AFTER_MS = 1000;

const ofGame = ({ id, title, viewer }: Game): object => ({ id, title, reaction: viewer?.reaction ?? null });
const ofList = ({ items, totalRelation, hasNextPage }: Page<GameListOutput>): object => ({
  ids: items.map(({ id }) => id),
  totalRelation,
  hasNextPage,
});
const ofUser = ({ nickname, apiKey }: CurrentUser): object => ({ nickname, scopes: apiKey.scopes });

/** Calls, and says of the reply what there is to compare. */
const replied = async <T>(promise: GatewayPromise<T>, describe: (data: T) => object): Promise<object> => {
  const { data, status, requestId, attempts, replayed, rateLimit } = await promise.withResponse();
  return { ok: describe(data), meta: { status, requestId, attempts, replayed, rateLimit } };
};

type Method = (gateway: ContentGateway, input: unknown, options: WriteOptions) => Promise<object>;

const methods: Record<string, Method> = {
  'game.getById': (gateway, input, options) =>
    replied(gateway.game.getById(input as GameGetByIdInput, options), ofGame),
  'game.create': (gateway, input, options) => replied(gateway.game.create(input as GameInput, options), ofGame),
  'game.list': (gateway, input, options) => replied(gateway.game.list(input as GameListInput, options), ofList),
  'game.getRelated': (gateway, input, options) =>
    replied(gateway.game.getRelated(input as GameGetRelatedInput, options), ({ items }) => ({
      ids: items.map(({ id }) => id),
    })),
  'user.search': (gateway, input, options) =>
    replied(gateway.user.search(input as UserSearchInput, options), ({ items }) => ({ count: items.length })),
  'user.me': (gateway, _, options) => replied(gateway.user.me(options), ofUser),
};

/** Makes the call of a vector. */
const answerTo = ({ call }: Vector, gateway: ContentGateway, options: WriteOptions): Promise<object> => {
  const { operation, input, form, scalar } = call;
  if (form === 'generic') return replied(gateway.call(operation, input, options), (output) => output);
  const method = methods[operation];
  if (!method) throw new Error(`${operation} has no method here`);
  return method(gateway, scalar ? Object.values(input)[0] : input, options);
};

type Follow = (input: object, options: object) => AsyncIterable<{ id: string }>;

/** The methods that follow events, which the SDK of an older document has not. */
const eventsOf = (gateway: ContentGateway): { tail: Follow; follow: Follow } =>
  (gateway as unknown as { event: { tail: Follow; follow: Follow } }).event;

const walks = {
  pages: async function* (gateway: ContentGateway, input: object, options: WriteOptions): AsyncGenerator<string> {
    let page = await gateway.game.list(input as GameListInput, options);
    for (;;) {
      for (const { id } of page.items) yield id;
      if (!page.hasNextPage) return;
      page = await page.nextPage();
    }
  },
  'page-iterator': async function* (gateway: ContentGateway, input: object, options: WriteOptions) {
    for await (const { items } of gateway.game.listPages(input, options)) for (const { id } of items) yield id;
  },
  tail: async function* (gateway: ContentGateway, input: object, options: object) {
    for await (const { id } of eventsOf(gateway).tail(input, options)) yield id;
  },
  follow: async function* (gateway: ContentGateway, input: object, options: object) {
    for await (const { id } of eventsOf(gateway).follow(input, options)) yield id;
  },
  all: async function* (gateway: ContentGateway, input: object, options: ListAllOptions) {
    for await (const { id } of gateway.game.listAll(input, options)) yield id;
  },
};

/** Adds the ids that come to the list, at most so many. */
const collect = async (ids: AsyncIterable<string>, items: string[], take = Infinity): Promise<void> => {
  for await (const id of ids) {
    items.push(id);
    if (items.length >= take) return;
  }
};

/** The members of an error that there are to compare: the service's own message is `message` there. */
const described = (error: object): object => {
  const {
    cause: _,
    headers: _headers,
    name: type,
    serviceMessage: message,
    ...members
  } = error as Record<string, unknown>;
  return { type, ...members, message };
};

const ofAttempt = ({ waitMs, ...attempt }: Attempt): object => ({
  ...attempt,
  durationMs: undefined,
  wait: waitMs === null ? null : waitMs / 1000,
});

/** The client of a vector, which may be derived from another one. */
const clientOf = ({ call, baseUrl, key }: Vector, options: GatewayOptions): ContentGateway => {
  if (call.via === undefined) return new ContentGateway({ ...options, baseUrl, apiKey: key });
  const first = { apiKey: 'cgk_other', headers: { 'X-First': '1' }, maxRetries: 0 };
  return new ContentGateway({ ...first, baseUrl }).withOptions({ ...options, apiKey: key });
};

const play = async (vector: Vector, index: number): Promise<object> => {
  const { name, call, clockOffsetSeconds = 0 } = vector;
  if (vector.typed) return { name, skipped: 'it checks no types' };
  const { input, form, take, cancel, times = 1 } = call;
  const { idempotencyKey, appName, maxConnections, maxRecords, silenceMs, ...common } = call.options ?? {};
  const cancelling = new AbortController();
  const waits: number[] = [];
  const items: string[] = [];
  const events: object[] = [];
  const onAttempt = (attempt: Attempt): never => {
    events.push(ofAttempt(attempt));
    throw new Error('What a hook throws is ignored.');
  };
  const clock = {
    now: () => Date.now() + 1000 * waits.reduce((sum, wait) => sum + wait, clockOffsetSeconds),
    sleep: async (ms: number, signal: AbortSignal | undefined) => {
      waits.push(ms / 1000);
      if (cancel !== 'during-wait') return;
      const stopped = new Promise((_, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason as Error));
      });
      cancelling.abort();
      await stopped;
    },
  };
  const [ofClient, ofCall] = index % 2 === 1 || call.via ? [common, {}] : [{}, common];
  const gateway = clientOf(vector, { ...ofClient, clock, appName, maxConnections, onAttempt });
  const options = {
    ...ofCall,
    ...(maxRecords !== undefined && { maxRecords }),
    ...(silenceMs !== undefined && { silenceMs }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    ...(cancel && { signal: cancelling.signal }),
  };
  const timer = cancel === 'during-reply' ? setTimeout(() => cancelling.abort(), CANCEL_AFTER_MS) : undefined;
  const isWalk = form !== 'call' && form !== 'generic';
  const found = { name, waits, events, ...(isWalk && { items }) };
  try {
    if (!isWalk) {
      const answers = Array.from({ length: times }, () => answerTo(vector, gateway, options));
      return { ...found, ...(await Promise.all(answers)).at(-1) };
    }
    await collect(walks[form](gateway, input, options), items, take);
    return found;
  } catch (error) {
    if (error === cancelling.signal.reason) return { ...found, cancelled: true };
    if (!(error instanceof GatewayError)) throw error;
    const debug = [error, gateway]
      .flatMap((value) => [inspect(value), JSON.stringify(value), String(value)])
      .join('\n');
    return { ...found, error: described(error), text: error.message, debug };
  } finally {
    clearTimeout(timer);
  }
};

const { VECTORS_URL, VECTORS_RUN, VECTORS_PLATFORM } = process.env;
/** Browsers decide themselves how long connecting may take, and through which proxy. */
const canPlay = ({ call: { options = {} }, baseUrl }: Vector): boolean =>
  VECTORS_PLATFORM !== 'web' ||
  (options.connectTimeoutMs === undefined && new URL(baseUrl).hostname !== 'gateway.invalid');
const response = await fetch(`${VECTORS_URL}/vectors?run=${VECTORS_RUN}`);
const vectors = (await response.json()) as Vector[];
for (const [index, vector] of vectors.entries()) {
  if (canPlay(vector)) console.log(JSON.stringify(await play(vector, index)));
}
