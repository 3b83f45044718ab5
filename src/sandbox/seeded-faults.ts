import { createHash } from 'node:crypto';
import type { Request, Response } from 'express';
import { LRUCache } from 'lru-cache';
import { BATCH_BODY_LIMIT, procedures } from '../../contract/index.ts';
import { AppError } from '../base/errors.ts';
import { BodyReader } from '../http/message/body.ts';
import { API_PATH } from '../http/middleware/preconditions.ts';
import { Random } from './seed/random.ts';
import { type FaultPlace, faultText, type InjectedFault, places } from './fault-injection.ts';
import { isInitialId } from './sandbox.ts';

/** The length of a series of equal calls, of which only the first two may fail: a third attempt succeeds. */
const SERIES = 10;
const FIRST_FAILS = 1 / 4;
const SECOND_FAILS = 1 / 3;
const LEAST_MS = 20;
const MOST_MS = 200;
/** Statuses with a `Retry-After`, which is 0 or 1. */
const WITH_PATIENCE: readonly string[] = ['429', '503'];
/** The number of calls and ids that a space remembers, and of faults that it lists. */
const MOST_REMEMBERED = 2000;
const MOST_LISTED = 1000;
/** The characters of a digest in the list, and in names. */
const NAME_DIGITS = 8;

/** Half a refusal has lost its reason, and must not be repeated: only a request that asks for it gets it. */
const ON_DEMAND = 'truncate';
const kinds = Object.entries(places).flatMap(([place, found]) =>
  found.filter((kind) => kind !== ON_DEMAND).map((kind): InjectedFault => ({ place: place as FaultPlace, kind })),
);

const UUID = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g;
const INSTANT = /\b\d{4}-\d\d-\d\dT\d\d:\d\d[\d:.]*(?:Z|[+-]\d\d:\d\d)/g;
const CURSOR = /(?<="(?:cursor|after)"\s*:\s*)"[^"]*"/g;

const known: ReadonlySet<string> = new Set(procedures.map(({ id }) => id));
const writes: ReadonlySet<string> = new Set(procedures.filter(({ effect }) => effect === 'write').map(({ id }) => id));

/** Reads bodies that the sandbox needs before the call does. */
export class PreviewedBodies extends BodyReader {
  readonly #texts = new WeakMap<Request, Promise<string>>();

  /** Reads a body ahead of the call, for which it stays unread. */
  preview(request: Request): Promise<string> {
    const text = super.read(request, BATCH_BODY_LIMIT);
    this.#texts.set(request, text);
    return text;
  }

  override async read(request: Request, limit: number): Promise<string> {
    const previewed = this.#texts.get(request);
    if (!previewed) return super.read(request, limit);
    const text = await previewed;
    if (Buffer.byteLength(text) > limit) throw new AppError('PAYLOAD_TOO_LARGE');
    return text;
  }
}

/** A call as the seed sees it. */
export interface SandboxCall {
  /** The part of the path after that of all calls: an operation, or those of a batch. */
  operation: string;
  /** JSON, as the client wrote it. */
  input: string;
}

/** The call of a request; undefined for another request, and for an unreadable input. */
export const callOf = async (request: Request, bodies: PreviewedBodies): Promise<SandboxCall | undefined> => {
  const { method, path } = request;
  if (!path.startsWith(API_PATH) || !['GET', 'POST'].includes(method)) return undefined;
  const operation = path.slice(API_PATH.length);
  if (!operation.split(',').every((id) => known.has(id))) return undefined;
  // The call itself refuses an unreadable input.
  const input = method === 'GET' ? request.query['input'] : await bodies.preview(request).catch(() => undefined);
  return typeof input === 'string' ? { operation, input } : undefined;
};

/** The part of the seed in a call. */
export interface DrawnFault {
  fault: InjectedFault | undefined;
  /** Must get the reply of the service before a fault changes it. */
  onReply: ((body: string) => void) | undefined;
}

/** A fault that a call met. */
interface MetFault {
  operation: string;
  /** Distinguishes the call from others of the operation. It hides the input: any caller can name the space. */
  digest: string;
  /** Its number among the equal calls of the space. */
  attempt: number;
  /** In the form of `X-Sandbox-Fault`. */
  fault: string;
}

const inOrder = (a: MetFault, b: MetFault): number =>
  Number(a.operation > b.operation) - Number(a.operation < b.operation) ||
  Number(a.digest > b.digest) - Number(a.digest < b.digest) ||
  a.attempt - b.attempt;

/**
 * The faults of a space, drawn from a seed. The fault of a call depends on the seed, the space, the operation, the
 * input, and the number of equal calls before, so that concurrent calls meet the same faults as consecutive ones. In
 * inputs, the call that made an id in this run replaces the id.
 */
export class SeededFaults {
  readonly #seed: string;
  readonly #counts = new LRUCache<string, number>({ max: MOST_REMEMBERED });
  readonly #names = new LRUCache<string, string>({ max: MOST_REMEMBERED });
  readonly #met: MetFault[] = [];

  constructor(seed: number, space: string) {
    this.#seed = `${seed} ${space}`;
  }

  /** Counts a call, and draws its fault. */
  meet({ operation, input: given }: SandboxCall): DrawnFault {
    const input = this.#withoutRun(given);
    const call = createHash('sha256').update(`${operation} ${input}`).digest('base64url');
    const attempt = (this.#counts.get(call) ?? 0) + 1;
    this.#counts.set(call, attempt);
    const fault = this.#draw(call, attempt);
    if (fault) {
      this.#met.push({ operation, digest: call.slice(0, NAME_DIGITS), attempt, fault: faultText(fault) });
      if (this.#met.length > MOST_LISTED) this.#met.shift();
    }
    const isWriting = operation.split(',').some((id) => writes.has(id));
    const name = `${operation} ${call.slice(0, NAME_DIGITS)} ${attempt}`;
    return { fault, onReply: isWriting ? (body) => this.#nameIds(body, name) : undefined };
  }

  /** The last faults, in an order that does not depend on the order of the calls. */
  list(): MetFault[] {
    return this.#met.toSorted(inOrder);
  }

  #draw(call: string, attempt: number): InjectedFault | undefined {
    const random = new Random(`${this.#seed} ${call} ${Math.floor((attempt - 1) / SERIES)}`);
    const fail = (probability: number): InjectedFault | undefined => {
      if (!random.chance(probability)) return undefined;
      const fault = random.pick(kinds);
      if (WITH_PATIENCE.includes(fault.kind)) return { ...fault, 'retry-after': random.between(0, 1) };
      const takesTime = fault.kind === 'delay' || fault.kind === 'drip';
      return takesTime ? { ...fault, ms: random.between(LEAST_MS, MOST_MS) } : fault;
    };
    const first = fail(FIRST_FAILS);
    const second = first && fail(SECOND_FAILS);
    return [first, second][(attempt - 1) % SERIES];
  }

  /** An input without the parts that differ from run to run. */
  #withoutRun(input: string): string {
    return input
      .replace(CURSOR, '"<cursor>"')
      .replace(INSTANT, '<instant>')
      .replace(UUID, (id) => (isInitialId(id) ? id : `<${this.#names.get(id) ?? 'id'}>`));
  }

  /** Names the new ids in a reply by the call that made them. */
  #nameIds(body: string, call: string): void {
    for (const [index, [id]] of [...body.matchAll(UUID)].entries()) {
      if (!isInitialId(id) && !this.#names.has(id)) this.#names.set(id, `${call} ${index}`);
    }
  }
}

/** Passes the body of a reply that is sent in one piece to `onReply`. */
export const watchReply = (response: Response, onReply: (body: string) => void): void => {
  const end = response.end.bind(response);
  response.end = (given?: unknown) => {
    response.end = end;
    if (given !== undefined) onReply((given as string | Buffer).toString());
    return end(given);
  };
};
