import { createClient } from './generated/client/index.js';
import { Procedures } from './generated/sdk.gen.js';
import type { ErrorResponse, Issue } from './generated/types.gen.js';

export type * from './generated/types.gen.js';

/** A failure that the service answered. */
export class GatewayError extends Error {
  override readonly name = 'GatewayError';
  /** The HTTP status. */
  readonly status: number;
  /** The stable cause to branch on, such as `GAME_NOT_FOUND`. */
  readonly reason: string;
  /** The kind of failure, such as `NOT_FOUND`. */
  readonly code: string;
  /** Every fault of the input, when the reason is `VALIDATION_FAILED`; else empty. */
  readonly issues: readonly Issue[];
  /** What to do about it, if there is something. */
  readonly hint: string | undefined;
  /** Finds the request in the operator's log. */
  readonly requestId: string;

  constructor({ error: { json } }: ErrorResponse) {
    super(json.message);
    this.status = json.data.httpStatus;
    this.reason = json.data.reason;
    this.code = json.data.code;
    this.issues = json.data.issues ?? [];
    this.hint = json.data.hint;
    this.requestId = json.data.requestId;
  }
}

export interface GatewayOptions {
  /** Where the service is, such as `https://content.example.com`. */
  baseUrl: string;
  /** An API key; without one only public procedures can be called. */
  apiKey?: string;
  /** Used instead of the global `fetch`. */
  fetch?: typeof fetch;
}

/** What one call may set. */
export interface CallOptions {
  headers?: Record<string, string>;
  /** A value of your own, such as a UUID: called again with the same one, a write is not done again, but answered the same. */
  idempotencyKey?: string;
  /** Aborts the call. */
  signal?: AbortSignal;
}

/** A generated method: envelopes in, envelopes out. */
type Method = (options: never) => Promise<unknown>;
type Input<M extends Method> = Parameters<M>[0] extends { body: { json: infer I } } ? I : undefined;
type Output<M extends Method> =
  Extract<Awaited<ReturnType<M>>, { data: { result: unknown } }> extends {
    data: { result: { data: { json: infer O } } };
  }
    ? O
    : never;

/** A procedure without its envelopes: parameters in, output out. @throws GatewayError */
type Procedure<M extends Method> =
  undefined extends Input<M>
    ? (input?: Input<M>, options?: CallOptions) => Promise<Output<M>>
    : (input: Input<M>, options?: CallOptions) => Promise<Output<M>>;

/** The procedures of one generated class. */
type Router<C> = { [K in keyof C]: C[K] extends Method ? Procedure<C[K]> : never };

interface Reply {
  data?: { result: { data: { json: unknown } } };
  error?: unknown;
  response?: Response;
}

/** A proxy may answer something else. */
type PerhapsErrorResponse = { error?: { json?: { data?: { reason?: unknown } } } } | undefined;

const isErrorResponse = (body: unknown): body is ErrorResponse =>
  typeof (body as PerhapsErrorResponse)?.error?.json?.data?.reason === 'string';

const unwrap = ({ data, error, response }: Reply): unknown => {
  if (data) return data.result.data.json;
  if (isErrorResponse(error)) throw new GatewayError(error);
  if (!response) throw error;
  throw new Error(`Status ${response.status} without the error envelope: is ${response.url} the gateway?`);
};

const routerOf = <C extends object>(procedures: C): Router<C> =>
  new Proxy(procedures, {
    get: (target, name) => {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function') return method;
      return async (json?: unknown, { idempotencyKey, headers, ...options }: CallOptions = {}) => {
        const repeating = idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey };
        return unwrap(
          (await method.call(target, { ...options, headers: { ...headers, ...repeating }, body: { json } })) as Reply,
        );
      };
    },
  }) as Router<C>;

/** The content gateway. Each method takes the parameters of a procedure and resolves with its output. */
export class ContentGateway {
  readonly game: Router<Procedures['game']>;
  readonly image: Router<Procedures['image']>;
  readonly user: Router<Procedures['user']>;

  constructor({ baseUrl, apiKey, fetch }: GatewayOptions) {
    const client = createClient({ baseUrl, ...(apiKey && { auth: apiKey }), ...(fetch && { fetch }) });
    const { game, image, user } = new Procedures({ client });
    this.game = routerOf(game);
    this.image = routerOf(image);
    this.user = routerOf(user);
  }
}
