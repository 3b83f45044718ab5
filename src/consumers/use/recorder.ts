import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { type AnyRoute, holdsKey, type InputParts, inputPartsOf, markParts } from '../../../contract/index.ts';
import { atMost } from '../../base/cache.ts';
import type { Deadline } from '../../base/deadline.ts';
import { WriteBuffer, type WritePause } from '../../db/batching/write-buffer.ts';
import type { WorkloadPool } from '../../db/workload-pool.ts';
import type { AppError } from '../../base/errors.ts';
import type { FailedCall } from '../entity.ts';
import { dayOf, storeCounts, addParts, anonymousConsumer, keyConsumer, nameOf, SHARED } from './store.ts';
import { addFailedCalls, failedCallOf, lastOf } from './failed-calls.ts';

/** A crash loses the uses of this period. A longer period makes fewer writes. */
const DELAY_MS = 10_000;
/** Callers look for failures at once. After this time, every instance has stored its own. */
const FAILURES_DELAY_MS = 2000;
/** The most consumers whose day is cached. Uses of the others are written again, which changes nothing. */
const REMEMBERED = 10_000;
/** The most distinct clients of a key on a day, and the most distinct anonymous clients on a day. */
const MAX_CLIENTS = 8;
const MAX_ANONYMOUS = 256;
const OTHER = 'other';
/** A part that does not belong to the input. */
const IDEMPOTENCY_PART = 'Idempotency-Key';

/** The first product of a `User-Agent` (RFC 9110, section 10.1.5), and the contract that our SDKs name after it. */
const AGENT = /^([!#$%&'*+.^_`|~\w-]{1,40}(?:\/[!#$%&'*+.^_`|~\w-]{1,20})?)(?: \(contract ([\d.]{1,12}))?/;
const UNNAMED = 'unnamed';

/** The client in a `User-Agent`, at most 83 characters: `content-gateway-python/1.1.0 contract/1.1.0`, `curl/8.5.0`. */
const clientOf = (agent = ''): string => {
  const [, product = UNNAMED, contract] = AGENT.exec(agent) ?? [];
  if (holdsKey(product)) return UNNAMED;
  return contract === undefined ? product : `${product} contract/${contract}`;
};

/** The uses of a consumer on a day, as known to this process. */
interface ConsumerDay {
  day: string;
  clients: Set<string>;
  /** By operation: the numbers of parts, and last whether an `Idempotency-Key` was sent. */
  seen: Map<string, Uint8Array>;
}

/** The caller of an operation. */
export interface Consumer {
  /** Undefined for an anonymous caller. */
  keyId: string | undefined;
  userAgent: string | undefined;
  idempotencyKey: string | undefined;
}

/**
 * Records who uses which parts of the API, but no value except words of the contract. Calls by key, operation and day
 * are counted in memory and stored together. The parts of an operation that a consumer uses are stored at their first
 * use on a day. The last failed calls of each key are stored, too.
 */
export class UseRecorder {
  readonly #now: () => Date;
  /** The counts not yet stored. */
  readonly counts: WriteBuffer<number>;
  /** The parts not yet stored. */
  readonly parts: WriteBuffer<readonly string[]>;
  /** The failed calls not yet stored, by key. */
  readonly failures: WriteBuffer<readonly FailedCall[]>;
  readonly #inputs = new Map<string, InputParts>();
  readonly #days = new LRUCache<string, ConsumerDay>(atMost(REMEMBERED));
  #anonymous = { day: '', clients: new Set<string>() };

  constructor(db: WorkloadPool, log: Logger, now: () => Date, pause?: WritePause) {
    this.#now = now;
    const shared = { log, pause };
    this.counts = new WriteBuffer<number>({
      ...shared,
      delayMs: DELAY_MS,
      merge: (earlier, later) => earlier + later,
      write: (counts, deadline) => db.transaction((tx) => storeCounts(tx, counts), deadline),
    });
    this.parts = new WriteBuffer<readonly string[]>({
      ...shared,
      delayMs: DELAY_MS,
      merge: (earlier, later) => [...new Set([...earlier, ...later])],
      write: (uses, deadline) => {
        // In the order of the primary key, so that transactions do not deadlock.
        const rows = Array.from(uses, ([name, parts]) => {
          const [consumer = '', day = '', operation = ''] = name.split('\n');
          return { consumer, day, operation, parts };
        }).toSorted((a, b) => (a.consumer + a.day + a.operation < b.consumer + b.day + b.operation ? -1 : 1));
        return db.transaction((tx) => addParts(tx, rows), deadline, { isIdempotent: true });
      },
    });
    this.failures = new WriteBuffer<readonly FailedCall[]>({
      ...shared,
      delayMs: FAILURES_DELAY_MS,
      merge: (earlier, later) => lastOf([...earlier, ...later]),
      write: (calls, deadline) => db.transaction((tx) => addFailedCalls(tx, calls, now()), deadline),
    });
  }

  /** Counts one call with a key. */
  count(keyId: string, operation: string): void {
    this.counts.add(`${keyId} ${dayOf(this.#now())} ${operation}`, 1);
  }

  /** Records which parts of an operation a call uses. `input` is the input as sent, valid or not. */
  note(route: AnyRoute, { keyId, userAgent, idempotencyKey }: Consumer, input: unknown): void {
    const day = dayOf(this.#now());
    const client = clientOf(userAgent);
    const consumer = keyId === undefined ? anonymousConsumer(this.#toldApart(client, day)) : keyConsumer(keyId);
    const known = this.#dayOf(consumer, day);
    if (keyId !== undefined && !known.clients.has(client)) this.#noteClient(known, consumer, client);
    const { id } = route.metadata;
    const { names, root } = this.#inputOf(route);
    const seen = known.seen.get(id) ?? new Uint8Array(names.length + 1);
    let isNew = markParts(root, input, seen);
    if (idempotencyKey !== undefined && seen[names.length] === 0) {
      seen[names.length] = 1;
      isNew = true;
    }
    if (!isNew && known.seen.has(id)) return;
    known.seen.set(id, seen);
    const parts = [...names, IDEMPOTENCY_PART].filter((_, number) => seen[number] === 1);
    this.parts.add(nameOf({ consumer, day, operation: id }), parts);
  }

  /** Records a failed call with a key. */
  fail(keyId: string, operation: string, requestId: string, error: AppError): void {
    this.failures.add(keyId, [failedCallOf(operation, requestId, error, this.#now())]);
  }

  /** Stores all pending uses. */
  async flush(): Promise<void> {
    await Promise.all([this.counts.flush(), this.parts.flush(), this.failures.flush()]);
  }

  /** Stores all pending uses that the deadline allows. */
  async close(deadline: Deadline): Promise<void> {
    await Promise.all([this.counts.close(deadline), this.parts.close(deadline), this.failures.close(deadline)]);
  }

  #dayOf(consumer: string, day: string): ConsumerDay {
    const known = this.#days.get(consumer);
    if (known?.day === day) return known;
    const made = { day, clients: new Set<string>(), seen: new Map<string, Uint8Array>() };
    this.#days.set(consumer, made);
    return made;
  }

  #inputOf(route: AnyRoute): InputParts {
    const { id } = route.metadata;
    const known = this.#inputs.get(id) ?? inputPartsOf(route);
    this.#inputs.set(id, known);
    return known;
  }

  #noteClient(known: ConsumerDay, consumer: string, client: string): void {
    if (known.clients.size > MAX_CLIENTS) return;
    known.clients.add(client);
    const name = known.clients.size > MAX_CLIENTS ? OTHER : client;
    this.parts.add(nameOf({ consumer, day: known.day, operation: SHARED }), [name]);
  }

  /** The client, or a common name after too many clients on a day: anyone may invent names. */
  #toldApart(client: string, day: string): string {
    if (this.#anonymous.day !== day) this.#anonymous = { day, clients: new Set() };
    const { clients } = this.#anonymous;
    if (!clients.has(client) && clients.size >= MAX_ANONYMOUS) return OTHER;
    clients.add(client);
    return client;
  }
}
