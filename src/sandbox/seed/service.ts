import type { ContentKind } from '../../content/kind.ts';
import { gameKind } from '../../game/kind.ts';
import { imageKind } from '../../image/kind.ts';
import { publishAll } from '../../content/write/publish.ts';
import type { Transaction } from '../../db/connection.ts';
import type { Database } from '../../db/database.ts';
import { insertRows } from '../../db/sql/write-rows.ts';
import { type Bytes, idFromBytes, storedIdToBytes } from '../../db/values.ts';
import { searchKinds } from '../../app/schema.ts';
import type { Document, EnqueueDocuments, SearchKind } from '../../search/document.ts';
import { addDocuments } from '../../search/indexing/flush.ts';
import { Indexer } from '../../search/indexing/indexer.ts';
import { insertUsers } from '../../user/service.ts';
import { creations, seedGames, seedImagePosts, type SeedOptions, type SeedRecord, seedUsers } from './records.ts';

/** Rows stored in one transaction, with all that depends on them: as many as an import stores. */
const BATCH = 500;

/** The error for a seed that cannot be stored in this database. */
export class SeedError extends Error {}

/**
 * Fills a database with generated users, games and image posts. The same options give the same rows on every engine,
 * except for the ids of tags if some exist. Likes, favorites and tags are stored and counted. It stores batches, each
 * atomically, and may run beside a service. Calls `onStored` with the number of rows of each batch.
 * @throws SeedError if the same seed is already stored, or no user exists who could publish
 */
export const seed = async (db: Database, options: SeedOptions, onStored: (rows: number) => void): Promise<void> => {
  await refuseRepetition(db, options);
  // A long tail would keep searches of a running service from using the index.
  const indexer = new Indexer(db, searchKinds);
  const store = async <Row>(
    rows: Iterable<Row>,
    insert: (tx: Transaction, batch: Row[], note: EnqueueDocuments) => Promise<void>,
  ) => {
    for (const batch of batches(rows)) {
      await db.transaction(async (tx) => {
        const found = new Map<SearchKind, readonly Document[]>();
        await insert(tx, batch, async (_, kind, documents) => found.set(kind, documents));
        for (const [kind, documents] of found) await addDocuments(tx, kind, documents);
      });
      await indexer.work();
      onStored(batch.length);
    }
  };
  await store(seedUsers(options), (tx, users, note) => insertUsers(tx, users, options.until, note));
  const userIds = await publishers(db, options);
  await store(seedGames(options, userIds), (tx, games, note) => insertRecords(tx, gameKind, games, note));
  await store(seedImagePosts(options, userIds), (tx, posts, note) => insertRecords(tx, imageKind, posts, note));
};

const refuseRepetition = async (db: Database, options: SeedOptions): Promise<void> => {
  const tables = { users: 'users', games: gameKind.table, images: imageKind.table } as const;
  for (const kind of ['users', 'games', 'images'] as const) {
    const [first] = creations(options, kind);
    const found = first && (await db.read(`SELECT 1 FROM ${tables[kind]} WHERE id = ?`, [storedIdToBytes(first.id)]));
    if (found?.length) {
      throw new SeedError(
        `This database holds ${kind} of random seed ${options.randomSeed}: choose another --random-seed.`,
      );
    }
  }
};

/** The ids of the users of a seed or, if it has none, of the existing users. */
const publishers = async (db: Database, options: SeedOptions): Promise<string[]> => {
  if (options.users > 0) return Array.from(creations(options, 'users'), ({ id }) => id);
  const users = await db.read<{ id: Bytes }>('SELECT id FROM users ORDER BY id');
  if (users.length === 0 && options.games + options.images > 0) {
    throw new SeedError('There are no users who could publish: seed some, too.');
  }
  return users.map(({ id }) => idFromBytes(id));
};

const insertRecords = async (
  tx: Transaction,
  kind: ContentKind,
  records: readonly SeedRecord[],
  note: EnqueueDocuments,
): Promise<void> => {
  await publishAll(tx, kind, records, { enqueue: note });
  await insertRows(
    tx,
    kind.favoriteTable,
    records.flatMap(({ id, favoritedBy }) => favoritedBy.map((userId) => ({ userId, recordId: id }))),
  );
  await insertRows(
    tx,
    kind.reactionTable,
    records.flatMap(({ id, likedBy, dislikedBy }) => [
      ...likedBy.map((userId) => ({ userId, recordId: id, type: 'like' })),
      ...dislikedBy.map((userId) => ({ userId, recordId: id, type: 'dislike' })),
    ]),
  );
};

function* batches<Row>(rows: Iterable<Row>): Generator<Row[]> {
  let batch: Row[] = [];
  for (const row of rows) {
    batch.push(row);
    if (batch.length === BATCH) {
      yield batch;
      batch = [];
    }
  }
  if (batch.length > 0) yield batch;
}
