import type { Scope } from '../../contract/index.ts';
import type { Transaction } from '../db/connection.ts';
import type { Database, Lane } from '../db/database.ts';
import type { Deadline } from '../deadline.ts';
import { inList, padded } from '../db/in-list.ts';
import { insertRows } from '../db/insert.ts';
import { updateRow } from '../db/update.ts';
import { idFromBytes, idToBytes, newId, storedIdToBytes, timeFromDb, timeToDb } from '../db/values.ts';
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

/** As `createKey`, within a transaction and for a user who exists. */
export const insertKey = async (
  tx: Transaction,
  wanted: NewKey,
  now: Date,
  key = generateKey(),
): Promise<{ id: string; key: string }> => {
  const id = newId(now);
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
export const createKey = (db: Database, wanted: NewKey, now: Date): Promise<{ id: string; key: string }> =>
  db.transaction(async (tx) => {
    const userId = idToBytes(wanted.userId);
    const users = userId ? await tx.read('SELECT id FROM users WHERE id = ?', [userId]) : [];
    if (users.length === 0) throw new AppError('USER_NOT_FOUND');
    return insertKey(tx, wanted, now);
  });

/** All keys, or those of one user, oldest first. */
export const listKeys = async (db: Database, userId?: string): Promise<KeyInfo[]> => {
  const where = userId === undefined ? '' : 'WHERE user_id = ?';
  const parameters = userId === undefined ? [] : [idToBytes(userId) ?? Buffer.alloc(0)];
  const rows = await db.read<KeyColumns>(`SELECT ${KEY_COLUMNS} FROM api_keys ${where} ORDER BY id`, parameters);
  return rows.map(keyInfo);
};

/** The key with this id, locked. @throws AppError KEY_UNKNOWN */
const lockKey = async (tx: Transaction, id: string): Promise<KeyInfo> => {
  const [row] = await tx.read<KeyColumns>(`SELECT ${KEY_COLUMNS} FROM api_keys WHERE id = ? ${tx.dialect.forUpdate}`, [
    idToBytes(id) ?? Buffer.alloc(0),
  ]);
  if (!row) throw new AppError('KEY_UNKNOWN');
  return keyInfo(row);
};

/** Ends a key at once. Revoking it again changes nothing. @throws AppError KEY_UNKNOWN */
export const revokeKey = (db: Database, id: string, now: Date): Promise<void> =>
  db.transaction(async (tx) => {
    const key = await lockKey(tx, id);
    if (key.revokedAt === null) await updateRow<ApiKeyRow>(tx, 'ApiKey', id, { revokedAt: now });
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
): Promise<{ id: string; key: string }> =>
  db.transaction(async (tx) => {
    const old = await lockKey(tx, id);
    if (old.revokedAt !== null) throw new AppError('KEY_REVOKED');
    if (old.expiresAt !== null && old.expiresAt <= now) throw new AppError('KEY_EXPIRED');
    const lifetime = old.expiresAt === null ? null : old.expiresAt.getTime() - old.createdAt.getTime();
    const end = now.getTime() + overlapMs;
    await updateRow<ApiKeyRow>(tx, 'ApiKey', id, {
      expiresAt: new Date(Math.min(end, old.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY)),
    });
    return insertKey(tx, { ...old, expiresAt: lifetime === null ? null : new Date(now.getTime() + lifetime) }, now);
  });

/** Notes when keys were last used, in one statement. Another process may have noted a later use already. */
export const storeLastUses = (db: Lane, uses: ReadonlyMap<string, Date>, deadline?: Deadline): Promise<void> =>
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
    { isRepeatable: true },
  );
