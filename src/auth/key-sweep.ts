import { type FindOptionsWhere, In, IsNull, LessThan, Not, Raw } from 'typeorm';
import type { Transaction } from '../db/connection.ts';
import { inList, padded } from '../db/sql/in-list.ts';
import { lockRows } from '../db/sql/lock-rows.ts';
import { storedIdToBytes } from '../db/values.ts';
import type { WorkloadPool } from '../db/workload-pool.ts';
import { type Actor, recordAll } from './audit/log.ts';
import { type ApiKeyRow, keysIn } from './entity.ts';
import { type KeyInfo, keyInfo, traceOf } from './service.ts';

/** A small number, so that locks are short: each key gets an entry in the audit log. */
const SWEPT_AT_ONCE = 100;

/**
 * The conditions on keys that were revoked, or expired, before a time. A key without a maker stays while other keys
 * descend from it, since revoking it can revoke all of these.
 */
const endedBefore = (end: Date): FindOptionsWhere<ApiKeyRow>[] =>
  (['revokedAt', 'expiresAt'] as const).flatMap((ending) => [
    { [ending]: LessThan(end), madeBy: Not(IsNull()) },
    {
      [ending]: LessThan(end),
      madeBy: IsNull(),
      id: Raw((id) => `NOT EXISTS (SELECT 1 FROM api_keys made WHERE made.made_by = ${id})`),
    },
  ]);

/** The keys that ended before a time and may be deleted, oldest first. */
export const findEndedKeys = async (db: Pick<WorkloadPool, 'manager'>, end: Date): Promise<KeyInfo[]> => {
  const rows = await keysIn(db).find({ where: endedBefore(end), order: { id: 'ASC' } });
  return rows.map(keyInfo);
};

/** Passes the keys that deleted keys have made on to the makers of the deleted ones. SQL: one statement. */
const passOn = async (tx: Transaction, deleted: readonly ApiKeyRow[]): Promise<void> => {
  const makers = new Map(deleted.flatMap(({ id, madeBy }) => (madeBy === null ? [] : [[id, madeBy] as const])));
  if (makers.size === 0) return;
  const remaining = (id: string): string => {
    const maker = makers.get(id);
    return maker === undefined ? id : remaining(maker);
  };
  const pairs = padded([...makers.keys()]).map((id) => [id, remaining(id)].map(storedIdToBytes) as [Buffer, Buffer]);
  const ids = inList(pairs.map(([id]) => id));
  await tx.execute(
    `UPDATE api_keys SET made_by = CASE made_by ${'WHEN ? THEN ? '.repeat(pairs.length)}END
    WHERE made_by IN (${ids.sql})`,
    [...pairs.flat(), ...ids.parameters],
  );
};

/**
 * Deletes some keys that ended before a time; their data and their last use stay in the audit log. The keys that they
 * have made then descend from their makers. @returns the number of deleted keys, 0 where none is left
 */
export const sweepKeys = async (
  db: Pick<WorkloadPool, 'manager' | 'transaction'>,
  end: Date,
  by: Actor,
): Promise<number> => {
  for (const where of endedBefore(end)) {
    const found = await keysIn(db).find({ select: { id: true, userId: true }, where, take: SWEPT_AT_ONCE });
    if (found.length === 0) continue;
    return db.transaction(async (tx) => {
      // Keys of a user are made, replaced and ended one after the other, and so are sweeps of their makers.
      await lockRows(tx, 'users', [...new Set(found.map(({ userId }) => userId))].map(storedIdToBytes));
      // Each statement needs its own condition, since transformers change operators.
      const among = () => ({ id: In(padded(found.map(({ id }) => id))) });
      const rows = await keysIn(tx).findBy(among());
      if (rows.length === 0) return 0;
      await recordAll(
        tx,
        by,
        rows.map(keyInfo).map((key) => ({
          action: 'keys prune',
          subject: `key ${key.id}`,
          before: { ...traceOf(key), revokedAt: key.revokedAt, lastUsedAt: key.lastUsedAt },
        })),
      );
      await keysIn(tx).delete(among());
      await passOn(tx, rows);
      return rows.length;
    });
  }
  return 0;
};
