import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { Scope } from '../../contract/index.ts';
import { Coalescer } from '../db/coalesce.ts';
import type { Reader } from '../db/connection.ts';
import type { Database, Lane } from '../db/database.ts';
import { Deadline } from '../deadline.ts';
import { inList } from '../db/in-list.ts';
import type { Bytes } from '../db/values.ts';
import { WriteBehind } from '../db/write-behind.ts';
import { AppError } from '../errors.ts';
import type { KeyColumns } from './entity.ts';
import { hashKey, isWellFormedKey } from './format.ts';
import { KEY_COLUMNS, keyInfo, type KeyInfo, storeLastUses } from './service.ts';

/** Who calls: a user by one of their keys. */
export interface Caller {
  userId: string;
  key: { id: string; name: string; scopes: Scope[]; expiresAt: Date | null };
}

/** A revocation by another process bites after this time at the latest. */
const REMEMBER_MS = 500;
const REMEMBERED_KEYS = 10_000;
const LAST_USE_DELAY_MS = 5000;
/** A look-up is none of those who wait for it, so it has a time of its own: a thousand times what it takes. */
const READ_TIMEOUT_MS = 5000;

/** The keys with these hashes, or undefined. */
const readKeys = async (reader: Reader, hashes: readonly Buffer[]): Promise<(KeyInfo | undefined)[]> => {
  const { sql, parameters } = inList(hashes);
  const rows = await reader.read<KeyColumns & { key_hash: Bytes }>(
    `SELECT key_hash, ${KEY_COLUMNS} FROM api_keys WHERE key_hash IN (${sql})`,
    parameters,
  );
  return hashes.map((hash) => {
    const row = rows.find(({ key_hash: found }) => hash.equals(found));
    return row && keyInfo(row);
  });
};

const readInTime = async (lane: Lane, hashes: readonly Buffer[]): Promise<(KeyInfo | undefined)[]> => {
  const deadline = new Deadline(READ_TIMEOUT_MS);
  try {
    return await readKeys(lane.within(deadline), hashes);
  } finally {
    deadline.close();
  }
};

/** Recognises keys. What it read of a key it believes for half a second. */
export class KeyVerifier {
  readonly #now: () => Date;
  readonly #known: LRUCache<string, Promise<KeyInfo | undefined>>;
  readonly #keys: Coalescer<Buffer, KeyInfo | undefined>;
  readonly #uses: WriteBehind<Date>;

  constructor(db: Database, log: Logger, now: () => Date) {
    this.#now = now;
    this.#known = new LRUCache({ max: REMEMBERED_KEYS, ttl: REMEMBER_MS });
    this.#keys = new Coalescer({ run: (hashes) => readInTime(db.keys, hashes) });
    this.#uses = new WriteBehind<Date>({
      delayMs: LAST_USE_DELAY_MS,
      merge: (_, later) => later,
      write: (uses, deadline) => storeLastUses(db.background, uses, deadline),
      log,
    });
  }

  /**
   * The caller whose key this is.
   * @throws AppError KEY_MALFORMED, KEY_UNKNOWN, KEY_REVOKED, KEY_EXPIRED, DATABASE_UNAVAILABLE
   */
  async verify(key: string): Promise<Caller> {
    if (!isWellFormedKey(key)) throw new AppError('KEY_MALFORMED');
    const info = await this.#find(hashKey(key));
    if (!info) throw new AppError('KEY_UNKNOWN');
    if (info.revokedAt !== null) throw new AppError('KEY_REVOKED');
    const now = this.#now();
    if (info.expiresAt !== null && info.expiresAt <= now) throw new AppError('KEY_EXPIRED');
    this.#uses.add(info.id, now);
    const { id, name, scopes, expiresAt } = info;
    return { userId: info.userId, key: { id, name, scopes, expiresAt } };
  }

  /** Stores when keys were last used. */
  flush(): Promise<void> {
    return this.#uses.flush();
  }

  /** Stores when keys were last used, as far as this is done until the deadline. */
  close(deadline: Deadline): Promise<void> {
    return this.#uses.close(deadline);
  }

  #find(hash: Buffer): Promise<KeyInfo | undefined> {
    const name = hash.toString('base64');
    const remembered = this.#known.get(name);
    if (remembered) return remembered;
    const found = this.#keys.load(hash);
    this.#known.set(name, found);
    found.catch(() => this.#known.delete(name));
    return found;
  }
}
