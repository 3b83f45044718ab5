import type { Scope } from '../../contract/index.ts';
import { type Actor, record } from '../audit/log.ts';
import type { Parameter, Transaction } from '../db/connection.ts';
import type { Database } from '../db/database.ts';
import type { WorkloadPool } from '../db/workload-pool.ts';
import type { Deadline } from '../deadline.ts';
import { inList, padded } from '../db/sql/in-list.ts';
import { insertRows } from '../db/sql/insert.ts';
import { updateRow } from '../db/sql/update.ts';
import { idFromBytes, idToBytes, newId, soughtId, storedIdToBytes, timeFromDb, timeToDb } from '../db/values.ts';
import { AppError } from '../errors.ts';
import type { ApiKeyRow, KeyColumns } from './entity.ts';
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

export const KEY_COLUMNS = 'id, user_id, prefix, name, scopes, expires_at, revoked_at, last_used_at, created_at';

const optionalTime = (stored: string | null): Date | null => (stored === null ? null : new Date(timeFromDb(stored)));

export const keyInfo = (row: KeyColumns): KeyInfo => ({
  id: idFromBytes(row.id),
  userId: idFromBytes(row.user_id),
  prefix: row.prefix,
  name: row.name,
  scopes: row.scopes.split(',') as Scope[],
  expiresAt: optionalTime(row.expires_at),
  revokedAt: optionalTime(row.revoked_at),
  lastUsedAt: optionalTime(row.last_used_at),
  createdAt: new Date(timeFromDb(row.created_at)),
});

export interface NewKey {
  userId: string;
  name: string;
  scopes: readonly Scope[];
  /** null for a key that never expires. */
  expiresAt: Date | null;
}

/** The part of a key that the audit log records. */
const traceOf = ({ userId, name, scopes, expiresAt }: NewKey): object => ({ userId, name, scopes, expiresAt });

/** As `createKey`, within a transaction and for a user who exists. */
export const insertKey = async (
  tx: Transaction,
  wanted: NewKey,
  now: Date,
  key = generateKey(),
  id = newId(now),
): Promise<{ id: string; key: string }> => {
  await insertRows(tx, 'ApiKey', [
    {
      id,
      userId: wanted.userId,
      keyHash: hashKey(key),
      prefix: displayPrefix(key),
      name: wanted.name,
      scopes: [...new Set(wanted.scopes)].join(','),
      expiresAt: wanted.expiresAt,
      createdAt: now,
    },
  ]);
  return { id, key };
};

/**
 * Issues a key. The reply is the only place where it is ever shown.
 * @throws AppError USER_NOT_FOUND
 */
export const createKey = (db: Database, wanted: NewKey, now: Date, by?: Actor): Promise<{ id: string; key: string }> =>
  db.transaction(async (tx) => {
    const userId = idToBytes(wanted.userId);
    const users = userId ? await tx.read('SELECT id FROM users WHERE id = ?', [userId]) : [];
    if (users.length === 0) throw new AppError('USER_NOT_FOUND');
    const made = await insertKey(tx, wanted, now);
    await record(tx, by, { action: 'keys create', subject: `key ${made.id}`, after: traceOf(wanted) });
    return made;
  });

/** All keys, or those of one user, or those that were made and last used before an instant, oldest first. */
export const listKeys = async (db: Database, userId?: string, unusedSince?: Date): Promise<KeyInfo[]> => {
  const conditions: string[] = [];
  const parameters: Parameter[] = [];
  if (userId !== undefined) {
    conditions.push('user_id = ?');
    parameters.push(soughtId(userId));
  }
  if (unusedSince !== undefined) {
    conditions.push('created_at < ?', '(last_used_at IS NULL OR last_used_at < ?)');
    parameters.push(timeToDb(unusedSince), timeToDb(unusedSince));
  }
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
  const rows = await db.read<KeyColumns>(`SELECT ${KEY_COLUMNS} FROM api_keys ${where} ORDER BY id`, parameters);
  return rows.map(keyInfo);
};

/** The key with this id. @throws AppError KEY_UNKNOWN */
export const readKey = async (db: Database, id: string): Promise<KeyInfo> => {
  const [row] = await db.read<KeyColumns>(`SELECT ${KEY_COLUMNS} FROM api_keys WHERE id = ?`, [soughtId(id)]);
  if (!row) throw new AppError('KEY_UNKNOWN');
  return keyInfo(row);
};

/** The key with this id, locked. @throws AppError KEY_UNKNOWN */
const lockKey = async (tx: Transaction, id: string): Promise<KeyInfo> => {
  const [row] = await tx.read<KeyColumns>(`SELECT ${KEY_COLUMNS} FROM api_keys WHERE id = ? ${tx.dialect.forUpdate}`, [
    soughtId(id),
  ]);
  if (!row) throw new AppError('KEY_UNKNOWN');
  return keyInfo(row);
};

/** Ends a key at once. Revoking it again changes nothing. @throws AppError KEY_UNKNOWN */
export const revokeKey = (db: Database, id: string, now: Date, by?: Actor): Promise<void> =>
  db.transaction(async (tx) => {
    const key = await lockKey(tx, id);
    if (key.revokedAt !== null) return;
    await updateRow<ApiKeyRow>(tx, 'ApiKey', id, { revokedAt: now });
    await record(tx, by, {
      action: 'keys revoke',
      subject: `key ${id}`,
      before: { ...traceOf(key), revokedAt: null },
      after: { revokedAt: now },
    });
  });

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
    if (old.expiresAt !== null && old.expiresAt <= now) throw new AppError('KEY_EXPIRED');
    const lifetime = old.expiresAt === null ? null : old.expiresAt.getTime() - old.createdAt.getTime();
    const end = now.getTime() + overlapMs;
    const expiresAt = new Date(Math.min(end, old.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY));
    await updateRow<ApiKeyRow>(tx, 'ApiKey', id, { expiresAt });
    const wanted = { ...old, expiresAt: lifetime === null ? null : new Date(now.getTime() + lifetime) };
    const made = await insertKey(tx, wanted, now);
    await record(tx, by, {
      action: 'keys rotate',
      subject: `key ${id}`,
      before: traceOf(old),
      after: { expiresAt, replacedBy: { id: made.id, ...traceOf(wanted) } },
    });
    return made;
  });

/**
 * Stores the times at which keys were last used, in one statement. A later time that another process stored is kept.
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
