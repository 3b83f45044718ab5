/** A table, index, trigger or view, as in `sqlite_schema`. */
export interface SchemaObject {
  type: string;
  name: string;
  /** The table that it belongs to. */
  table: string;
  /** The statement that created it; null for an index that a table implies. */
  sql: string | null;
}

/** Selects all objects of a schema. */
export const OBJECTS = 'SELECT type, name, tbl_name AS "table", sql FROM sqlite_schema ORDER BY rowid';

const TOKEN = /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?\*\/|[\p{L}\p{N}_$]+|\S/gu;
const MOST_SHOWN = 80;
const PLAIN_NAME = /^"([a-z][a-z0-9_]*)"$/;

/**
 * The words of a statement, with our names unquoted: SQLite quotes names when it changes a table, TypeORM when it
 * creates one. Our names are in lower case, keywords in capitals: a quoted keyword, which is a name, stays different.
 */
const wordsOf = (sql: string): string =>
  Array.from(sql.matchAll(TOKEN), ([word]) => PLAIN_NAME.exec(word)?.[1] ?? word).join(' ');

/** The tables that SQLite itself creates, for automatic ids and for ANALYZE. */
const OWN_TO_SQLITE = new Map(
  [
    'CREATE TABLE sqlite_sequence(name,seq)',
    'CREATE TABLE sqlite_stat1(tbl,idx,stat)',
    'CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)',
  ].map((sql) => [/TABLE (\w+)/.exec(sql)?.[1] ?? '', wordsOf(sql)]),
);

const isOwnToSqlite = ({ type, name, sql }: SchemaObject): boolean =>
  type === 'table' && sql !== null && OWN_TO_SQLITE.get(name) === wordsOf(sql);

/** Whether a table implies this index. SQLite opens no file that has such an index without its table. */
const isBroughtAlong = ({ type, name, sql }: SchemaObject): boolean =>
  type === 'index' && sql === null && name.startsWith('sqlite_autoindex_');

/** A name of unknown origin, in quotes and cut to `MOST_SHOWN` characters. */
const quoted = (name: string): string =>
  JSON.stringify(name.length > MOST_SHOWN ? `${name.slice(0, MOST_SHOWN)}…` : name);

const TYPES = ['table', 'index', 'trigger', 'view'];

const titleOf = ({ type, name, table }: SchemaObject): string =>
  !TYPES.includes(type)
    ? `the entry ${quoted(name)}`
    : type === 'table' || type === 'view'
      ? `the ${type} ${quoted(name)}`
      : `the ${type} ${quoted(name)} of ${quoted(table)}`;

/** Descriptions of the missing, unexpected and different objects of a schema. */
export const schemaFaults = (found: readonly SchemaObject[], expected: readonly SchemaObject[]): string[] => {
  const keyOf = ({ type, name, table }: SchemaObject): string => JSON.stringify([type, name, table]);
  const isCompared = (object: SchemaObject): boolean => !isBroughtAlong(object) && !isOwnToSqlite(object);
  const missing = new Map(expected.filter(isCompared).map((object) => [keyOf(object), object]));
  const faults: string[] = [];
  for (const object of found.filter(isCompared)) {
    const due = missing.get(keyOf(object));
    missing.delete(keyOf(object));
    if (!due) faults.push(`${titleOf(object)} is none of this service's`);
    else if (wordsOf(due.sql ?? '') !== wordsOf(object.sql ?? '')) {
      faults.push(`${titleOf(object)} is not as the migrations make it`);
    }
  }
  return [...faults, ...[...missing.values()].map((object) => `${titleOf(object)} is missing`)];
};
