import { IsNull, LessThan } from 'typeorm';
import type { KeyState, Scope } from '../../contract/index.ts';
import { type Actor, record } from './audit/log.ts';
import type { Reader, Transaction } from '../db/connection.ts';
import type { Database } from '../db/database.ts';
import type { Dialect } from '../db/dialect.ts';
import type { WorkloadPool } from '../db/workload-pool.ts';
import type { Deadline } from '../base/deadline.ts';
import { inList, padded } from '../db/sql/in-list.ts';
import { isId, newId, storedIdToBytes, timeToDb } from '../db/values.ts';
import { AppError } from '../base/errors.ts';
import { type ApiKeyRow, keysIn } from './entity.ts';
import { displayPrefix, generateKey, hashKey } from './format.ts';

/** A key as it may be shown: never the key itself. */
export interface KeyInfo {
  id: string;
  userId: string;
  prefix: string;
  name: string;
  scopes: Scope[];
  expiresAt: Date | null;
  revokedAt: Date | null;
  lastUsedAt: Date | null;
  createdAt: Date;
}

/** A stored key, as it may be shown. */
export const keyInfo = (key: ApiKeyRow): KeyInfo => {
  const { keyHash: _, scopes, ...shown } = key;
  return { ...shown, scopes: scopes.split(',') as Scope[] };
};

/** Whether a key is accepted, and if not, why. One that is expired and revoked is revoked. */
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
}

/** The part of a key that the audit log records. */
export const traceOf = ({ userId, name, scopes, expiresAt }: NewKey): object => ({ userId, name, scopes, expiresAt });

/** As `createKey`, within a transaction and for a user who exists. */
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
    scopes: [...new Set(wanted.scopes)].join(','),
    expiresAt: wanted.expiresAt,
    createdAt: now,
  });
  return { id, key };
};

/**
 * Issues a key. The reply is the only place where it is ever shown.
 * @throws AppError USER_NOT_FOUND
 */
export const createKey = (db: Database, wanted: NewKey, now: Date, by?: Actor): Promise<{ id: string; key: string }> =>
  db.transaction(async (tx) => {
    const isThere = isId(wanted.userId) && (await tx.manager.existsBy('User', { id: wanted.userId }));
    if (!isThere) throw new AppError('USER_NOT_FOUND');
    const made = await insertKey(tx, wanted, now);
    await record(tx, by, { action: 'keys create', subject: `key ${made.id}`, after: traceOf(wanted) });
    return made;
  });

/** All keys, or those of one user, or those that were made and last used before an instant, oldest first. */
export const listKeys = async (db: Database, userId?: string, unusedSince?: Date): Promise<KeyInfo[]> => {
  if (userId !== undefined && !isId(userId)) return [];
  const unused = unusedSince && { createdAt: LessThan(unusedSince) };
  const rows = await keysIn(db).find({
    where: [
      { ...(userId && { userId }), ...unused, ...(unused && { lastUsedAt: IsNull() }) },
      ...(unusedSince ? [{ ...(userId && { userId }), ...unused, lastUsedAt: LessThan(unusedSince) }] : []),
    ],
    order: { id: 'ASC' },
  });
  return rows.map(keyInfo);
};

/** The key with this id, if there is one. */
export const findKey = async (
  reader: Pick<Reader, 'manager'>,
  id: string,
  options: Dialect['lockingRows'] = {},
): Promise<KeyInfo | undefined> => {
  const row = isId(id) ? await keysIn(reader).findOne({ where: { id }, ...options }) : null;
  return row ? keyInfo(row) : undefined;
};

const asserted = (key: KeyInfo | undefined): KeyInfo => {
  if (!key) throw new AppError('KEY_UNKNOWN');
  return key;
};

/** The key with this id. @throws AppError KEY_UNKNOWN */
export const readKey = async (db: Database, id: string): Promise<KeyInfo> => asserted(await findKey(db, id));

/** The key with this id, locked. @throws AppError KEY_UNKNOWN */
const lockKey = async (tx: Transaction, id: string): Promise<KeyInfo> =>
  asserted(await findKey(tx, id, tx.dialect.lockingRows));

/** Ends a key at once, within a transaction that has locked it. Revoking it again changes nothing. */
export const endKey = async (tx: Transaction, key: KeyInfo, now: Date, by?: Actor): Promise<void> => {
  if (key.revokedAt !== null) return;
  await keysIn(tx).update({ id: key.id }, { revokedAt: now });
  await record(tx, by, {
    action: 'keys revoke',
    subject: `key ${key.id}`,
    before: { ...traceOf(key), revokedAt: null },
    after: { revokedAt: now },
  });
};

/** Ends a key at once. Revoking it again changes nothing. @throws AppError KEY_UNKNOWN */
export const revokeKey = (db: Database, id: string, now: Date, by?: Actor): Promise<void> =>
  db.transaction(async (tx) => endKey(tx, await lockKey(tx, id), now, by));

/** As `rotateKey`, within a transaction that has locked the key, which is active. */
export const replaceKey = async (
  tx: Transaction,
  old: KeyInfo,
  overlapMs: number,
  now: Date,
  by?: Actor,
): Promise<{ id: string; key: string }> => {
  const lifetime = old.expiresAt === null ? null : old.expiresAt.getTime() - old.createdAt.getTime();
  const end = now.getTime() + overlapMs;
  const expiresAt = new Date(Math.min(end, old.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY));
  await keysIn(tx).update({ id: old.id }, { expiresAt });
  const wanted = { ...old, expiresAt: lifetime === null ? null : new Date(now.getTime() + lifetime) };
  const made = await insertKey(tx, wanted, now);
  await record(tx, by, {
    action: 'keys rotate',
    subject: `key ${old.id}`,
    before: traceOf(old),
    after: { expiresAt, replacedBy: { id: made.id, ...traceOf(wanted) } },
  });
  return made;
};

/**
 * Issues a key with the owner, name, scopes and lifetime of another one, which works on for `overlapMs`.
 * @throws AppError KEY_UNKNOWN, KEY_REVOKED, KEY_EXPIRED
 */
export const rotateKey = (
  db: Database,
  id: string,
  overlapMs: number,
  now: Date,
  by?: Actor,
): Promise<{ id: string; key: string }> =>
  db.transaction(async (tx) => {
    const old = await lockKey(tx, id);
    if (old.revokedAt !== null) throw new AppError('KEY_REVOKED');
    if (stateOf(old, now) === 'expired') throw new AppError('KEY_EXPIRED');
    return replaceKey(tx, old, overlapMs, now, by);
  });

/**
 * Stores the times at which keys were last used. A later time that another process stored is kept. SQL: one statement for
 * all keys of some seconds.
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
