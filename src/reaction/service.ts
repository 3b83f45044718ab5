import type { ContentKind } from '../content/kind.ts';
import type { Transaction } from '../db/connection.ts';
import type { Database } from '../db/database.ts';
import { idToBytes, storedIdToBytes } from '../db/values.ts';
import { AppError } from '../errors.ts';

type Reaction = 'like' | 'dislike';

interface Counts {
  favorite_count: number;
  like_count: number;
  dislike_count: number;
}

/**
 * Locks a record before anything that hangs on it is touched: the one order in which callers never deadlock.
 * @throws AppError the kind's NOT_FOUND
 */
const lockRecord = async (tx: Transaction, kind: ContentKind, id: string): Promise<{ key: Buffer; counts: Counts }> => {
  const key = idToBytes(id);
  const [counts] = key
    ? await tx.read<Counts>(
        `SELECT favorite_count, like_count, dislike_count FROM ${kind.table} WHERE id = ? ${tx.dialect.forUpdate}`,
        [key],
      )
    : [];
  if (!key || !counts) throw new AppError(kind.notFound);
  return { key, counts };
};

/** Makes the record a favorite of the user or, if it is one, takes that back. */
export const toggleFavorite = (
  db: Database,
  kind: ContentKind,
  id: string,
  userId: string,
): Promise<{ favorited: boolean; favoriteCount: number }> =>
  db.transaction(async (tx) => {
    const { key, counts } = await lockRecord(tx, kind, id);
    const pair = [storedIdToBytes(userId), key];
    const removed = await tx.execute(
      `DELETE FROM ${kind.favoriteTable} WHERE user_id = ? AND ${kind.foreignKey} = ?`,
      pair,
    );
    if (removed === 0) {
      await tx.execute(`INSERT INTO ${kind.favoriteTable} (user_id, ${kind.foreignKey}) VALUES (?, ?)`, pair);
    }
    const favoriteCount = counts.favorite_count + (removed === 0 ? 1 : -1);
    await tx.execute(`UPDATE ${kind.table} SET favorite_count = ? WHERE id = ?`, [favoriteCount, key]);
    return { favorited: removed === 0, favoriteCount };
  });

/** Sets the user's reaction to the record; the same one again removes it, the other one switches it. */
export const toggleReaction = (
  db: Database,
  kind: ContentKind,
  id: string,
  userId: string,
  type: Reaction,
): Promise<{ reaction: Reaction | null; likeCount: number; dislikeCount: number }> =>
  db.transaction(async (tx) => {
    const { key, counts } = await lockRecord(tx, kind, id);
    const pair = [storedIdToBytes(userId), key];
    const mine = `FROM ${kind.reactionTable} WHERE user_id = ? AND ${kind.foreignKey} = ?`;
    const [earlier] = await tx.read<{ type: Reaction }>(`SELECT type ${mine}`, pair);
    const reaction = earlier?.type === type ? null : type;
    if (earlier) await tx.execute(`DELETE ${mine}`, pair);
    if (reaction) {
      await tx.execute(`INSERT INTO ${kind.reactionTable} (user_id, ${kind.foreignKey}, type) VALUES (?, ?, ?)`, [
        ...pair,
        reaction,
      ]);
    }
    const change = (of: Reaction): number => Number(reaction === of) - Number(earlier?.type === of);
    const likeCount = counts.like_count + change('like');
    const dislikeCount = counts.dislike_count + change('dislike');
    await tx.execute(`UPDATE ${kind.table} SET like_count = ?, dislike_count = ? WHERE id = ?`, [
      likeCount,
      dislikeCount,
      key,
    ]);
    return { reaction, likeCount, dislikeCount };
  });
