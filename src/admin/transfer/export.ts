import { type FindOperator, LessThanOrEqual, MoreThan, MoreThanOrEqual, type ObjectLiteral } from 'typeorm';
import type { ContentRow } from '../../content/entity.ts';
import type { ContentKind } from '../../content/kind.ts';
import { recordColumns } from '../../content/records.ts';
import type { Database } from '../../db/database.ts';
import { type Bytes, idFromBytes, NIL_ID } from '../../db/values.ts';
import type { StoredGame } from '../../game/kind.ts';
import type { StoredImagePost } from '../../image/kind.ts';
import { TagDictionary, type TagName } from '../../content/tag/dictionary.ts';
import { type UserRow, usersIn } from '../../user/entity.ts';
import { ReactionsReader } from './reactions.ts';
import { contentKinds, END, FORMAT, type Header, kindOfPart, type Part, parts, tableOf, VERSION } from './format.ts';
import { HiddenReader, type Rows } from './hidden.ts';
import { type ExportedRecord, gameLine, imageLine, orNone, type Reactions, userLine } from './records.ts';

/** The number of rows to read at once, by the length of the last lines, so that each read yields about as much text. */
const READ_BYTES = 2 ** 20;
const MOST_AT_ONCE = 1000;
const FEWEST_AT_ONCE = 10;
const FIRST_AT_ONCE = 200;

/** The parts to export, and the time since when. */
export interface ExportOptions {
  parts: readonly Part[];
  since: Date | undefined;
}

/** The record from whose line an interrupted export continues: this line is written again. */
export interface ExportPosition {
  part: Part;
  id: string;
}

/** Some lines, each with its line break, and the number of further records that they contain. */
interface Lines {
  text: string;
  records: number;
}

/** Queries the rows of a part that an export includes. */
const exported = <Row extends ObjectLiteral = ContentRow>(db: Database, { since, lastUser }: Header, part: Part) => {
  const query = db.manager.getRepository<Row>(tableOf[kindOfPart[part]]).createQueryBuilder('r');
  if (since !== null) {
    const time = new Date(since);
    query.andWhere([{ updatedAt: MoreThanOrEqual(time) }, { createdAt: MoreThanOrEqual(time) }]);
  }
  if (lastUser !== null) query.andWhere({ [part === 'users' ? 'id' : 'authorId']: LessThanOrEqual(lastUser) });
  return query;
};

/** The first line of an export that begins now. */
export const headerOf = async (db: Database, options: ExportOptions): Promise<Header> => {
  const [last] = options.parts.includes('users')
    ? await usersIn(db).find({ select: { id: true }, order: { id: 'DESC' }, take: 1 })
    : [];
  return {
    format: FORMAT,
    version: VERSION,
    parts: parts.filter((part) => options.parts.includes(part)),
    since: options.since?.toISOString() ?? null,
    lastUser: last?.id ?? null,
  };
};

/** The number of records that an export includes, from `place` on. */
export const countExported = async (db: Database, header: Header, place?: ExportPosition): Promise<number> => {
  let n = 0;
  for (const part of partsFrom(header, place)) {
    const from = place?.part === part ? place.id : undefined;
    const query = exported(db, header, part);
    if (from !== undefined) query.andWhere({ id: MoreThanOrEqual(from) });
    n += await query.getCount();
    if (part !== 'users') n += await new HiddenReader(db, contentKinds[kindOfPart[part]], header).count(from);
  }
  return n;
};

const partsFrom = ({ parts: all }: Header, place: ExportPosition | undefined): readonly Part[] =>
  place === undefined ? all : all.slice(all.indexOf(place.part));

export const lineOf = (value: object): string => `${JSON.stringify(value)}\n`;

/**
 * The lines of an export after the first, from `place` on: users, games and image posts, each in the order of their
 * ids. Rows are read by key, so that concurrent writes shift no other line.
 */
export async function* exportLines(db: Database, header: Header, place?: ExportPosition): AsyncGenerator<Lines> {
  for (const part of partsFrom(header, place)) {
    const from = part === place?.part ? place.id : undefined;
    if (part === 'users') yield* userLines(db, header, from);
    else if (part === 'games') yield* recordLines(db, header, part, gameLine, from);
    else yield* recordLines(db, header, part, imageLine, from);
  }
  yield { text: lineOf(END), records: 0 };
}

/** Yields the rows of a part in batches, which a function reads; `size` holds the length of the last batch's lines. */
async function* rowsOf<Row extends { id: string | Bytes }>(
  read: (from: FindOperator<string>, limit: number) => Promise<Row[]>,
  from: string | undefined,
  size: { bytes: number },
): AsyncGenerator<Rows<Row>> {
  let isAfterIncluded = true;
  let after = from ?? NIL_ID;
  for (let atOnce = FIRST_AT_ONCE; ;) {
    const rows = await read(isAfterIncluded ? MoreThanOrEqual(after) : MoreThan(after), atOnce);
    const last = rows.at(-1);
    const isEnd = last === undefined || rows.length < atOnce;
    const upTo = isEnd ? undefined : textOf(last.id);
    yield { rows, after, isAfterIncluded, upTo };
    if (upTo === undefined) return;
    isAfterIncluded = false;
    after = upTo;
    // The numbers grow in steps, since each number needs a separate statement.
    const fitting = READ_BYTES / Math.max(1, size.bytes / rows.length);
    if (fitting < atOnce) atOnce = Math.max(FEWEST_AT_ONCE, Math.floor(atOnce / 2));
    else if (fitting > 2 * atOnce) atOnce = Math.min(MOST_AT_ONCE, atOnce * 2);
  }
}

const textOf = (id: string | Bytes): string => (typeof id === 'string' ? id : idFromBytes(id));

async function* userLines(db: Database, header: Header, from: string | undefined): AsyncGenerator<Lines> {
  const size = { bytes: 0 };
  const read = (id: FindOperator<string>, limit: number): Promise<UserRow[]> =>
    exported<UserRow>(db, header, 'users').andWhere({ id }).orderBy('r.id').limit(limit).getMany();
  for await (const { rows } of rowsOf(read, from, size)) {
    const text = rows.map((row) => lineOf(userLine(row))).join('');
    size.bytes = text.length;
    yield { text, records: rows.length };
  }
}

/** A row of either kind: each kind's view reads only the columns of its rows. */
type ExportedRow = StoredGame & StoredImagePost & ExportedRecord;

async function* recordLines(
  db: Database,
  header: Header,
  part: 'games' | 'images',
  view: (row: ExportedRow, tagNames: string[], audience: Reactions) => object,
  from: string | undefined,
): AsyncGenerator<Lines> {
  const of = kindOfPart[part];
  const kind: ContentKind = contentKinds[of];
  const read = (id: FindOperator<string>, limit: number): Promise<ExportedRow[]> =>
    exported(db, header, part)
      .select(recordColumns(kind, true))
      .andWhere({ id })
      .orderBy('r.id')
      .limit(limit)
      .getRawMany();
  const dictionary = new TagDictionary(db);
  const audiences = new ReactionsReader(db, kind, header.lastUser);
  const size = { bytes: 0 };
  for await (const rows of new HiddenReader(db, kind, header).join(rowsOf(read, from, size))) {
    const [tags, audience] = await Promise.all([
      dictionary.namesOf(
        db,
        rows.map((row) => row.tagIds),
      ),
      audiences.read(rows),
    ]);
    size.bytes = 0;
    let lines: string[] = [];
    for (const [index, row] of rows.entries()) {
      const id = idFromBytes(row.id);
      const names = (tags[index] as TagName[]).map(({ name }) => name);
      let isFirst = true;
      for await (const one of audience.get(id) ?? []) {
        if (isFirst) lines.push(lineOf(view(row, names, one)));
        else {
          yield { text: lines.join(''), records: 0 };
          lines = [lineOf(reactionsLine(of, id, one))];
        }
        if (isFirst) size.bytes += lines.at(-1)?.length ?? 0;
        isFirst = false;
      }
    }
    yield { text: lines.join(''), records: rows.length };
  }
}

const reactionsLine = (of: 'game' | 'image', id: string, { favorites, likes, dislikes }: Reactions): object => ({
  kind: 'audience',
  of,
  id,
  favorites: orNone(favorites),
  likes: orNone(likes),
  dislikes: orNone(dislikes),
});
