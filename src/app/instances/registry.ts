import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { LessThan, MoreThan } from 'typeorm';
import type { WritePause } from '../../db/batching/write-buffer.ts';
import type { Reader } from '../../db/connection.ts';
import type { WorkloadPool } from '../../db/workload-pool.ts';
import { newId } from '../../db/values.ts';
import type { Deadline } from '../../base/deadline.ts';
import { release } from '../../base/version.ts';
import { instancesIn } from './entity.ts';

/** How often an instance says that it runs. */
const INTERVAL_MS = 30_000;
/** An instance that was not seen for this time has ended without a word. */
const LIVE_MS = 100_000;
/** For how long the rows of such instances are kept. */
export const KEPT_MS = 86_400_000;
const HOST_LENGTH = 200;

/** A running instance. */
export interface Instance {
  id: string;
  host: string;
  version: string;
  /** The number of its processes that answer requests. */
  workers: number;
  /** UTC, ISO 8601. */
  seenAt: string;
}

interface RegistryOptions {
  workers: number;
  now: () => Date;
  log: Logger;
  pause: WritePause;
}

/** Keeps the row of this instance, by which operators see which instances run, and which versions. */
export class InstanceRegistry {
  readonly #db: Pick<WorkloadPool, 'transaction'>;
  readonly #options: RegistryOptions;
  readonly #id: string;
  #timer: NodeJS.Timeout | undefined;
  #storing: Promise<void> = Promise.resolve();

  constructor(db: Pick<WorkloadPool, 'transaction'>, options: RegistryOptions) {
    this.#db = db;
    this.#options = options;
    this.#id = newId(options.now());
  }

  /** Stores the row now, and again and again until it is closed. */
  start(): void {
    if (this.#timer || this.#options.pause.isPermanent) return;
    const store = (): void => void (this.#storing = this.#store());
    store();
    this.#timer = setInterval(store, INTERVAL_MS).unref();
  }

  /** Removes the row, as far as the deadline allows. Never rejects. */
  async close(deadline: Deadline): Promise<void> {
    if (!this.#timer) return;
    clearInterval(this.#timer);
    await deadline.race(this.#remove(deadline)).catch(() => undefined);
  }

  async #remove(deadline: Deadline): Promise<void> {
    await this.#storing;
    if (await this.#options.pause.isOn()) return;
    const remove = this.#db.transaction((tx) => instancesIn(tx).delete({ id: this.#id }), deadline);
    await remove.catch(() => undefined);
  }

  /** Never rejects: the service runs as well without the row. */
  async #store(): Promise<void> {
    const { workers, now, log, pause } = this.#options;
    if (await pause.isOn()) return;
    const row = { id: this.#id, host: hostname().slice(0, HOST_LENGTH), version: release, workers, seenAt: now() };
    try {
      await this.#db.transaction(async (tx) => {
        await instancesIn(tx).delete({ id: this.#id });
        await instancesIn(tx).insert(row);
      });
    } catch (error) {
      log.debug({ err: error }, 'the row of this instance could not be stored');
    }
  }
}

/** The instances that run, the oldest first. */
export const liveInstances = async (reader: Pick<Reader, 'manager'>, now: Date): Promise<Instance[]> => {
  const rows = await instancesIn(reader).find({
    where: { seenAt: MoreThan(new Date(now.getTime() - LIVE_MS)) },
    order: { id: 'ASC' },
  });
  return rows.map(({ seenAt, ...row }) => ({ ...row, seenAt: seenAt.toISOString() }));
};

/** Deletes the rows of instances that ended long ago without a word. Returns false: there are never many. */
export const sweepInstances = async (db: Pick<WorkloadPool, 'transaction'>, now: Date): Promise<boolean> => {
  const end = new Date(now.getTime() - KEPT_MS);
  await db.transaction((tx) => instancesIn(tx).delete({ seenAt: LessThan(end) }));
  return false;
};
