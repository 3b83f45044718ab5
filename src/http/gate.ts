import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { procedures } from '../../contract/index.ts';
import { AppError } from '../errors.ts';
import type { Lane } from '../limits/lane.ts';
import type { Lanes } from '../limits/lanes.ts';
import { LoopDelay } from '../limits/loop-delay.ts';
import { errorReply, LEAST_RETRY_AFTER_S } from './errors.ts';
import { USABLE_ID } from './request-log.ts';
import type { HeaderList } from './security.ts';

const API = '/api/trpc/';
const METHODS: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD', 'POST']);
/**
 * Callers that were refused and are back too soon are refused at this pace: each refusal costs 50 µs, and two thousand
 * callers who ask again at once would leave time for nothing else.
 */
const PACE_MS = 10;
const REFUSED_PER_PACE = 30;
/** How often the log hears of refusals. */
const LOGGED_EVERY_MS = 1000;

/** A request that waits for its refusal. */
interface Held {
  request: IncomingMessage;
  response: ServerResponse;
  id: string;
}

/** How long whoever was refused was told to stay away at least. */
const AWAY_MS = LEAST_RETRY_AFTER_S * 1000;

interface Options {
  lanes: Lanes;
  /** The headers of every reply, by the origin of the request. */
  headersOf: (origin: string | undefined) => HeaderList;
  log: Logger;
}

/**
 * Refuses calls that would be refused anyway for want of room, before anything is done for them, so that a crowd costs as
 * little as it can. What cannot be told from the path alone is let through: the lanes decide.
 */
export class Gate {
  readonly #options: Options;
  readonly #lanes: ReadonlyMap<string, readonly Lane[]>;
  /** Until when callers were told to stay away: by connection, the call of theirs that was refused last. */
  readonly #away = new WeakMap<Socket, { id: string; until: number }>();
  readonly #held: Held[] = [];
  readonly #delay = new LoopDelay();
  #pace: NodeJS.Timeout | undefined;
  #refused = 0;

  constructor(options: Options) {
    this.#options = options;
    this.#lanes = new Map(procedures.map((procedure) => [procedure.id, options.lanes.allOf(procedure)]));
  }

  /** To be called when the process begins to listen. */
  open(): void {
    this.#delay.start();
  }

  close(): void {
    this.#delay.stop();
  }

  /** Whether it refuses, and has answered or will, or the request is to be let through. */
  refuses(request: IncomingMessage, response: ServerResponse): boolean {
    const { url = '' } = request;
    if (!url.startsWith(API) || !METHODS.has(request.method)) return false;
    const end = url.indexOf('?');
    const id = url.slice(API.length, end === -1 ? undefined : end);
    const lanes = this.#lanes.get(id);
    if (!lanes) return false;
    const isAway = this.#isAway(request.socket, id);
    const isLate = this.#delay.ms > this.#options.lanes.patience.lateMs;
    const isFull = (lane: Lane): boolean => lane.isFull || (isLate && lane.isBusy);
    const busy = lanes.filter((lane) => lane.isBusy);
    const isHeld = isAway && busy.length > 0;
    if (!isHeld && !lanes.every(isFull)) {
      if (busy.length > 0) this.#watch(request, response, id);
      return false;
    }
    for (const lane of busy) lane.noteRefusal();
    if (isHeld) this.#hold({ request, response, id });
    else this.#refuse({ request, response, id });
    return true;
  }

  /** Notes when a call is refused by what is behind. */
  #watch({ socket }: IncomingMessage, response: ServerResponse, id: string): void {
    response.once('finish', () => {
      if (response.statusCode === 503) this.#sendAway(socket, id);
    });
  }

  #sendAway(socket: Socket, id: string): void {
    this.#away.set(socket, { id, until: performance.now() + AWAY_MS });
  }

  #isAway(socket: Socket, id: string): boolean {
    const away = this.#away.get(socket);
    return away !== undefined && away.id === id && performance.now() < away.until;
  }

  #hold(held: Held): void {
    this.#held.push(held);
    this.#pace ??= setInterval(() => this.#release(), PACE_MS);
  }

  #release(): void {
    for (const held of this.#held.splice(0, REFUSED_PER_PACE)) {
      if (!held.response.destroyed) this.#refuse(held);
    }
    if (this.#held.length > 0) return;
    clearInterval(this.#pace);
    this.#pace = undefined;
  }

  #refuse({ request, response, id }: Held): void {
    const given = request.headers['x-request-id'];
    const requestId = typeof given === 'string' && USABLE_ID.test(given) ? given : randomUUID();
    const { status, headers, body } = errorReply(new AppError('OVERLOADED'), id, requestId);
    const text = JSON.stringify(body);
    this.#sendAway(request.socket, id);
    response.writeHead(status, [
      ...this.#options.headersOf(request.headers.origin),
      ...Object.entries(headers).flat(),
      'X-Request-Id',
      requestId,
      'Content-Type',
      'application/json; charset=utf-8',
      'Content-Length',
      String(Buffer.byteLength(text)),
    ]);
    response.end(text);
    this.#count();
  }

  #count(): void {
    this.#refused += 1;
    // The first of a second has the others of it told with it.
    if (this.#refused > 1) return;
    setTimeout(() => {
      this.#options.log.warn({ refused: this.#refused, loopDelayMs: Math.round(this.#delay.ms) }, 'overloaded');
      this.#refused = 0;
    }, LOGGED_EVERY_MS).unref();
  }
}
