import { isDeepStrictEqual } from 'node:util';
import { sleep } from '../../base/runtime.ts';
import type { Transaction } from '../connection.ts';
import type { WorkloadPool } from '../workload-pool.ts';

/** Far longer than a commit usually takes from its first shard to its last. */
const SETTLE_MS = 250;

/**
 * Reads rows that the transaction has locked, and counts others. On shards it repeats that until nothing changes: the commit that
 * released the lock may not have reached every shard yet, and further ones wait for this transaction.
 */
export const readUntilStable = async <T>({ dialect }: Transaction, read: () => Promise<T[]>): Promise<T[]> => {
  let found = await read();
  while (dialect.isSharded && found.length > 0) {
    await sleep(SETTLE_MS);
    const again = await read();
    if (isDeepStrictEqual(again, found)) break;
    found = again;
  }
  return found;
};

/**
 * Differences that were seen between rows and others, while calls change them. One server sees both sides in one state. On
 * shards they may differ at first sight only: `compare` locks and compares them again.
 */
export const recheckOnShards = async <T>(
  db: WorkloadPool,
  seen: readonly T[],
  compare: (tx: Transaction, seen: readonly T[]) => Promise<T[]>,
): Promise<readonly T[]> =>
  db.dialect.isSharded && seen.length > 0 ? db.transaction((tx) => compare(tx, seen)) : seen;
