import type { Reader } from '../db/connection.ts';
import { padded } from '../db/sql/in-list.ts';
import { type Bytes, idFromBytes, storedIdToBytes } from '../db/values.ts';
import type { ContentKind } from './kind.ts';

/** The columns of a record that are its viewer's, as the drivers return them. */
export interface ViewerColumns {
  favorited: number;
  reaction: 'like' | 'dislike' | null;
}

/** A user and a record that the user looks at. */
export interface Viewing {
  viewerId: string;
  recordId: string;
}

const MAX_PAIRS = 64;

const nameOf = (viewerId: string, recordId: string): string => `${viewerId} ${recordId}`;

/**
 * Reads what users did to records; `of` a pair that was asked for is what is found of it. SQL: users' reads of records wait
 * for it, and it reads both tables by one statement.
 */
export const readViewings = async (
  reader: Reader,
  kind: ContentKind,
  viewings: readonly Viewing[],
): Promise<{ of(viewing: Viewing): ViewerColumns }> => {
  const found = new Map<string, ViewerColumns>();
  const chunks = Array.from({ length: Math.ceil(viewings.length / MAX_PAIRS) }, (_, index) =>
    padded(viewings.slice(index * MAX_PAIRS, (index + 1) * MAX_PAIRS)),
  );
  await Promise.all(
    chunks.map(async (pairs) => {
      const where = pairs.map(() => `(user_id = ? AND ${kind.foreignKey} = ?)`).join(' OR ');
      const parameters = pairs.flatMap(({ viewerId, recordId }) => [
        storedIdToBytes(viewerId),
        storedIdToBytes(recordId),
      ]);
      const rows = await reader.read<{ user_id: Bytes; id: Bytes; type: ViewerColumns['reaction'] }>(
        `SELECT user_id, ${kind.foreignKey} AS id, NULL AS type FROM ${kind.favoriteTable} WHERE ${where}
        UNION ALL SELECT user_id, ${kind.foreignKey}, type FROM ${kind.reactionTable} WHERE ${where}`,
        [...parameters, ...parameters],
      );
      for (const { user_id, id, type } of rows) {
        const name = nameOf(idFromBytes(user_id), idFromBytes(id));
        const earlier = found.get(name) ?? { favorited: 0, reaction: null };
        found.set(name, type === null ? { ...earlier, favorited: 1 } : { ...earlier, reaction: type });
      }
    }),
  );
  return { of: ({ viewerId, recordId }) => found.get(nameOf(viewerId, recordId)) ?? { favorited: 0, reaction: null } };
};
