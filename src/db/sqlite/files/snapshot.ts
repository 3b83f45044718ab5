import type { DataSource } from 'typeorm';
import { SqliteConnection } from '../binding/binding.ts';

let count = 0;

const connectionOf = ({ driver }: DataSource): SqliteConnection =>
  (driver as unknown as { databaseConnection: SqliteConnection }).databaseConnection;

/** What an SQLite database holds at a moment, kept in memory, for others that begin as copies of it. */
export class Snapshot {
  readonly #address: string;
  /** What has a name in memory is there as long as somebody has it open. */
  readonly #keeper: SqliteConnection;

  /** Of a database in which no transaction is under way. */
  constructor(source: DataSource) {
    count += 1;
    this.#address = `file:/snapshot-${count}?vfs=memdb`;
    this.#keeper = new SqliteConnection(this.#address);
    connectionOf(source).exec(`VACUUM INTO '${this.#address}'`);
  }

  /** Makes a database that is new, and in memory, a copy: its tables, indexes and rows. */
  fill(target: DataSource): void {
    const connection = connectionOf(target);
    connection.exec(`ATTACH '${this.#address}' AS snapshot`);
    connection.pragma('foreign_keys = OFF');
    connection.exec('BEGIN');
    const made = connection.all(
      "SELECT type, name, sql FROM snapshot.sqlite_schema WHERE name NOT LIKE 'sqlite%' ORDER BY type = 'table' DESC",
    ) as { type: string; name: string; sql: string }[];
    // With the indexes there, SQLite copies what is equal page by page.
    for (const { sql } of made) connection.exec(sql);
    for (const { type, name } of made) {
      if (type === 'table') connection.exec(`INSERT INTO main."${name}" SELECT * FROM snapshot."${name}"`);
    }
    // What the next row of a table is to be called, also where the last ones were deleted.
    connection.exec(
      'DELETE FROM main.sqlite_sequence; INSERT INTO main.sqlite_sequence SELECT * FROM snapshot.sqlite_sequence',
    );
    connection.exec('COMMIT');
    connection.pragma('foreign_keys = ON');
    connection.exec('DETACH snapshot');
  }

  /** What was copied stays. */
  close(): void {
    this.#keeper.close();
  }
}
