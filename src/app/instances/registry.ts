import { hostname } from 'node:os';
import type { Logger } from 'pino';
import type { WritePause } from '../../db/batching/write-buffer.ts';
import type { Reader } from '../../db/connection.ts';
import { insertInto, insertValues } from '../../db/sql/insert.ts';
import type { WorkloadPool } from '../../db/workload-pool.ts';
import { type Bytes, idFromBytes, newId, storedIdToBytes, timeFromDb, timeToDb } from '../../db/values.ts';
import type { Deadline } from '../../deadline.ts';
import { release } from '../../version.ts';
import type { InstanceColumns } from './entity.ts';

/** How often an instance says that it runs. */
const INTERVAL_MS = 30_000;
/** An instance that was not seen for this time has ended without a word. */
const LIVE_MS = 100_000;
/** For how long the rows of such instances are kept. */
export const KEPT_MS = 86_400_000;
const HOST_LENGTH = 200;

const insertion = insertInto('instances', ['id', 'host', 'version', 'workers', 'seen_at']);

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
  readonly #id: Bytes;
  #timer: NodeJS.Timeout | undefined;
  #storing: Promise<void> = Promise.resolve();

  constructor(db: Pick<WorkloadPool, 'transaction'>, options: RegistryOptions) {
    this.#db = db;
    this.#options = options;
    this.#id = storedIdToBytes(newId(options.now()));
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
    const remove = this.#db.transaction((tx) => tx.execute('DELETE FROM instances WHERE id = ?', [this.#id]), deadline);
    await remove.catch(() => undefined);
  }

  /** Never rejects: the service runs as well without the row. */
  async #store(): Promise<void> {
    const { workers, now, log, pause } = this.#options;
    if (await pause.isOn()) return;
    const row = [this.#id, hostname().slice(0, HOST_LENGTH), release, workers, timeToDb(now())] as const;
    try {
      await this.#db.transaction(async (tx) => {
        await tx.execute('DELETE FROM instances WHERE id = ?', [this.#id]);
        await insertValues(tx, insertion, [row]);
      });
    } catch (error) {
      log.debug({ err: error }, 'the row of this instance could not be stored');
    }
  }
}

/** The instances that run, the oldest first. */
export const liveInstances = async (reader: Pick<Reader, 'read'>, now: Date): Promise<Instance[]> => {
  const since = timeToDb(new Date(now.getTime() - LIVE_MS));
  const rows = await reader.read<InstanceColumns>(
    'SELECT id, host, version, workers, seen_at FROM instances WHERE seen_at > ? ORDER BY id',
    [since],
  );
  return rows.map(({ id, host, version: its, workers, seen_at: seenAt }) => ({
    id: idFromBytes(id),
    host,
    version: its,
    workers,
    seenAt: timeFromDb(seenAt),
  }));
};

/** Deletes the rows of instances that ended long ago without a word. Returns false: there are never many. */
export const sweepInstances = async (db: Pick<WorkloadPool, 'transaction'>, now: Date): Promise<boolean> => {
  const end = timeToDb(new Date(now.getTime() - KEPT_MS));
  await db.transaction((tx) => tx.execute('DELETE FROM instances WHERE seen_at < ?', [end]));
  return false;
};
