import { EntitySchema, type EntitySchemaColumnOptions, type EntitySchemaOptions, type ValueTransformer } from 'typeorm';
import type { Engine } from '../dialect.ts';
import { type Bytes, idFromBytes, timeFromDb } from '../values.ts';
import { columnTypes, idTransformer, jsonTransformer } from './columns.ts';

// The only description of a table: its columns define its entity, the types of its rows and the names in statements.

/** A column: `Value` is what the code holds, `Stored` what the drivers return. */
export interface Column<Value = unknown, Stored = unknown> {
  /** Its name in the database, if that differs from its member's name in snake case. */
  readonly name?: string;
  readonly options: (types: ReturnType<typeof columnTypes>) => EntitySchemaColumnOptions;
  /** Converts a stored value that is not null (default: no conversion). */
  readonly read?: (stored: never) => unknown;
  /** For types only. */
  readonly value?: Value;
  readonly stored?: Stored;
}

/** The columns of a table, by the members of its rows. */
export type Columns = Readonly<Record<string, Column>>;

/** A row, as repositories read and write it. */
export type RowOf<C extends Columns> = {
  -readonly [Member in keyof C]: C[Member] extends Column<infer Value> ? Value : never;
};

/** A row as the drivers return it: ids are bytes, instants and JSON are texts, flags are 0 or 1. */
export type StoredOf<C extends Columns> = {
  -readonly [Member in keyof C]: C[Member] extends Column<unknown, infer Stored> ? Stored : never;
};

const ofType = <Value, Stored = Value>(
  options: Column['options'],
  read?: (stored: Stored) => Value,
): Column<Value, Stored> => ({ options, ...(read && { read }) });

const wordsTransformer: ValueTransformer = {
  to: (words: readonly string[] | undefined) => words?.join(','),
  from: (stored: string | null | undefined) => stored?.split(','),
};

/** The columns that tables are made of: see `columnTypes`. */
export const column = {
  id: ofType<string, Bytes>(({ id }) => ({ ...id, transformer: idTransformer }), idFromBytes),
  hash: ofType<Buffer, Bytes>(
    ({ hash }) => hash,
    (stored) => Buffer.from(stored),
  ),
  text: <Value extends string = string>(length: number) => ofType<Value>(({ text }) => text(length)),
  longText: ofType<string>(({ longText }) => longText),
  json: <Value>() =>
    ofType<Value, string>(
      ({ longText }) => ({ ...longText, transformer: jsonTransformer }),
      (stored) => JSON.parse(stored) as Value,
    ),
  /** A list of words as one text with commas, of at most `length` characters. */
  words: <Word extends string>(length: number) =>
    ofType<Word[], string>(
      ({ text }) => ({ ...text(length), transformer: wordsTransformer }),
      (stored) => stored.split(',') as Word[],
    ),
  time: ofType<Date, string>(
    ({ time }) => time,
    (stored) => new Date(timeFromDb(stored)),
  ),
  /** A fixed number of bytes. */
  bytes: (length: number) => ofType<Bytes>(({ bytes }) => bytes(length)),
  atMostBytes: (length: number) => ofType<Bytes>(({ atMostBytes }) => atMostBytes(length)),
  /** Up to 16 MiB. */
  blob: ofType<Bytes>(({ blob }) => blob),
  count: ofType<number>(({ count }) => count),
  serial: ofType<number>(({ serial }) => serial),
  big: ofType<number>(({ big }) => big),
  small: ofType<number>(({ small }) => small),
  flag: ofType<boolean, number>(
    ({ flag }) => flag,
    (stored) => stored === 1,
  ),
};

/** A column with further options of TypeORM, such as `primary`. */
export const optioned = <Value, Stored>(
  options: Partial<EntitySchemaColumnOptions>,
  base: Column<Value, Stored>,
): Column<Value, Stored> => ({ ...base, options: (types) => ({ ...base.options(types), ...options }) });

export const primary = <Value, Stored>(base: Column<Value, Stored>): Column<Value, Stored> =>
  optioned({ primary: true }, base);

export const nullable = <Value, Stored>(base: Column<Value, Stored>): Column<Value | null, Stored | null> =>
  optioned<Value | null, Stored | null>({ nullable: true }, base);

/** A column whose name differs from that of its member. */
export const named = <Value, Stored>(name: string, base: Column<Value, Stored>): Column<Value, Stored> => ({
  ...base,
  name,
});

const inSnakeCase = (member: string): string => member.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The member of a column that is named after its member. */
export const memberOf = (name: string): string =>
  name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** Some of the columns of a table. */
export const picked = <C extends Columns, Member extends keyof C & string>(
  columns: C,
  ...members: readonly Member[]
): Pick<C, Member> => Object.fromEntries(members.map((member) => [member, columns[member]])) as Pick<C, Member>;

/** The name that a member has in statements. */
export const columnName = (columns: Columns, member: string): string => columns[member]?.name ?? inSnakeCase(member);

export const columnNames = (columns: Columns): string[] =>
  Object.keys(columns).map((member) => columnName(columns, member));

/** The columns of a SELECT, each under its member's name; `table` is the table's name in the statement. */
export const selected = (columns: Columns, table: string): string =>
  Object.keys(columns)
    .map((member) => {
      const name = columnName(columns, member);
      return name === member ? `${table}.${name}` : `${table}.${name} AS ${member}`;
    })
    .join(', ');

const renamed = (row: object, rename: (name: string) => string): Record<string, unknown> =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [rename(name), value]));

/** Renames the columns of a row in the database to its members. */
export const byMember = (row: object): Record<string, unknown> => renamed(row, memberOf);

/** Renames the members of a row to the database's columns: the inverse of `byMember`. */
export const byName = (row: object): Record<string, unknown> => renamed(row, inSnakeCase);

/** Converts a row that the drivers returned. */
export const rowOf = <C extends Columns>(columns: C, stored: StoredOf<C>): RowOf<C> =>
  Object.fromEntries(
    Object.entries(columns).map(([member, { read }]) => {
      const value = stored[member];
      return [member, read && value !== null ? read(value as never) : value];
    }),
  ) as RowOf<C>;

/** Makes the entity of a table on an engine. */
export const entityOf = <C extends Columns>(
  engine: Engine,
  { columns, ...table }: Omit<EntitySchemaOptions<RowOf<C>>, 'columns'> & { columns: C },
): EntitySchema<RowOf<C>> => {
  const types = columnTypes(engine);
  const described = Object.entries(columns).map(([member, { options }]) => [
    member,
    { name: columnName(columns, member), ...options(types) },
  ]);
  return new EntitySchema<RowOf<C>>({
    ...table,
    columns: Object.fromEntries(described) as EntitySchemaOptions<RowOf<C>>['columns'],
  });
};

/** A foreign key from a member that ends in `Id`: rows are deleted with the row they refer to. */
export const goesWith = (table: string, member: `${string}Id`, target: string) => ({
  name: `fk_${table}_${inSnakeCase(member.slice(0, -'Id'.length))}`,
  target,
  columnNames: [member],
  referencedColumnNames: ['id'],
  onDelete: 'CASCADE' as const,
});
