import type { Reader } from './connection.ts';
import { timeFromDb } from './values.ts';

/** The facts of a database server and of the connection to it. */
export interface ServerFacts {
  /** `10.11.14-MariaDB` */
  version: string;
  now: Date;
  /** The cipher of this connection; undefined where it is not encrypted, or where the server does not say. */
  cipher: string | undefined;
  /** The maximum and current numbers of connections; undefined where the server, or a proxy, does not report them. */
  connections: { most: number; now: number } | undefined;
}

interface Variable {
  Variable_name: string;
  Value: string;
}

/** Reads a statement that a proxy in front of the server may not know. */
const readIfKnown = async <Row>(reader: Reader, sql: string): Promise<Row[]> => {
  try {
    return await reader.read<Row>(sql);
  } catch {
    return [];
  }
};

/** The facts of the server; undefined for SQLite, which has none. */
export const readServerFacts = async (reader: Reader): Promise<ServerFacts | undefined> => {
  if (reader.dialect.engine === 'sqlite') return undefined;
  const [row] = await reader.read<{ server_version: string; server_time: string }>(
    'SELECT VERSION() AS server_version, UTC_TIMESTAMP(3) AS server_time',
  );
  const [limit] = await readIfKnown<{ connection_limit: number | string }>(
    reader,
    'SELECT @@max_connections AS connection_limit',
  );
  const status = new Map(
    (await readIfKnown<Variable>(reader, "SHOW STATUS WHERE Variable_name IN ('Ssl_cipher', 'Threads_connected')")).map(
      ({ Variable_name: name, Value: value }) => [name.toLowerCase(), value],
    ),
  );
  const connected = Number(status.get('threads_connected'));
  return {
    version: row?.server_version ?? 'unknown',
    now: new Date(timeFromDb(row?.server_time ?? '')),
    cipher: status.get('ssl_cipher') || undefined,
    connections: limit && connected > 0 ? { most: Number(limit.connection_limit), now: connected } : undefined,
  };
};

interface Flush {
  flush: number;
}

/** Whether commits are on the disk. SQLite's are; a server's are unless its operator prefers speed. */
export const isDurable = async (reader: Reader): Promise<boolean> => {
  if (reader.dialect.engine === 'sqlite') return true;
  const [row] = await reader.read<Flush>('SELECT @@innodb_flush_log_at_trx_commit AS flush');
  return row?.flush === 1;
};
