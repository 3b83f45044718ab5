import { currentDate } from '../../base/runtime.ts';
import { inParts } from '../../db/manager.ts';
import { In } from 'typeorm';
import { listKeys } from '../../auth/service.ts';
import { readUses, keyConsumer, readConsumerUses } from '../../consumers/use/store.ts';
import { contractsOf } from '../../consumers/contracts/store.ts';
import { readFailedCalls } from '../../consumers/use/failed-calls.ts';
import type { ContentKind } from '../../content/kind.ts';
import { findRange } from '../../content/read/find.ts';
import { engagementIn, type HiddenMarkRow, hiddenMarksIn } from '../../content/entity.ts';
import { byId, readRowsById } from '../../content/records.ts';
import { TagDictionary } from '../../content/tag/dictionary.ts';
import type { Database } from '../../db/database.ts';
import { isId, NIL_ID, storedIdToBytes } from '../../db/values.ts';
import { timeOf } from '../../auth/audit/log.ts';
import { AppError } from '../../base/errors.ts';
import { gameKind, type StoredGame } from '../../game/kind.ts';
import { imageKind, type StoredImagePost } from '../../image/kind.ts';
import { usersIn } from '../../user/entity.ts';
import { hiddenParts, rowOfHidden } from '../moderation/hidden/read.ts';
import { type ExportedRecord, gameLine, imageLine, userLine } from '../transfer/records.ts';
import { entriesAbout, onlyAbout } from './audit.ts';
import { listOwnWebhooks } from '../../event/webhook/webhooks.ts';

const FORMAT = 'content-gateway-user';
const VERSION = 1;
const AT_ONCE = 100;
/** A number of days that includes all days for which the uses of keys are kept. */
const DAYS = 36_500;

type ExportedRow = StoredGame & StoredImagePost & ExportedRecord;

/** A kind of records, its name in the export, and the function that formats its rows. */
interface ExportedKind {
  name: 'games' | 'imagePosts';
  of: 'game' | 'image';
  kind: ContentKind;
  view: (row: ExportedRow, tagNames: string[]) => object;
}

const kinds: readonly ExportedKind[] = [
  { name: 'games', of: 'game', kind: gameKind, view: (row, tags) => gameLine(row, tags, {}) },
  { name: 'imagePosts', of: 'image', kind: imageKind, view: (row, tags) => imageLine(row, tags, {}) },
];

async function* rowsOf(db: Database, kind: ContentKind, authorId: string): AsyncGenerator<ExportedRow[]> {
  const shape = { detail: true, viewerId: undefined };
  for await (const ids of findRange(db, kind, { authorId: storedIdToBytes(authorId) })) {
    for (let start = 0; start < ids.length; start += AT_ONCE) {
      const rows = await readRowsById<ExportedRow>(db, kind, shape, ids.slice(start, start + AT_ONCE));
      yield rows.toSorted(byId);
    }
  }
  for await (const rows of hiddenParts(db, () => ({ authorId, kind: kind.table }))) {
    yield rows.map((row) => Object.assign(rowOfHidden(row), { isHidden: true }) as unknown as ExportedRow);
  }
}

async function* recordsOf(db: Database, { kind, view }: ExportedKind, authorId: string): AsyncGenerator<object[]> {
  const dictionary = new TagDictionary(db);
  for await (const rows of rowsOf(db, kind, authorId)) {
    const tags = await dictionary.namesOf(
      db,
      rows.map((row) => row.tagIds),
    );
    yield rows.map((row, index) => ({
      ...view(
        row,
        (tags[index] ?? []).map(({ name }) => name),
      ),
      kind: undefined,
      authorId: undefined,
      favoriteCount: row.favoriteCount,
      likeCount: row.likeCount,
      dislikeCount: row.dislikeCount,
    }));
  }
}

type Mark = HiddenMarkRow['mark'];

/** The records that a user marked, from a table of each kind, in batches; hidden records follow the others. */
async function* marksOf(
  db: Database,
  userId: string,
  tableOf: (kind: ContentKind) => string,
  marks: readonly Mark[],
): AsyncGenerator<object[]> {
  const by = { key: 'recordId', first: NIL_ID, take: AT_ONCE } as const;
  for (const { of, kind } of kinds) {
    const shown = engagementIn(db, tableOf(kind));
    for await (const rows of inParts(shown, by, (later) => ({ where: { userId, recordId: later() } }))) {
      yield rows.map(({ recordId: id, type }) => ({ of, id, type }));
    }
    const hidden = await hiddenMarksIn(db)
      .createQueryBuilder('m')
      .innerJoin('HiddenRecord', 'h', 'h.recordId = m.recordId')
      .where({ userId, mark: In(marks) })
      .andWhere('h.kind = :kind', { kind: kind.table })
      .orderBy('m.recordId')
      .getMany();
    const typeOf = (mark: Mark) => (mark === 'favorite' ? undefined : mark);
    yield hidden.map(({ recordId: id, mark }) => ({ of, id, type: typeOf(mark), isHidden: true }));
  }
}

/** The keys of a user, with the uses and failed calls of each; the export omits their hashes. */
async function* keysOf(db: Database, id: string, now: Date): AsyncGenerator<object[]> {
  for (const { userId: _, ...key } of await listKeys(db, id)) {
    const [used] = await readConsumerUses(db, { now, days: DAYS, consumers: [keyConsumer(key.id)] });
    const { clients = [], operations = [] } = used ?? {};
    const failedCalls = await readFailedCalls(db, key.id, now);
    yield [{ ...key, uses: await readUses(db, key.id, now, DAYS), clients, operations, failedCalls }];
  }
}

/** The audit entries about a user, without the operators' names and the parts about others. */
async function* auditOf(db: Database, userId: string): AsyncGenerator<object[]> {
  for await (const entries of entriesAbout(db, userId)) {
    yield entries
      .map((entry) => onlyAbout(entry, userId))
      .map(({ id, action, subject, before, after }) => ({
        id,
        at: timeOf(id),
        action,
        subject,
        before: before === null ? null : (JSON.parse(before) as unknown),
        after: after === null ? null : (JSON.parse(after) as unknown),
      }));
  }
}

async function* inLists(items: AsyncIterable<object>): AsyncGenerator<object[]> {
  for await (const item of items) yield [item];
}

async function* listText(
  name: string,
  parts: AsyncIterable<readonly object[]> | Iterable<readonly object[]>,
): AsyncGenerator<string> {
  yield `,\n"${name}":[`;
  let isFirst = true;
  for await (const items of parts) {
    if (items.length === 0) continue;
    const text = items.map((item) => JSON.stringify(item)).join(',\n');
    yield `${isFirst ? '\n' : ',\n'}${text}`;
    isFirst = false;
  }
  yield ']';
}

/**
 * Yields all stored data of a user as one JSON object, in parts: profile, records, favorites, reactions, keys,
 * webhooks, consumer contracts and audit entries. @throws AppError USER_NOT_FOUND, before the first part
 */
export async function* exportUser(db: Database, id: string, now = currentDate()): AsyncGenerator<string> {
  const row = isId(id) && (await usersIn(db).findOneBy({ id }));
  if (!row) throw new AppError('USER_NOT_FOUND');
  const user = { ...userLine(row), kind: undefined };
  yield `{"format":"${FORMAT}","version":${VERSION},"exportedAt":${JSON.stringify(now)},\n"user":${JSON.stringify(user)}`;
  for (const one of kinds) yield* listText(one.name, recordsOf(db, one, id));
  yield* listText(
    'favorites',
    marksOf(db, id, ({ favoriteTable }) => favoriteTable, ['favorite']),
  );
  yield* listText(
    'reactions',
    marksOf(db, id, ({ reactionTable }) => reactionTable, ['like', 'dislike']),
  );
  yield* listText('keys', keysOf(db, id, now));
  // The export omits their secrets.
  yield* listText('webhooks', [await listOwnWebhooks(db, id)]);
  yield* listText('consumerContracts', inLists(contractsOf(db, id)));
  yield* listText('auditEntries', auditOf(db, id));
  yield '}\n';
}
