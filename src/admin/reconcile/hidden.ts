import type { ContentKind } from '../../content/kind.ts';
import type { Database } from '../../db/database.ts';
import { type Bytes, idFromBytes } from '../../db/values.ts';
import { finishShowing, showEngagement } from '../moderation/hidden/show.ts';
import { dropEngagement } from '../../content/write/remove.ts';
import { publishedKinds } from '../moderation/kinds.ts';
import type { CountDifference } from './finding.ts';

const READ_AT_ONCE = 500;

/** Yields the ids that a query finds after a last id, in batches: SQL, whose joins leave few of many rows. */
async function* idsOf(db: Database, sql: string, parameters: readonly string[] = []): AsyncGenerator<Bytes[]> {
  for (let after: Bytes = Buffer.alloc(0); ;) {
    const rows = await db.read<{ id: Bytes }>(`${sql} LIMIT ${READ_AT_ONCE}`, [after, ...parameters]);
    const last = rows.at(-1);
    if (!last) return;
    after = last.id;
    yield rows.map(({ id }) => id);
  }
}

/** Records that are both hidden and shown, since showing them again was interrupted. */
const halfShown = (db: Database, { table }: ContentKind): AsyncGenerator<Bytes[]> =>
  idsOf(
    db,
    `SELECT h.record_id AS id FROM hidden_records h JOIN ${table} r ON r.id = h.record_id
    WHERE h.record_id > ? AND h.kind = ? ORDER BY h.record_id`,
    [table],
  );

/** Records that are shown, but have hidden favorites or reactions, since hiding was interrupted. */
const withMarksAside = (db: Database): AsyncGenerator<Bytes[]> =>
  idsOf(
    db,
    `SELECT DISTINCT m.record_id AS id FROM hidden_marks m WHERE m.record_id > ?
    AND NOT EXISTS (SELECT 1 FROM hidden_records h WHERE h.record_id = m.record_id) ORDER BY m.record_id`,
  );

/**
 * Finds records for which hiding or showing was interrupted. If asked to, finishes showing them, with their favorites
 * and reactions. While such a command runs, its records are found, too.
 */
export const checkHidden = async (db: Database, fix: boolean): Promise<CountDifference[]> => {
  const found: CountDifference[] = [];
  for (const kind of publishedKinds) {
    for await (const ids of halfShown(db, kind)) {
      found.push(
        ...ids.map((id) => ({ field: 'hidden_records', id: idFromBytes(id), stored: 'hidden', actual: 'shown' })),
      );
      if (fix) await finishShowing(db, kind, ids);
    }
  }
  for await (const ids of withMarksAside(db)) {
    found.push(...ids.map((id) => ({ field: 'hidden_marks', id: idFromBytes(id), stored: 'hidden', actual: 'shown' })));
    if (!fix) continue;
    for (const kind of publishedKinds) while (await db.transaction((tx) => showEngagement(tx, kind, ids)));
    // Marks of deleted records are not restored.
    for (const id of ids) while (await db.transaction((tx) => dropEngagement(tx, id)));
  }
  return found;
};
