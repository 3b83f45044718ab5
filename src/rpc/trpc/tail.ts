/**
 * Sends events as they happen, as Server-Sent Events (HTML, section 9.2) in the form of tRPC's subscriptions. A plain
 * `EventSource` reads them as well: https://trpc.io/docs/client/links/httpSubscriptionLink
 */
import type { Request, RequestHandler, Response } from 'express';
import { clearTimeout, randomNumber, setTimeout } from '../../base/runtime.ts';
import {
  contract,
  STREAM_TYPE,
  type Stream as ContractStream,
  streams,
  TailSubscription,
} from '../../../contract/index.ts';
import { AppError } from '../../base/errors.ts';
import type { EventTails, TailedEvent } from '../../event/tails.ts';
import { errorDocs, failureOf } from '../../http/message/failures.ts';
import { type BodyReader, queryText } from '../../http/message/body.ts';
import { setCommonHeaders } from '../../http/message/reply.ts';
import { assertJson, assertMethod, assertNoContent } from '../../http/middleware/preconditions.ts';
import { clientSubnet } from '../../limits/caller.ts';
import { keyIn, parseInput, type RpcContext } from '../procedures.ts';
import { textPayload, type Payload, valuePayload } from '../payload.ts';
import { unobserved } from '../../base/observer.ts';
import type { BegunCall, Calls } from '../call.ts';
import { OpenTails, type TailPlaces } from './open-tails.ts';
import type { z } from 'zod';

type TailInput = z.output<typeof TailSubscription>;

/** The envelope of a tail by GET, which may also hold the client's position. */
const Subscription = contract.event.tail.body.extend({ json: TailSubscription });

/** A parameter that tRPC's clients always add for connection parameters. This API has none. */
const OF_TRPC = 'connectionParams';
const NUMBER = /^-?\d{1,9}$/;

/** The kind of a member's values, by its schema. */
const kindOf = ({ def }: z.ZodType): string => ('innerType' in def ? kindOf(def.innerType as z.ZodType) : def.type);

/** Converts a parameter to the member of an input. Other texts are left to the schema, which refuses them. */
const memberOf = (name: string, value: unknown): unknown => {
  const members: Record<string, z.ZodType> = TailSubscription.shape;
  const kind = Object.hasOwn(members, name) ? kindOf(members[name] as z.ZodType) : undefined;
  if (kind === 'array') return [value].flat().flatMap((text) => String(text).split(','));
  return kind === 'number' && typeof value === 'string' && NUMBER.test(value) ? Number(value) : value;
};

const isEmpty = (envelope: unknown): boolean =>
  typeof envelope === 'object' && envelope !== null && Object.keys(envelope).every((name) => name === 'meta');

/** Returns the input in a URL, in either form. @throws AppError MALFORMED_JSON, VALIDATION_FAILED */
const queriedPayload = (request: Request): Payload => {
  const { input, [OF_TRPC]: _, ...plain } = request.query;
  const names = Object.keys(plain);
  if (input === undefined) {
    const members = names.map((name) => [name, memberOf(name, plain[name])] as const);
    return valuePayload({ json: Object.fromEntries(members) });
  }
  if (names.length > 0) {
    const message = `stands beside \`input\`: put all parameters into \`input\`, or all of them into the URL`;
    const issues = names.map((name) => ({ path: `/${name}`, code: 'unrecognized_keys', message }));
    throw new AppError('VALIDATION_FAILED', { issues });
  }
  const payload = textPayload(queryText(request));
  // tRPC's clients send no member for an empty input.
  return isEmpty(payload.envelope) ? valuePayload({ json: {} }) : payload;
};

const operation = streams.find(({ id }) => id === contract.event.tail.metadata.id) as ContractStream;

/** tRPC's clients take a connection for broken after this time of silence. */
const RECONNECT_MS = 45_000;
/** The bytes held for a slow reader. Beyond, the client is disconnected, and resumes later. */
const HELD_BYTES = 256 * 1024;
/** When the service stops, clients reconnect spread over this time. */
const RETRY_MS = 3000;
/** After a lasting error, clients reconnect after this long time. */
const LONG_RETRY_MS = 60_000;

const HEADERS = {
  'Content-Type': `${STREAM_TYPE}; charset=utf-8`,
  // NGINX would delay events.
  'X-Accel-Buffering': 'no',
};

const CONNECTED = `event: connected\ndata: ${JSON.stringify({ reconnectAfterInactivityMs: RECONNECT_MS })}\n`;

const retryIn = (ms: number): string => `retry: ${Math.round(ms)}\n\n`;

const encoded = new WeakMap<TailedEvent, Buffer>();

/** Writes an event as a message, checked against the contract and encoded once for all tails. */
const messageOf = (tailed: TailedEvent): Buffer => {
  const known = encoded.get(tailed);
  if (known) return known;
  const data = operation.message.parse({ json: tailed.view });
  const message = Buffer.from(`data: ${JSON.stringify(data)}\nid: ${tailed.cursor}\n\n`);
  encoded.set(tailed, message);
  return message;
};

/** The query of a tail. The id of the last event that the client received replaces `after`. */
const queryOf = ({ headers }: Request, { lastEventId, after, types, recordId, include, start }: TailInput) => {
  // A reconnecting browser sends the same URL and, in this header, the last event that it received.
  const header = headers['last-event-id'];
  const seen = typeof header === 'string' && header !== '' ? header : (lastEventId ?? after);
  return { after: seen, start, types, recordId, includesRecord: include === 'record' };
};

/** The answer of a tail. */
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

  /** Shows that the connection is alive, and advances the client's position past events that it filters out. */
  ping(): void {
    if (this.#hasBegun) this.#write(`event: ping\ndata: \nid: ${this.#cursor}\n\n`);
  }

  /** Ends the tail when the service stops. */
  interrupt(): void {
    this.end(retryIn(randomNumber() * RETRY_MS));
  }

  /** Ends the tail after the time that the client asked for, at its position. */
  finish(): void {
    this.end(`event: return\ndata: \nid: ${this.#cursor}\n\n`);
  }

  /** Ends the tail, unless it has ended; the client reconnects after a time. */
  end(text: string): void {
    this.begin();
    if (!this.#response.writableEnded) this.#response.end(text);
  }

  #write(message: string | Buffer): void {
    const response = this.#response;
    if (response.destroyed || response.writableEnded) return;
    response.write(message);
    // Excludes the bytes that are sent at the end of this turn.
    if (response.writableLength > HELD_BYTES) response.destroy();
  }
}

/** The dependencies of tails in addition to those of calls. */
export interface TailOptions {
  tails: EventTails;
  places: TailPlaces;
  /** Aborted when the service is told to stop. */
  stopping: AbortSignal;
}

/** Answers the subscription to events. A failure is sent in the stream if the client wants this, else as the reply. */
export const tailTransport = (
  calls: Calls,
  bodies: BodyReader,
  { log, config, auth, protection }: RpcContext,
  { tails, places, stopping }: TailOptions,
): RequestHandler => {
  const open = new OpenTails((key) => auth.keys.assertValid(key));
  const failureContext = { log, docs: errorDocs(config) };
  const { limits } = protection;
  stopping.addEventListener('abort', () => open.interrupt());

  /** Opens the tail of a request by the steps of a call until its input is parsed. */
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
      stream.interrupt();
      return;
    }
    const fail = (error: AppError): void => sendError(response, stream, error);
    const sink = { take: stream.take.bind(stream), ready: stream.ready.bind(stream), fail };
    const end = await tails.open(queryOf(request, input), sink, deadline);
    deadline.close();
    const remove = open.add({ stream, key: authorization === undefined ? undefined : keyIn(authorization), fail });
    const timer = input.maxDuration && setTimeout(() => stream.finish(), input.maxDuration * 1000).unref();
    const over = (): void => {
      end();
      remove();
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

  /** Sends a failure as a message. tRPC's clients throw it, and reconnect if it is temporary. */
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
