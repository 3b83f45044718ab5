import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { type ErrorResponse, type Procedure, procedures } from '../../contract/index.ts';
import { AppError } from '../errors.ts';
import type { Lane } from '../admission/lane.ts';
import type { Lanes } from '../admission/lanes.ts';
import { refusalCost } from '../admission/pace.ts';
import { Sojourn } from '../admission/sojourn.ts';
import { LoopDelay } from '../admission/loop-delay.ts';
import { type ErrorDocs, errorReply } from './errors.ts';
import { asJsonRpc, MCP_PATH } from './json-rpc.ts';
import { requestIdOf } from './request-log.ts';
import type { HeaderList } from './security.ts';
import type { Observer } from '../observer.ts';

const METHODS: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD', 'POST']);
/** How often the log hears of refusals. */
const LOGGED_EVERY_MS = 1000;

/** What may be refused at the gate. */
interface Guarded {
  /** The procedure that is called, where the path tells it. */
  id: string | null;
  lanes: readonly Lane[];
  /** A refusal as it goes out. */
  textOf: (body: ErrorResponse) => string;
}

interface Options {
  lanes: Lanes;
  /** The headers of every reply, by how the request came; here, nobody looks whether a proxy took it by TLS. */
  headersOf: (way: { origin: string | undefined; isSecure: false }) => HeaderList;
  docs: ErrorDocs;
  log: Logger;
  observer?: Observer | undefined;
}

/**
 * Refuses calls that would be refused anyway for want of room, before anything is done for them, so that a crowd costs as
 * little as it can. What cannot be told from the path alone is let through: the lanes decide.
 */
export class Gate {
  readonly #options: Options;
  /** By the paths of their calls. */
  readonly #guarded: ReadonlyMap<string, Guarded>;
  readonly #delay = new LoopDelay();
  readonly #queue = new Sojourn();
  #refused = 0;

  constructor(options: Options) {
    this.#options = options;
    const lanesOf = (procedure: Procedure): readonly Lane[] => options.lanes.allOf(procedure);
    const calls = procedures.map((procedure): [string, Guarded] => [
      procedure.route.path,
      { id: procedure.id, lanes: lanesOf(procedure), textOf: (body) => JSON.stringify(body) },
    ]);
    // A tool may turn out to be any of them.
    const allLanes = [...new Set(procedures.flatMap(lanesOf))];
    this.#guarded = new Map([...calls, [MCP_PATH, { id: null, lanes: allLanes, textOf: (body) => asJsonRpc(body) }]]);
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
    const { lanes } = guarded;
    const { patience, pace } = this.#options.lanes;
    const isHasty = this.#delay.ms > patience.lateMs || pace.isEarly(request.socket);
    const isStanding = this.#queue.note(waitedMs, patience);
    // A queue in front of lanes that have room is work for this process; whoever has waited longest goes.
    const isLate = isStanding && waitedMs > patience.standingMs;
    const isRefused = (lane: Lane): boolean => isLate || lane.isFull || ((isHasty || isStanding) && lane.isBusy);
    if (!lanes.every(isRefused)) return false;
    for (const lane of lanes) lane.noteRefusal();
    pace.refuse(request.socket, refusalCost.early, () => this.#refuse(request, response, guarded));
    return true;
  }

  #refuse(request: IncomingMessage, response: ServerResponse, { id, textOf }: Guarded): void {
    if (response.destroyed) return;
    const requestId = requestIdOf(request);
    const { docs, observer } = this.#options;
    const error = new AppError('OVERLOADED');
    const { status, headers, body } = errorReply(error, id, requestId, docs);
    observer?.admission.refusedAtGate();
    if (id !== null) observer?.calls.begin(id).failed(error);
    const text = textOf(body);
    response.writeHead(status, [
      ...this.#options.headersOf({ origin: request.headers.origin, isSecure: false }),
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
