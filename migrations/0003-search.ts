import { type MigrationInterface, type QueryRunner, Table, type TableOptions } from 'typeorm';

type Column = NonNullable<TableOptions['columns']>[number];

const tables = (isSqlite: boolean): TableOptions[] => {
  const big = { type: isSqlite ? 'integer' : 'bigint' };
  const count = isSqlite ? { type: 'integer' } : { type: 'int', unsigned: true };
  const small = { type: isSqlite ? 'integer' : 'smallint' };
  const flag = { type: 'boolean' };
  const text = isSqlite ? { type: 'text' } : { type: 'mediumtext', charset: 'utf8mb4', collation: 'utf8mb4_bin' };
  const blob = { type: isSqlite ? 'blob' : 'mediumblob' };
  const key = isSqlite ? { type: 'blob' } : { type: 'binary', length: '22' };
  const gram = isSqlite ? { type: 'blob' } : { type: 'varbinary', length: '255' };
  const primary = { isPrimary: true };
  const segment: Column = { name: 'segment', ...big, ...primary };
  return [
    {
      name: 'search_kinds',
      columns: [
        { name: 'kind', ...small, ...primary },
        { name: 'generation', ...big },
        { name: 'ready', ...flag },
        { name: 'holder', ...big },
        { name: 'held_until', ...big },
      ],
    },
    {
      name: 'search_tail',
      columns: [
        { name: 'id', ...big, ...primary, isGenerated: true, generationStrategy: 'increment' },
        { name: 'kind', ...small },
        { name: 'replaces', ...flag },
        { name: 'doc_key', ...key },
        { name: 'text', ...text },
        { name: 'labels', ...text },
      ],
    },
    {
      name: 'search_segments',
      columns: [
        { name: 'id', ...big, ...primary },
        { name: 'kind', ...small },
        { name: 'level', ...small },
        { name: 'state', ...small },
        { name: 'size', ...count },
        { name: 'removals', ...count },
        { name: 'first_key', ...key },
        { name: 'last_key', ...key },
        { name: 'builder', ...big },
        { name: 'touched', ...big },
      ],
      indices: [{ name: 'search_segments_kind', columnNames: ['kind', 'state'] }],
    },
    {
      name: 'search_keys',
      columns: [segment, { name: 'chunk', ...count, ...primary }, { name: 'data', ...blob }],
    },
    { name: 'search_texts', columns: [segment, { name: 'data', ...blob }] },
    { name: 'search_blocks', columns: [segment, { name: 'gram', ...gram, ...primary }, { name: 'data', ...blob }] },
    {
      name: 'search_removals',
      columns: [segment, { name: 'removal', ...count, ...primary }, { name: 'docs', ...blob }],
    },
  ];
};

/** The searchable kinds: their numbers, and their tables. */
const kinds = [
  [1, 'games'],
  [2, 'image_posts'],
  [3, 'users'],
] as const;

const tablesOn = (runner: QueryRunner): TableOptions[] =>
  tables(!['mysql', 'mariadb'].includes(runner.connection.options.type));

/** The search index. The service indexes existing records; until then, searches scan them without the index. */
export class Search1763700000003 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const table of tablesOn(runner)) await runner.createTable(new Table(table));
    for (const [kind, table] of kinds) {
      await runner.query(
        `INSERT INTO search_kinds (kind, generation, ready, holder, held_until)
        SELECT ${kind}, 0, CASE WHEN EXISTS (SELECT 1 FROM ${table}) THEN 0 ELSE 1 END, 0, 0`,
      );
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of tablesOn(runner).toReversed()) await runner.dropTable(table.name);
  }
}
