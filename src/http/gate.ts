import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { procedures } from '../../contract/index.ts';
import { AppError } from '../errors.ts';
import type { Lane } from '../admission/lane.ts';
import type { Lanes } from '../admission/lanes.ts';
import { refusalCost } from '../admission/pace.ts';
import { Sojourn } from '../admission/sojourn.ts';
import { LoopDelay } from '../admission/loop-delay.ts';
import { errorReply } from './errors.ts';
import { requestIdOf } from './request-log.ts';
import type { HeaderList } from './security.ts';

const METHODS: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD', 'POST']);
/** How often the log hears of refusals. */
const LOGGED_EVERY_MS = 1000;

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
  /** By the paths of their calls. */
  readonly #guarded: ReadonlyMap<string, { id: string; lanes: readonly Lane[] }>;
  readonly #delay = new LoopDelay();
  readonly #queue = new Sojourn();
  #refused = 0;

  constructor(options: Options) {
    this.#options = options;
    this.#guarded = new Map(
      procedures.map((procedure) => [
        procedure.route.path,
        { id: procedure.id, lanes: options.lanes.allOf(procedure) },
      ]),
    );
  }

  /** To be called when the process begins to listen. */
  open(): void {
    this.#delay.start();
  }

  close(): void {
    this.#delay.stop();
  }

  /**
   * Whether it refuses, and has answered or will, or the request, which has waited for so many milliseconds, is to be let
   * through.
   */
  refuses(request: IncomingMessage, response: ServerResponse, waitedMs: number): boolean {
    const { url = '' } = request;
    const end = url.indexOf('?');
    const guarded = this.#guarded.get(end === -1 ? url : url.slice(0, end));
    if (!guarded || !METHODS.has(request.method)) return false;
    const { id, lanes } = guarded;
    const { patience, pace } = this.#options.lanes;
    const isHasty = this.#delay.ms > patience.lateMs || pace.isEarly(request.socket);
    const isStanding = this.#queue.note(waitedMs, patience);
    // A queue in front of lanes that have room is work for this process; whoever has waited longest goes.
    const isLate = isStanding && waitedMs > patience.standingMs;
    const isRefused = (lane: Lane): boolean => isLate || lane.isFull || ((isHasty || isStanding) && lane.isBusy);
    if (!lanes.every(isRefused)) return false;
    for (const lane of lanes) lane.noteRefusal();
    pace.refuse(request.socket, refusalCost.early, () => this.#refuse(request, response, id));
    return true;
  }

  #refuse(request: IncomingMessage, response: ServerResponse, id: string): void {
    if (response.destroyed) return;
    const requestId = requestIdOf(request);
    const { status, headers, body } = errorReply(new AppError('OVERLOADED'), id, requestId);
    const text = JSON.stringify(body);
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
