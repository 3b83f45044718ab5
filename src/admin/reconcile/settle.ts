import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Transaction } from '../../db/connection.ts';

/** Far longer than a commit usually takes from its first shard to its last. */
const SETTLE_MS = 250;

/**
 * What `read` finds of rows that the transaction has locked and of others that they count. On shards it is read until it stays the
 * same: a commit that has released the lock may not have reached every shard yet, and no other one follows until the lock is released.
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
