import type { Transaction } from '../../../db/connection.ts';
import { insertMissing } from '../../../db/sql/write-rows.ts';
import { type Bytes, storedIdToBytes, timeToDb } from '../../../db/values.ts';
import type { ContentKind } from '../../../content/kind.ts';
import { joinTagIds, type Publication, tagsForHidden } from '../../../content/write/publish.ts';
import { type HideCause, keep } from './snapshot.ts';

/** Stores records that are hidden from the beginning: either all by themselves, or all with their authors. */
export const storeHidden = async (
  tx: Transaction,
  kind: ContentKind,
  publications: readonly (Publication & { cause?: HideCause | undefined })[],
): Promise<void> => {
  const tags = await tagsForHidden(tx, kind, publications);
  await keep(
    tx,
    kind,
    publications.map(({ id, authorId, createdAt, updatedAt = createdAt, draft, counts, cause }, index) => ({
      id: storedIdToBytes(id),
      authorId: storedIdToBytes(authorId),
      kept: {
        title: draft.title,
        tagIds: joinTagIds(tags[index] ?? []),
        tagNames: JSON.stringify((tags[index] ?? []).map(({ name }) => name)),
        viewCount: counts?.viewCount ?? 0,
        createdAt: timeToDb(createdAt),
        updatedAt: timeToDb(updatedAt),
        ...draft.own,
      },
      cause,
    })),
  );
};

/** Stores favorites and reactions of a hidden record; skips existing ones. */
export const storeHiddenEngagement = (
  tx: Transaction,
  id: Bytes,
  mark: 'favorite' | 'like' | 'dislike',
  userIds: readonly Bytes[],
): Promise<number> =>
  insertMissing(
    tx,
    'hidden_marks',
    ['record_id', 'user_id', 'mark'],
    userIds.map((user) => [id, user, mark]),
  );
