import type { DataSource } from 'typeorm';
import { SqliteConnection } from '../binding/binding.ts';

let count = 0;

const connectionOf = ({ driver }: DataSource): SqliteConnection =>
  (driver as unknown as { databaseConnection: SqliteConnection }).databaseConnection;

/** A snapshot of an SQLite database in memory, from which new databases are filled. */
export class Snapshot {
  readonly #address: string;
  /** Keeps the snapshot alive: a named in-memory database exists as long as a connection has it open. */
  readonly #keeper: SqliteConnection;

  /** Takes a snapshot of a database, which must have no open transaction. */
  constructor(source: DataSource) {
    count += 1;
    this.#address = `file:/snapshot-${count}?vfs=memdb`;
    this.#keeper = new SqliteConnection(this.#address);
    connectionOf(source).exec(`VACUUM INTO '${this.#address}'`);
  }

  /** Copies the tables, indexes and rows into a new in-memory database. */
  fill(target: DataSource): void {
    const connection = connectionOf(target);
    connection.exec(`ATTACH '${this.#address}' AS snapshot`);
    connection.pragma('foreign_keys = OFF');
    connection.exec('BEGIN');
    const made = connection.all(
      "SELECT type, name, sql FROM snapshot.sqlite_schema WHERE name NOT LIKE 'sqlite%' ORDER BY type = 'table' DESC",
    ) as { type: string; name: string; sql: string }[];
    // With the same indexes in place, SQLite copies tables page by page.
    for (const { sql } of made) connection.exec(sql);
    for (const { type, name } of made) {
      if (type === 'table') connection.exec(`INSERT INTO main."${name}" SELECT * FROM snapshot."${name}"`);
    }
    // Copies the next automatic id of each table, which may exceed its rows' ids.
    connection.exec(
      'DELETE FROM main.sqlite_sequence; INSERT INTO main.sqlite_sequence SELECT * FROM snapshot.sqlite_sequence',
    );
    connection.exec('COMMIT');
    connection.pragma('foreign_keys = ON');
    connection.exec('DETACH snapshot');
  }

  /** Frees the snapshot. The copies stay. */
  close(): void {
    this.#keeper.close();
  }
}
