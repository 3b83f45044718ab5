import { createConnection, type RowDataPacket } from 'mysql2/promise';
import { connectionOptions } from '../app/database.ts';
import { type ServerProgram, startServer } from './servers.ts';

/** A server with the empty database `content`, and an account for it that must not write while the server is read-only. */
export interface AccountServer {
  /** The address of the database, by that account. */
  url: string;
  /** The address of the server, by an account that may do everything. */
  rootUrl: string;
  /** Runs statements by the latter. Resolves with the rows of the last one. */
  run(...statements: string[]): Promise<RowDataPacket[]>;
  stop(): Promise<void>;
}

/** Starts a server of its own for a test that sets what holds for all accounts. */
export const startWithAccount = async (name: 'mariadb' | 'mysql', program: ServerProgram): Promise<AccountServer> => {
  const server = await startServer(name, program);
  const run = async (...statements: string[]): Promise<RowDataPacket[]> => {
    const connection = await createConnection(connectionOptions(new URL(server.url)));
    let rows: RowDataPacket[] = [];
    for (const sql of statements) [rows] = await connection.query<RowDataPacket[]>(sql);
    await connection.end();
    return rows;
  };
  await run(
    'CREATE DATABASE content CHARACTER SET utf8mb4 COLLATE utf8mb4_bin',
    // Root may write in spite of read_only.
    "CREATE USER gateway@'127.0.0.1'",
    "GRANT ALL ON content.* TO gateway@'127.0.0.1'",
  );
  const url = new URL(server.url);
  url.username = 'gateway';
  url.pathname = '/content';
  return { url: url.href, rootUrl: server.url, run, stop: () => server.stop() };
};
