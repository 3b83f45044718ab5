import type { ContentKind } from '../../content/kind.ts';
import { sharedColumns } from '../../content/records.ts';
import { tagIdsOf } from '../../content/tag-ids.ts';
import type { Parameter } from '../../db/connection.ts';
import type { Database } from '../../db/database.ts';
import { type Bytes, idFromBytes, storedIdToBytes, timeToDb } from '../../db/values.ts';
import type { GameColumns } from '../../game/entity.ts';
import { gameKind } from '../../game/kind.ts';
import type { ImagePostColumns } from '../../image/entity.ts';
import { imageKind } from '../../image/kind.ts';
import { TagDictionary, type TagName } from '../../content/tag/dictionary.ts';
import { ReactionsReader } from './reactions.ts';
import { type Reactions, END, FORMAT, type Header, kindOfPart, type Part, parts, VERSION } from './format.ts';
import { HiddenReader, type Rows } from './hidden.ts';
import { type FullUserColumns, gameLine, imageLine, type ExportedColumns, userLine } from './views.ts';

/** How many rows are read at once, by how long their lines have been: about as much text each time. */
const READ_BYTES = 2 ** 20;
const MOST_AT_ONCE = 1000;
const FEWEST_AT_ONCE = 10;
const FIRST_AT_ONCE = 200;

/** The parts to export, and since when. */
export interface ExportOptions {
  parts: readonly Part[];
  since: Date | undefined;
}

/** The line from which an export that was interrupted goes on: that of this record is written again. */
export interface ExportPosition {
  part: Part;
  id: string;
}

/** Some lines, each with its line break, and how many records more they tell of. */
export interface Lines {
  text: string;
  records: number;
}

const kinds = { games: gameKind, images: imageKind } as const;
const tables = { users: 'users', games: gameKind.table, images: imageKind.table } as const;

/** Conditions on rows, with their parameters. */
interface Condition {
  sql: string;
  parameters: Parameter[];
}

const conditionOf = ({ since, lastUser }: Header, part: Part): Condition[] => {
  const conditions: Condition[] = [];
  if (since !== null) {
    const time = timeToDb(new Date(since));
    conditions.push({ sql: '(updated_at >= ? OR created_at >= ?)', parameters: [time, time] });
  }
  if (lastUser !== null) {
    conditions.push({ sql: `${part === 'users' ? 'id' : 'author_id'} <= ?`, parameters: [storedIdToBytes(lastUser)] });
  }
  return conditions;
};

/** The first line of an export that begins now. */
export const headerOf = async (db: Database, options: ExportOptions): Promise<Header> => {
  const [last] = options.parts.includes('users')
    ? await db.read<{ id: Bytes }>('SELECT id FROM users ORDER BY id DESC LIMIT 1')
    : [];
  return {
    format: FORMAT,
    version: VERSION,
    parts: parts.filter((part) => options.parts.includes(part)),
    since: options.since?.toISOString() ?? null,
    lastUser: last === undefined ? null : idFromBytes(last.id),
  };
};

/** How many records an export has, from `place` on. */
export const countExported = async (db: Database, header: Header, place?: ExportPosition): Promise<number> => {
  let n = 0;
  for (const part of partsFrom(header, place)) {
    const conditions = conditionOf(header, part);
    if (part === place?.part) conditions.push({ sql: 'id >= ?', parameters: [storedIdToBytes(place.id)] });
    const where = conditions.length === 0 ? '' : `WHERE ${conditions.map(({ sql }) => sql).join(' AND ')}`;
    const [row] = await db.read<{ n: number }>(
      `SELECT COUNT(*) AS n FROM ${tables[part]} ${where}`,
      conditions.flatMap(({ parameters }) => parameters),
    );
    n += row?.n ?? 0;
    if (part !== 'users')
      n += await new HiddenReader(db, kinds[part], header).count(place?.part === part ? place.id : undefined);
  }
  return n;
};

const partsFrom = ({ parts: all }: Header, place: ExportPosition | undefined): readonly Part[] =>
  place === undefined ? all : all.slice(all.indexOf(place.part));

export const lineOf = (value: object): string => `${JSON.stringify(value)}\n`;

/**
 * The lines of an export after the first, from `place` on: users, games and image posts, each in the order of their ids.
 * They are read by key, so that concurrent writes move no other line.
 */
export async function* exportLines(db: Database, header: Header, place?: ExportPosition): AsyncGenerator<Lines> {
  for (const part of partsFrom(header, place)) {
    const from = part === place?.part ? place.id : undefined;
    if (part === 'users') yield* userLines(db, header, from);
    else if (part === 'games') yield* recordLines(db, header, part, gameKind, gameLine, from);
    else yield* recordLines(db, header, part, imageKind, imageLine, from);
  }
  yield { text: lineOf(END), records: 0 };
}

/** The rows of a part, batch by batch; `size` tells how long the lines of the last batch were. */
async function* rowsOf<Row extends { id: Bytes }>(
  db: Database,
  header: Header,
  part: Part,
  columns: readonly string[],
  from: string | undefined,
  size: { bytes: number },
): AsyncGenerator<Rows<Row>> {
  const conditions = conditionOf(header, part);
  const where = conditions.map(({ sql }) => ` AND ${sql}`).join('');
  const parameters = conditions.flatMap((condition) => condition.parameters);
  let sign = '>=';
  let after: Bytes = from === undefined ? Buffer.alloc(0) : storedIdToBytes(from);
  for (let atOnce = FIRST_AT_ONCE; ;) {
    const rows = await db.read<Row>(
      `SELECT ${columns.join(', ')} FROM ${tables[part]} WHERE id ${sign} ?${where} ORDER BY id LIMIT ${atOnce}`,
      [after, ...parameters],
    );
    const last = rows.at(-1);
    const isEnd = last === undefined || rows.length < atOnce;
    yield { rows, after, isAfterIncluded: sign === '>=', upTo: isEnd ? undefined : last.id };
    if (isEnd) return;
    sign = '>';
    after = last.id;
    // In steps, since each number is a statement of its own.
    const fitting = READ_BYTES / Math.max(1, size.bytes / rows.length);
    if (fitting < atOnce) atOnce = Math.max(FEWEST_AT_ONCE, Math.floor(atOnce / 2));
    else if (fitting > 2 * atOnce) atOnce = Math.min(MOST_AT_ONCE, atOnce * 2);
  }
}

const USER_COLUMNS = [
  'id',
  'nickname',
  'bio',
  'pronouns',
  'website',
  'location',
  'social_links',
  'avatar',
  'created_at',
  'updated_at',
  'suspended_at',
  'hidden_at',
];

async function* userLines(db: Database, header: Header, from: string | undefined): AsyncGenerator<Lines> {
  const size = { bytes: 0 };
  for await (const { rows } of rowsOf<FullUserColumns>(db, header, 'users', USER_COLUMNS, from, size)) {
    const text = rows.map((row) => lineOf(userLine(row))).join('');
    size.bytes = text.length;
    yield { text, records: rows.length };
  }
}

/** A row of either kind: the view of a kind looks at what its rows have. */
type ExportedRow = GameColumns & ImagePostColumns & ExportedColumns;

async function* recordLines(
  db: Database,
  header: Header,
  part: 'games' | 'images',
  kind: ContentKind,
  view: (row: ExportedRow, tagNames: string[], audience: Reactions) => object,
  from: string | undefined,
): AsyncGenerator<Lines> {
  const tagIds = `${tagIdsOf(kind, kind.table)} AS tag_ids`;
  const columns = [...sharedColumns, 'author_id', tagIds, ...kind.summaryColumns, ...kind.detailColumns];
  const dictionary = new TagDictionary(db);
  const audiences = new ReactionsReader(db, kind, header.lastUser);
  const size = { bytes: 0 };
  const shown = rowsOf<ExportedRow>(db, header, part, columns, from, size);
  for await (const rows of new HiddenReader(db, kind, header).join(shown)) {
    const [tags, audience] = await Promise.all([
      dictionary.namesOf(
        db,
        rows.map((row) => row.tag_ids),
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
          lines = [lineOf(reactionsLine(kindOfPart[part], id, one))];
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
  favorites: favorites?.length ? favorites : undefined,
  likes: likes?.length ? likes : undefined,
  dislikes: dislikes?.length ? dislikes : undefined,
});
