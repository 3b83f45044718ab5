import { type FindOptionsWhere, IsNull, LessThan, LessThanOrEqual, MoreThan, Not } from 'typeorm';
import type { KeyState, Scope } from '../../contract/index.ts';
import { type Actor, record } from './audit/log.ts';
import type { Reader, Transaction } from '../db/connection.ts';
import type { Database } from '../db/database.ts';
import type { Dialect } from '../db/dialect.ts';
import type { WorkloadPool } from '../db/workload-pool.ts';
import type { Deadline } from '../base/deadline.ts';
import { currentDate } from '../base/runtime.ts';
import { inList, padded } from '../db/sql/in-list.ts';
import { lockRows } from '../db/sql/lock-rows.ts';
import { isId, newId, storedIdToBytes, timeToDb } from '../db/values.ts';
import { AppError } from '../base/errors.ts';
import { type ApiKeyRow, keysIn } from './entity.ts';
import { displayPrefix, generateKey, hashKey } from './format.ts';

/** The public data of a key, without the key itself. Its lifetime, which rotations keep, is null for ever. */
export type KeyInfo = Omit<ApiKeyRow, 'keyHash'>;

/** The stored lifetime of a key that never expires. */
const FOREVER_MS = 0;

const storedLifetime = (lifetimeMs: number | null): number =>
  lifetimeMs === null ? FOREVER_MS : Math.max(lifetimeMs, 1);

const msBetween = (begin: Date, end: Date | null): number | null => end && end.getTime() - begin.getTime();

/** The end of a key that begins to work at a time; null for never. */
export const endAfter = (begin: Date, lifetimeMs: number | null): Date | null =>
  lifetimeMs === null ? null : new Date(begin.getTime() + lifetimeMs);

/** The public data of a stored key. */
export const keyInfo = (key: ApiKeyRow): KeyInfo => {
  const { keyHash: _, ...shown } = key;
  const lifetimeMs = key.lifetimeMs ?? msBetween(key.createdAt, key.expiresAt);
  return { ...shown, lifetimeMs: lifetimeMs === FOREVER_MS ? null : lifetimeMs };
};

/** Whether a key is accepted, and if not, why. An expired key that was revoked counts as revoked. */
export const stateOf = ({ revokedAt, expiresAt }: Pick<KeyInfo, 'revokedAt' | 'expiresAt'>, now: Date): KeyState => {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && expiresAt <= now ? 'expired' : 'active';
};

export interface NewKey {
  userId: string;
  name: string;
  scopes: readonly Scope[];
  /** null for a key that never expires. */
  expiresAt: Date | null;
  /** As in `KeyInfo`; by default, the time until it expires. */
  lifetimeMs?: number | null;
  madeBy?: string | null;
}

/** The part of a key that the audit log records. */
export const traceOf = ({ userId, name, scopes, expiresAt }: NewKey): object => ({ userId, name, scopes, expiresAt });

/** As `createKey`, within a transaction and for an existing user. */
export const insertKey = async (
  tx: Transaction,
  wanted: NewKey,
  now: Date,
  key = generateKey(),
  id = newId(now),
): Promise<{ id: string; key: string }> => {
  await keysIn(tx).insert({
    id,
    userId: wanted.userId,
    keyHash: hashKey(key),
    prefix: displayPrefix(key),
    name: wanted.name,
    scopes: [...new Set(wanted.scopes)],
    expiresAt: wanted.expiresAt,
    createdAt: now,
    lifetimeMs: storedLifetime(wanted.lifetimeMs === undefined ? msBetween(now, wanted.expiresAt) : wanted.lifetimeMs),
    madeBy: wanted.madeBy ?? null,
  });
  return { id, key };
};

/**
 * Issues a key. Only the reply ever shows it.
 * @throws AppError USER_NOT_FOUND
 */
export const createKey = (db: Database, wanted: NewKey, now: Date, by?: Actor): Promise<{ id: string; key: string }> =>
  db.transaction(async (tx) => {
    const exists = isId(wanted.userId) && (await tx.manager.existsBy('User', { id: wanted.userId }));
    if (!exists) throw new AppError('USER_NOT_FOUND');
    const made = await insertKey(tx, wanted, now);
    await record(tx, by, { action: 'keys create', subject: `key ${made.id}`, after: traceOf(wanted) });
    return made;
  });

/** The conditions on keys of a state, one of which must hold: see `stateOf`. */
const inState: Record<KeyState, (now: Date) => FindOptionsWhere<ApiKeyRow>[]> = {
  active: (now) => [IsNull(), MoreThan(now)].map((expiresAt) => ({ revokedAt: IsNull(), expiresAt })),
  expired: (now) => [{ revokedAt: IsNull(), expiresAt: LessThanOrEqual(now) }],
  revoked: () => [{ revokedAt: Not(IsNull()) }],
};

/** The filter of a list of keys. */
interface KeyFilter {
  /** Only keys that were made and last used before this time. */
  unusedSince?: Date | undefined;
  state?: KeyState | undefined;
}

/** All keys, or one user's keys, that a filter accepts at a time, oldest first. */
export const listKeys = async (
  db: Database,
  userId?: string,
  { unusedSince, state }: KeyFilter = {},
  now = currentDate(),
): Promise<KeyInfo[]> => {
  if (userId !== undefined && !isId(userId)) return [];
  const states = state ? inState[state](now) : [{}];
  const unused = unusedSince
    ? [IsNull(), LessThan(unusedSince)].map((lastUsedAt) => ({ createdAt: LessThan(unusedSince), lastUsedAt }))
    : [{}];
  const rows = await keysIn(db).find({
    where: states.flatMap((one) => unused.map((other) => ({ ...(userId && { userId }), ...one, ...other }))),
    order: { id: 'ASC' },
  });
  return rows.map(keyInfo);
};

/**
 * The key with this id; with an owner, a key of this user. `lock` also locks it.
 * @throws AppError KEY_UNKNOWN, or API_KEY_NOT_FOUND where it has to be an owner's
 */
export const readKey = async (
  reader: Pick<Reader, 'manager'>,
  id: string,
  { owner, lock = {} }: { owner?: string; lock?: Dialect['lockingRows'] } = {},
): Promise<KeyInfo> => {
  const where = { id, ...(owner !== undefined && { userId: owner }) };
  const row = isId(id) && (await keysIn(reader).findOne({ where, ...lock }));
  if (!row) throw new AppError(owner === undefined ? 'KEY_UNKNOWN' : 'API_KEY_NOT_FOUND');
  return keyInfo(row);
};

/** Locks the user of keys, which are made, replaced and ended one after the other. */
export const lockKeysOf = (tx: Transaction, userId: string): Promise<unknown> =>
  lockRows(tx, 'users', [storedIdToBytes(userId)]);

/** Locks and returns the key with this id. @throws AppError KEY_UNKNOWN */
const lockKey = async (tx: Transaction, id: string): Promise<KeyInfo> => {
  await lockKeysOf(tx, (await readKey(tx, id)).userId);
  return readKey(tx, id, { lock: tx.dialect.lockingRows });
};

/** The condition on the active keys of a user. */
export const activeOf = (userId: string, now: Date) => inState.active(now).map((where) => ({ userId, ...where }));

/** The active keys that a key has made, directly or through other keys. */
const activeMadeBy = async (tx: Transaction, { id, userId }: KeyInfo, now: Date): Promise<KeyInfo[]> => {
  const isMade = { userId, madeBy: Not(IsNull()) };
  const active = await keysIn(tx).find({ where: activeOf(userId, now).map((where) => ({ ...where, ...isMade })) });
  if (active.length === 0) return [];
  const made = await keysIn(tx).find({ select: { id: true, madeBy: true }, where: isMade });
  const makers = new Map(made.map((key) => [key.id, key.madeBy]));
  const isFrom = ({ madeBy }: ApiKeyRow): boolean => {
    let maker: string | null | undefined = madeBy;
    while (typeof maker === 'string' && maker !== id) maker = makers.get(maker);
    return maker === id;
  };
  return active.filter(isFrom).map(keyInfo);
};

const end = async (tx: Transaction, key: KeyInfo, now: Date, by?: Actor): Promise<void> => {
  if (key.revokedAt !== null) return;
  await keysIn(tx).update({ id: key.id }, { revokedAt: now });
  await record(tx, by, {
    action: 'keys revoke',
    subject: `key ${key.id}`,
    before: { ...traceOf(key), revokedAt: null },
    after: { revokedAt: now },
  });
};

/**
 * Ends a key at once, within a transaction that has locked it; with `withMade`, also all keys that it has made,
 * directly or through others. Repeating it changes nothing. @returns the number of such keys that were active
 */
export const endKey = async (
  tx: Transaction,
  key: KeyInfo,
  { withMade, now }: { withMade: boolean; now: Date },
  by?: Actor,
): Promise<number> => {
  const made = await activeMadeBy(tx, key, now);
  for (const one of withMade ? [key, ...made] : [key]) await end(tx, one, now, by);
  return made.length;
};

/** As `endKey`. @throws AppError KEY_UNKNOWN */
export const revokeKey = (db: Database, id: string, now: Date, by?: Actor, withMade = false): Promise<number> =>
  db.transaction(async (tx) => endKey(tx, await lockKey(tx, id), { withMade, now }, by));

/** A key that replaces another one. */
interface Replacement {
  id: string;
  key: string;
  expiresAt: Date | null;
  /** The end of the replaced key. */
  previousUntil: Date;
}

/** As `rotateKey`, with the `wanted` key, within a transaction that has locked the old one, which is active. */
export const replaceKey = async (
  tx: Transaction,
  old: KeyInfo,
  { wanted, overlapMs }: { wanted: NewKey; overlapMs: number },
  now: Date,
  by?: Actor,
): Promise<Replacement> => {
  const overlapEnd = new Date(now.getTime() + overlapMs);
  const previousUntil = old.expiresAt !== null && old.expiresAt < overlapEnd ? old.expiresAt : overlapEnd;
  const lifetimeMs = storedLifetime(old.lifetimeMs);
  await keysIn(tx).update({ id: old.id }, { expiresAt: previousUntil, lifetimeMs });
  const made = await insertKey(tx, wanted, now);
  await record(tx, by, {
    action: 'keys rotate',
    subject: `key ${old.id}`,
    before: traceOf(old),
    after: { expiresAt: previousUntil, replacedBy: { id: made.id, ...traceOf(wanted) } },
  });
  return { ...made, expiresAt: wanted.expiresAt, previousUntil };
};

/**
 * Issues a key with the owner, name, scopes and lifetime of another one, which still works for `overlapMs`. The maker
 * of the other key counts as its maker.
 * @throws AppError KEY_UNKNOWN, KEY_REVOKED, KEY_EXPIRED
 */
export const rotateKey = (db: Database, id: string, overlapMs: number, now: Date, by?: Actor): Promise<Replacement> =>
  db.transaction(async (tx) => {
    const old = await lockKey(tx, id);
    if (old.revokedAt !== null) throw new AppError('KEY_REVOKED');
    if (stateOf(old, now) === 'expired') throw new AppError('KEY_EXPIRED');
    const wanted = { ...old, expiresAt: endAfter(now, old.lifetimeMs) };
    return replaceKey(tx, old, { wanted, overlapMs }, now, by);
  });

/**
 * Stores the times at which keys were last used, unless another process stored a later time. SQL: one statement for all
 * keys of some seconds.
 */
export const storeLastUses = (db: WorkloadPool, uses: ReadonlyMap<string, Date>, deadline?: Deadline): Promise<void> =>
  db.transaction(
    async (tx) => {
      const times = padded([...uses].toSorted(([a], [b]) => (a < b ? -1 : 1))).map(
        ([id, time]) => [storedIdToBytes(id), timeToDb(time)] as const,
      );
      const ids = inList(times.map(([id]) => id));
      const time = `CASE id ${'WHEN ? THEN ? '.repeat(times.length)}END`;
      await tx.execute(
        `UPDATE api_keys SET last_used_at = ${time}
        WHERE id IN (${ids.sql}) AND (last_used_at IS NULL OR last_used_at < ${time})`,
        [...times.flat(), ...ids.parameters, ...times.flat()],
      );
    },
    deadline,
    { isIdempotent: true },
  );
