import { In } from 'typeorm';
import { currentDate } from '../../base/runtime.ts';
import { findHiddenIds } from '../moderation/hidden/read.ts';
import { storeHidden, storeHiddenEngagement } from '../moderation/hidden/store.ts';
import type { ContentKind } from '../../content/kind.ts';
import { publishAll } from '../../content/write/publish.ts';
import { insertInto, insertMissing, insertValues, pipelined } from '../../db/sql/write-rows.ts';
import type { Parameter, Reader, Transaction } from '../../db/connection.ts';
import { partsOf } from '../../db/sql/in-list.ts';
import { increment } from '../../db/sql/increment.ts';
import { lockRows } from '../../db/sql/lock-rows.ts';
import { memoize } from '../../base/cache.ts';
import { isId, storedIdToBytes } from '../../db/values.ts';
import { gameKind } from '../../game/kind.ts';
import { imageKind } from '../../image/kind.ts';
import type { Document, EnqueueDocuments, SearchKind } from '../../search/document.ts';
import { addDocuments } from '../../search/indexing/flush.ts';
import { recordReactions } from '../../event/outbox/record.ts';
import { insertUsers } from '../../user/service.ts';
import { contentKinds } from './format.ts';
import type { Checked, ImportedRecord, LineOf, Reactions } from './records.ts';

/** The ids among these that exist in a table, or are hidden. */
export const findIds = async (reader: Reader, table: string, ids: Iterable<string>): Promise<Set<string>> => {
  const known = [...new Set(ids)].filter(isId);
  const found = table === 'users' ? new Set<string>() : await findHiddenIds(reader, known);
  const rows = reader.manager.getRepository<{ id: string }>(table);
  for (const part of partsOf(known)) {
    for (const { id } of await rows.find({ select: { id: true }, where: { id: In(part) } })) found.add(id);
  }
  return found;
};

const favoriteInsertion = memoize(({ favoriteTable, foreignKey }: ContentKind) =>
  insertInto(favoriteTable, ['user_id', foreignKey]),
);
const reactionInsertion = memoize(({ reactionTable, foreignKey }: ContentKind) =>
  insertInto(reactionTable, ['user_id', foreignKey, 'type']),
);

/** The users who marked a record, by their marks. */
const marksOf = ({ favorites = [], likes = [], dislikes = [] }: Reactions) =>
  [
    ['favorite', favorites],
    ['like', likes],
    ['dislike', dislikes],
  ] as const;

const insertReactions = (tx: Transaction, kind: ContentKind, records: readonly ImportedRecord[]): Promise<unknown> => {
  const favorites: Parameter[][] = [];
  const reactions: Parameter[][] = [];
  for (const one of records) {
    const record = storedIdToBytes(one.id);
    for (const [mark, users] of marksOf(one)) {
      if (mark === 'favorite') favorites.push(...users.map((user) => [storedIdToBytes(user), record]));
      else reactions.push(...users.map((user) => [storedIdToBytes(user), record, mark]));
    }
  }
  return pipelined([
    insertValues(tx, favoriteInsertion(kind), favorites),
    insertValues(tx, reactionInsertion(kind), reactions),
  ]);
};

const storeRecords = async (
  tx: Transaction,
  kind: ContentKind,
  records: readonly ImportedRecord[],
  note: EnqueueDocuments,
): Promise<void> => {
  const hidden = records.filter(({ isHidden }) => isHidden);
  for (const some of [hidden.filter(({ cause }) => cause), hidden.filter(({ cause }) => !cause)]) {
    if (some.length > 0) await storeHidden(tx, kind, some);
  }
  for (const record of hidden) await addHiddenReactions(tx, record.id, record);
  const shown = records.filter(({ isHidden }) => !isHidden);
  if (shown.length === 0) return;
  await publishAll(tx, kind, shown, {
    enqueue: note,
    storeDependents: () => insertReactions(tx, kind, shown),
  });
};

const addHiddenReactions = async (tx: Transaction, id: string, audience: Reactions): Promise<void> => {
  for (const [mark, users] of marksOf(audience)) {
    await storeHiddenEngagement(tx, storedIdToBytes(id), mark, users.map(storedIdToBytes));
  }
};

/** Adds the missing members of a record's audience. Repeating it changes nothing. */
const addReactions = async (tx: Transaction, line: LineOf<'audience'>): Promise<void> => {
  const { table, favoriteTable, reactionTable, foreignKey, router } = contentKinds[line.of];
  const id = storedIdToBytes(line.id);
  if ((await findHiddenIds(tx, [line.id])).size > 0) {
    await addHiddenReactions(tx, line.id, line);
    return;
  }
  await lockRows(tx, table, [id]);
  for (const [mark, users] of marksOf(line)) {
    const isFavorite = mark === 'favorite';
    const columns = ['user_id', foreignKey, ...(isFavorite ? [] : ['type'])];
    const rows = users.map((user) => [storedIdToBytes(user), id, ...(isFavorite ? [] : [mark])]);
    const added = await insertMissing(tx, isFavorite ? favoriteTable : reactionTable, columns, rows);
    if (added === 0) continue;
    await increment(tx, table, `${mark}_count`, [[id, added]]);
    await recordReactions(tx, `${router}.reactionsChanged`, [id], currentDate());
  }
};

/** Stores the lines of a batch, updates all counters, and makes the records searchable. */
export const store = async (tx: Transaction, { users, games, images, audiences }: Checked): Promise<void> => {
  const found = new Map<SearchKind, readonly Document[]>();
  const note: EnqueueDocuments = async (_, kind, documents) => found.set(kind, documents);
  if (users.length > 0) await insertUsers(tx, users, currentDate(), note);
  await storeRecords(tx, gameKind, games, note);
  await storeRecords(tx, imageKind, images, note);
  for (const line of audiences) await addReactions(tx, line);
  for (const [kind, documents] of found) await addDocuments(tx, kind, documents);
};
