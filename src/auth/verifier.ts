import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { atMost, expiringAfter } from '../base/cache.ts';
import { BatchLoader } from '../db/batching/batch-loader.ts';
import type { Reader } from '../db/connection.ts';
import type { Database } from '../db/database.ts';
import type { WorkloadPool } from '../db/workload-pool.ts';
import { Deadline } from '../base/deadline.ts';
import { inList } from '../db/sql/in-list.ts';
import { picked, type RowOf, rowOf, selected, type StoredOf } from '../db/sql/table.ts';
import { WriteBuffer, type WritePause } from '../db/batching/write-buffer.ts';
import { AppError } from '../base/errors.ts';
import { apiKeyColumns } from './entity.ts';
import { hashKey, isWellFormedKey } from './format.ts';
import { keyMistake } from './credential-hints.ts';
import { type KeyInfo, storeLastUses } from './service.ts';

/** The caller: a user, identified by one of the user's keys. */
export interface Caller {
  userId: string;
  key: Pick<KeyInfo, 'id' | 'name' | 'scopes' | 'expiresAt'>;
}

/** The limit of look-ups of unknown keys, since each costs a query. */
export interface KeyLookUp {
  /** @throws AppError RATE_LIMITED */
  reserve: () => void | Promise<void>;
  /** Called when the key exists. */
  refund: () => void;
}

/** A revocation or suspension by another process takes effect after this time at the latest. */
const REMEMBER_MS = 500;
const REMEMBERED_KEYS = 10_000;
const LAST_USE_DELAY_MS = 5000;
/** Look-ups are shared, so they have their own timeout: a thousand times their usual time. */
const READ_TIMEOUT_MS = 5000;

const knownColumns = picked(apiKeyColumns, 'keyHash', 'id', 'userId', 'name', 'scopes', 'expiresAt', 'revokedAt');

/** A cached key. A transaction that makes another key with it reads it again. */
type KnownKey = RowOf<typeof knownColumns> & { isSuspended: boolean };

/** The keys with these hashes, or undefined. SQL: calls whose key is not cached wait for it. */
const readKeys = async (reader: Reader, hashes: readonly Buffer[]): Promise<(KnownKey | undefined)[]> => {
  const { sql, parameters } = inList(hashes);
  const rows = await reader.read<StoredOf<typeof knownColumns> & { suspended: number | null }>(
    `SELECT ${selected(knownColumns, 'k')},
      (SELECT u.suspended_at IS NOT NULL FROM users u WHERE u.id = k.user_id) AS suspended
    FROM api_keys k WHERE k.key_hash IN (${sql})`,
    parameters,
  );
  return hashes.map((hash) => {
    const row = rows.find(({ keyHash }) => hash.equals(keyHash));
    return row && { ...rowOf(knownColumns, row), isSuspended: row.suspended === 1 };
  });
};

const readInTime = async (workload: WorkloadPool, hashes: readonly Buffer[]): Promise<(KnownKey | undefined)[]> => {
  const deadline = new Deadline(READ_TIMEOUT_MS);
  try {
    return await readKeys(workload.within(deadline), hashes);
  } finally {
    deadline.close();
  }
};

/** Verifies keys. It caches a key for half a second. */
export class KeyVerifier {
  readonly #now: () => Date;
  readonly #known = new LRUCache<string, Promise<KnownKey | undefined>>({
    ...atMost(REMEMBERED_KEYS),
    ...expiringAfter(REMEMBER_MS),
  });
  /** Keys that were found recently. Any address may look them up, however many wrong keys it sends. */
  readonly #right = new LRUCache<string, true>(atMost(REMEMBERED_KEYS));
  readonly #keys: BatchLoader<Buffer, KnownKey | undefined>;
  /** The times of last uses that are not stored yet. */
  readonly uses: WriteBuffer<Date>;
  /** Hits and misses of the cache. */
  readonly lookUps = { hits: 0, misses: 0 };

  constructor(db: Database, log: Logger, now: () => Date, pause?: WritePause) {
    this.#now = now;
    this.#keys = new BatchLoader({
      run: (hashes) => readInTime(db.keys, hashes),
      note: db.observer?.coalesced('keys'),
    });
    this.uses = new WriteBuffer<Date>({
      delayMs: LAST_USE_DELAY_MS,
      merge: (_, later) => later,
      write: (uses, deadline) => storeLastUses(db.background, uses, deadline),
      log,
      pause,
    });
  }

  /**
   * The caller with this key.
   * @throws AppError KEY_MALFORMED, KEY_UNKNOWN, KEY_REVOKED, KEY_EXPIRED, USER_SUSPENDED, DATABASE_UNAVAILABLE, and
   * the errors of `lookUp`
   */
  async verify(key: string, lookUp?: KeyLookUp): Promise<Caller> {
    const { id, userId, name, scopes, expiresAt } = await this.#valid(key, lookUp);
    this.uses.add(id, this.#now());
    return { userId, key: { id, name, scopes, expiresAt } };
  }

  /** Verifies a key that is in use already, without counting a use. @throws AppError as `verify` does */
  async assertValid(key: string): Promise<void> {
    await this.#valid(key, undefined);
  }

  async #valid(key: string, lookUp: KeyLookUp | undefined): Promise<KnownKey> {
    if (!isWellFormedKey(key)) throw new AppError('KEY_MALFORMED', { hint: keyMistake(key) });
    const info = await this.#find(hashKey(key), lookUp);
    if (!info) throw new AppError('KEY_UNKNOWN');
    if (info.revokedAt !== null) throw new AppError('KEY_REVOKED');
    if (info.expiresAt !== null && info.expiresAt <= this.#now()) throw new AppError('KEY_EXPIRED');
    if (info.isSuspended) throw new AppError('USER_SUSPENDED');
    return info;
  }

  /** Stores the times of last uses. */
  flush(): Promise<void> {
    return this.uses.flush();
  }

  /** Stores the times of last uses, as far as the deadline allows. */
  close(deadline: Deadline): Promise<void> {
    return this.uses.close(deadline);
  }

  #find(hash: Buffer, lookUp: KeyLookUp | undefined): Promise<KnownKey | undefined> {
    const name = hash.toString('base64');
    const remembered = this.#known.get(name);
    if (remembered) {
      this.lookUps.hits += 1;
      return remembered;
    }
    this.lookUps.misses += 1;
    const found = lookUp && !this.#right.has(name) ? this.#findNew(hash, name, lookUp) : this.#keys.load(hash);
    this.#known.set(name, found);
    found.catch(() => this.#known.delete(name));
    return found;
  }

  async #findNew(hash: Buffer, name: string, lookUp: KeyLookUp): Promise<KnownKey | undefined> {
    await lookUp.reserve();
    const info = await this.#keys.load(hash);
    if (info) {
      this.#right.set(name, true);
      lookUp.refund();
    }
    return info;
  }
}
