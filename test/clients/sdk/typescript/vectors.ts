// Makes the calls that the fault server lists, and prints what came of each as a line of JSON.
import { setTimeout } from 'node:timers';
import { inspect } from 'node:util';
import { ContentGateway, GatewayError } from 'content-gateway';
import type {
  CurrentUser,
  Game,
  GameGetByIdInput,
  GameInput,
  GameListInput,
  GameListOutput,
  GatewayPromise,
  Page,
  WriteOptions,
} from 'content-gateway';

interface Vector {
  name: string;
  baseUrl: string;
  key: string | null;
  call: {
    operation: keyof typeof methods;
    input: object;
    form: 'call' | 'pages' | 'all';
    take?: number;
    options?: WriteOptions;
    cancel?: 'during-wait' | 'during-reply';
  };
  clockOffsetSeconds?: number;
}

/** How long a call that is cancelled during its reply lasts before. */
const CANCEL_AFTER_MS = 300;

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

const methods = {
  'game.getById': (gateway: ContentGateway, input: object, options: WriteOptions) =>
    replied(gateway.game.getById(input as GameGetByIdInput, options), ofGame),
  'game.create': (gateway: ContentGateway, input: object, options: WriteOptions) =>
    replied(gateway.game.create(input as GameInput, options), ofGame),
  'game.list': (gateway: ContentGateway, input: object, options: WriteOptions) =>
    replied(gateway.game.list(input as GameListInput, options), ofList),
  'user.me': (gateway: ContentGateway, _: object, options: WriteOptions) => replied(gateway.user.me(options), ofUser),
};

const pages = async function* (gateway: ContentGateway, input: object, options: WriteOptions): AsyncGenerator<string> {
  let page = await gateway.game.list(input as GameListInput, options);
  for (;;) {
    for (const { id } of page.items) yield id;
    if (!page.hasNextPage) return;
    page = await page.nextPage();
  }
};

const all = async function* (gateway: ContentGateway, input: object, options: WriteOptions): AsyncGenerator<string> {
  for await (const { id } of gateway.game.listAll(input, options)) yield id;
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

const play = async (vector: Vector, index: number): Promise<object> => {
  const { name, baseUrl, key, call, clockOffsetSeconds = 0 } = vector;
  const { operation, input, form, take, cancel, options: { idempotencyKey, ...common } = {} } = call;
  const cancelling = new AbortController();
  const waits: number[] = [];
  const items: string[] = [];
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
  const [ofClient, ofCall] = index % 2 === 1 ? [common, {}] : [{}, common];
  const gateway = new ContentGateway({ baseUrl, apiKey: key, clock, ...ofClient });
  const options = {
    ...ofCall,
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    ...(cancel && { signal: cancelling.signal }),
  };
  const timer = cancel === 'during-reply' ? setTimeout(() => cancelling.abort(), CANCEL_AFTER_MS) : undefined;
  const found = form === 'call' ? {} : { items };
  try {
    if (form === 'call') return { name, waits, ...(await methods[operation](gateway, input, options)) };
    await collect((form === 'pages' ? pages : all)(gateway, input, options), items, take);
    return { name, waits, ...found };
  } catch (error) {
    if (error === cancelling.signal.reason) return { name, waits, ...found, cancelled: true };
    if (!(error instanceof GatewayError)) throw error;
    const debug = [error, gateway]
      .flatMap((value) => [inspect(value), JSON.stringify(value), String(value)])
      .join('\n');
    return { name, waits, ...found, error: described(error), text: error.message, debug };
  } finally {
    clearTimeout(timer);
  }
};

const { VECTORS_URL, VECTORS_RUN, VECTORS_PLATFORM } = process.env;
/** Browsers give nobody a say in how long connecting may take. */
const canPlay = ({ call }: Vector): boolean =>
  VECTORS_PLATFORM !== 'web' || call.options?.connectTimeoutMs === undefined;
const response = await fetch(`${VECTORS_URL}/vectors?run=${VECTORS_RUN}`);
const vectors = (await response.json()) as Vector[];
for (const [index, vector] of vectors.entries()) {
  if (canPlay(vector)) console.log(JSON.stringify(await play(vector, index)));
}
