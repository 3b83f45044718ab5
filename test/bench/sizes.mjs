// node test/bench/sizes.mjs <DATABASE_URL>: the bytes that each kind of row takes in a database, with its indexes, as a table of
// docs/sizing.md; and below it the tables themselves. Fill the database by `seed` first.
import { DatabaseSync } from '@photostructure/sqlite';
import { createConnection } from 'mysql2/promise';

/** What operators count, and the tables that hold it. */
const KINDS = [
  ['game', 'games', /^games$|^game_tags$/],
  ['image post', 'image_posts', /^image_posts$|^image_post_tags$/],
  ['user', 'users', /^users$/],
  ['reaction', /_reactions$/, /_reactions$/],
  ['favorite', /_favorites$/, /_favorites$/],
];
const RECORDS = ['games', 'image_posts', 'users'];

const ofSqlite = (file) => {
  const db = new DatabaseSync(file, { readOnly: true });
  const sizes = db
    .prepare(
      `SELECT m.tbl_name AS name, SUM(s.pgsize) AS bytes FROM dbstat s JOIN sqlite_schema m ON m.name = s.name GROUP BY 1`,
    )
    .all();
  return sizes.map(({ name, bytes }) => ({
    name,
    bytes,
    rows: db.prepare(`SELECT COUNT(*) AS n FROM ${name}`).get().n,
  }));
};

const ofServer = async (url) => {
  const connection = await createConnection(url.replace(/^mariadb:/, 'mysql:'));
  const query = async (sql) => (await connection.query(sql))[0];
  const tables = await query('SHOW TABLES');
  const found = [];
  for (const name of tables.flatMap((row) => Object.values(row))) {
    await query(`ANALYZE TABLE ${name}`);
    const [{ bytes }] = await query(
      `SELECT DATA_LENGTH + INDEX_LENGTH AS bytes FROM information_schema.TABLES
      WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '${name}'`,
    );
    const [{ n }] = await query(`SELECT COUNT(*) AS n FROM ${name}`);
    found.push({ name, bytes: Number(bytes), rows: n });
  }
  await connection.end();
  return found;
};

const [url = ''] = process.argv.slice(2);
const tables = await (url.startsWith('sqlite:') ? ofSqlite(url.slice('sqlite:'.length)) : ofServer(url));

const sum = (pick, what) =>
  tables
    .filter(({ name }) => (typeof pick === 'string' ? pick === name : pick.test(name)))
    .reduce((total, table) => total + table[what], 0);
const print = (name, rows, bytes) =>
  console.log(`${name.padEnd(24)}${rows} rows, ${bytes} bytes: ${rows > 0 ? (bytes / rows).toFixed(0) : '-'} each`);

for (const [kind, counted, held] of KINDS) print(kind, sum(counted, 'rows'), sum(held, 'bytes'));
const records = RECORDS.reduce((total, name) => total + sum(name, 'rows'), 0);
print('search, each record', records, sum(/^search_/, 'bytes'));
console.log(`all: ${sum(/./, 'bytes')} bytes\n`);
for (const { name, rows, bytes } of tables.toSorted((a, b) => b.bytes - a.bytes)) print(name, rows, bytes);
