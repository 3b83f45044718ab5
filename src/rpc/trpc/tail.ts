/**
 * Events as they happen, as Server-Sent Events (HTML, section 9.2) in the form of tRPC's subscriptions, which a plain
 * `EventSource` reads as well: https://trpc.io/docs/client/links/httpSubscriptionLink
 */
import type { Request, RequestHandler, Response } from 'express';
import { clearInterval, clearTimeout, randomNumber, setInterval, setTimeout } from '../../base/runtime.ts';
import { contract, STREAM_TYPE, type Stream as ContractStream, streams } from '../../../contract/index.ts';
import { AppError } from '../../base/errors.ts';
import type { EventTails, TailedEvent } from '../../event/tails.ts';
import { errorDocs, failureOf } from '../../http/message/failures.ts';
import type { BodyReader } from '../../http/message/body.ts';
import { setCommonHeaders } from '../../http/message/reply.ts';
import { assertJson, assertMethod, assertNoContent } from '../../http/middleware/preconditions.ts';
import { clientSubnet } from '../../limits/caller.ts';
import { keyIn } from '../access.ts';
import type { RpcContext } from '../context.ts';
import { unobserved } from '../../base/observer.ts';
import type { BegunCall, Calls } from '../call.ts';
import { textPayload } from '../payload.ts';
import { parseInput } from '../procedures.ts';
import { KeyWatch } from './key-watch.ts';
import type { TailPlaces } from './tail-places.ts';
import { queriedPayload, Subscription, type TailInput } from './tail-input.ts';

const operation = streams.find(({ id }) => id === contract.event.tail.metadata.id) as ContractStream;

/** Balancers cut off connections that are silent for 15 s and more. */
const PING_SECONDS = 10;
/** tRPC's clients take a connection for broken that is silent for as long. */
const RECONNECT_MS = 45_000;
/** The bytes that are held for a client that reads slowly. Beyond, it is cut off, and resumes. */
const HELD_BYTES = 256 * 1024;
/** Clients come back within this time when the service stops, not all at once. */
const RETRY_MS = 3000;
/** After an error that lasts, they had better not come back soon. */
const LONG_RETRY_MS = 60_000;

const HEADERS = {
  'Content-Type': `${STREAM_TYPE}; charset=utf-8`,
  // NGINX would hold events back.
  'X-Accel-Buffering': 'no',
};

const CONNECTED = `event: connected\ndata: ${JSON.stringify({ reconnectAfterInactivityMs: RECONNECT_MS })}\n`;

const retryIn = (ms: number): string => `retry: ${Math.round(ms)}\n\n`;

const encoded = new WeakMap<TailedEvent, Buffer>();

/** An event as a message, checked against the contract and encoded once for all tails. */
const messageOf = (tailed: TailedEvent): Buffer => {
  const known = encoded.get(tailed);
  if (known) return known;
  const data = operation.message.parse({ json: tailed.view });
  const message = Buffer.from(`data: ${JSON.stringify(data)}\nid: ${tailed.cursor}\n\n`);
  encoded.set(tailed, message);
  return message;
};

/** The query of a tail. The id of the last event that a client has got takes the place of `after`. */
const queryOf = ({ headers }: Request, { lastEventId, after, types, recordId, include, start }: TailInput) => {
  // A browser that connects again sends the same URL and, in this header, how far it came since.
  const header = headers['last-event-id'];
  const seen = typeof header === 'string' && header !== '' ? header : (lastEventId ?? after);
  return { after: seen, start, types, recordId, includesRecord: include === 'record' };
};

/** An open tail. */
class Stream {
  readonly #response: Response;
  #cursor = '';
  #hasBegun = false;

  constructor(response: Response) {
    this.#response = response;
  }

  begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const response = this.#response;
    setCommonHeaders(response);
    const caching = response.req.method === 'POST' ? 'no-store' : 'no-cache';
    response.writeHead(200, { ...HEADERS, 'Cache-Control': `${caching}, no-transform` });
    this.#write(`${CONNECTED}${this.#cursor === '' ? '' : `id: ${this.#cursor}\n`}\n`);
  }

  take(events: readonly TailedEvent[], cursor: string): void {
    if (!this.#hasBegun) {
      this.#cursor = events.length === 0 ? cursor : '';
      this.begin();
    }
    this.#cursor = cursor;
    for (const event of events) this.#write(messageOf(event));
  }

  async ready(): Promise<void> {
    const response = this.#response;
    if (!response.writableNeedDrain || response.destroyed) return;
    await new Promise<void>((resolve) => {
      const go = (): void => {
        response.off('drain', go);
        response.off('close', go);
        resolve();
      };
      response.on('drain', go);
      response.on('close', go);
    });
  }

  /** Shows that the connection is alive, and moves the client's place on past events that it does not want. */
  ping(): void {
    if (this.#hasBegun) this.#write(`event: ping\ndata: \nid: ${this.#cursor}\n\n`);
  }

  /** Ends it after the time that the client wanted, at its place. */
  finish(): void {
    this.end(`event: return\ndata: \nid: ${this.#cursor}\n\n`);
  }

  /** Ends it, unless it has ended; the client connects again after a time. */
  end(text: string): void {
    this.begin();
    if (!this.#response.writableEnded) this.#response.end(text);
  }

  #write(message: string | Buffer): void {
    const response = this.#response;
    if (response.destroyed || response.writableEnded) return;
    response.write(message);
    // Without the bytes that are sent as soon as this turn ends.
    if (response.writableLength > HELD_BYTES) response.destroy();
  }
}

/** The open tails of a process. */
class OpenTails {
  /** By the second in which they are pinged. */
  readonly #streams = Array.from({ length: PING_SECONDS }, () => new Set<Stream>());
  #turn = 0;
  #timer: NodeJS.Timeout | undefined;

  /** Pings a stream now and then. Returns a function that ends that. */
  add(stream: Stream): () => void {
    this.#turn = (this.#turn + 1) % PING_SECONDS;
    const group = this.#streams[this.#turn] as Set<Stream>;
    group.add(stream);
    this.#timer ??= this.#ping();
    return () => {
      group.delete(stream);
      if (this.#streams.some(({ size }) => size > 0)) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  /** Ends all of them, as the service stops. */
  endAll(): void {
    for (const stream of this.#streams.flatMap((group) => [...group])) stream.end(retryIn(randomNumber() * RETRY_MS));
  }

  #ping(): NodeJS.Timeout {
    let second = 0;
    return setInterval(() => {
      for (const stream of this.#streams[second] as Set<Stream>) stream.ping();
      second = (second + 1) % PING_SECONDS;
    }, 1000).unref();
  }
}

/** The dependencies of tails besides those of calls. */
export interface TailOptions {
  tails: EventTails;
  places: TailPlaces;
  /** Aborted when the service has been told to stop. */
  stopping: AbortSignal;
}

/** Answers the subscription to events. A failure goes into the stream if the client asked for one, else into the reply. */
export const tailTransport = (
  calls: Calls,
  bodies: BodyReader,
  { log, config, auth, protection }: RpcContext,
  { tails, places, stopping }: TailOptions,
): RequestHandler => {
  const open = new OpenTails();
  const watch = new KeyWatch((key) => auth.keys.assertValid(key));
  const failureContext = { log, docs: errorDocs(config) };
  const { limits } = protection;
  stopping.addEventListener('abort', () => open.endAll());

  /** Opens the tail of a request, by the steps of a call until its input is parsed. */
  const follow = async (begun: BegunCall, request: Request, response: Response, stream: Stream): Promise<void> => {
    const isGet = request.method === 'GET';
    const { caller, payload } = await calls.admit(begun, operation, async () =>
      isGet ? queriedPayload(request) : textPayload(await bodies.readForCall(request, operation.bodyLimit)),
    );
    const input = parseInput(operation, payload.envelope, isGet ? Subscription : undefined) as TailInput;
    const { address, authorization, deadline } = begun.request;
    const name = limits && (caller?.key.id ?? clientSubnet(address));
    const release = places.reserve({ name, userId: caller?.userId });
    if (response.destroyed) {
      release();
      return;
    }
    response.once('close', release);
    if (stopping.aborted) {
      stream.end(retryIn(randomNumber() * RETRY_MS));
      return;
    }
    const fail = (error: AppError): void => sendError(response, stream, error);
    const sink = { take: stream.take.bind(stream), ready: stream.ready.bind(stream), fail };
    const end = await tails.open(queryOf(request, input), sink, deadline);
    deadline.close();
    const remove = open.add(stream);
    const unwatch = authorization === undefined ? undefined : watch.add(keyIn(authorization), fail);
    const timer = input.maxDuration && setTimeout(() => stream.finish(), input.maxDuration * 1000).unref();
    const over = (): void => {
      end();
      remove();
      unwatch?.();
      clearTimeout(timer);
    };
    if (response.destroyed) over();
    else response.once('close', over);
    stream.begin();
  };

  const begin = async (request: Request, response: Response, stream: Stream): Promise<void> => {
    assertMethod(request, response, ['GET', 'POST']);
    if (request.method === 'GET') assertNoContent(request, response);
    else assertJson(request, response);
    const begun = { id: operation.id, request: response.locals.state, observation: unobserved };
    try {
      await follow(begun, request, response, stream);
    } catch (error) {
      calls.noteFailure(begun, error);
      throw error;
    }
  };

  /** Sends a failure as a message. tRPC's clients throw it, and connect again where it passes. */
  const sendError = (response: Response, stream: Stream, thrown: unknown): void => {
    const { state } = response.locals;
    const failure = failureOf(thrown, state, failureContext);
    state.reason = failure.body.error.json.data.reason;
    const seconds = Number(failure.headers['Retry-After'] ?? 0);
    const retry = retryIn(seconds > 0 ? seconds * 1000 : LONG_RETRY_MS);
    const data = JSON.stringify({ json: failure.body.error.json });
    stream.end(`${retry}event: serialized-error\ndata: ${data}\n\n`);
  };

  return async (request, response) => {
    const { state } = response.locals;
    state.procedure = operation.id;
    state.isStream = true;
    const stream = new Stream(response);
    try {
      await begin(request, response, stream);
    } catch (error) {
      const isAsked = request.headers.accept?.includes(STREAM_TYPE) === true && request.method === 'GET';
      if (!isAsked && !response.headersSent) throw error;
      sendError(response, stream, error);
    }
  };
};
