import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Transaction } from '../../db/connection.ts';

/** Far longer than a commit usually takes from its first shard to its last. */
const SETTLE_MS = 250;

/**
 * Reads rows that the transaction has locked, and counts others. On shards it repeats that until nothing changes: the commit that
 * released the lock may not have reached every shard yet, and further ones wait for this transaction.
 */
export const settled = async <T>({ dialect }: Transaction, read: () => Promise<T[]>): Promise<T[]> => {
  let found = await read();
  while (dialect.isSharded && found.length > 0) {
    await sleep(SETTLE_MS);
    const again = await read();
    if (isDeepStrictEqual(again, found)) break;
    found = again;
  }
  return found;
};
