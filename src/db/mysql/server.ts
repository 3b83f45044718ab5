import { Deadline } from '../../base/deadline.ts';
import type { SessionPool } from './pool.ts';

/** MariaDB, or MySQL and what speaks its protocol. */
export type ServerEngine = 'mysql' | 'mariadb';

const ASK_TIMEOUT_MS = 10_000;
/** Vitess' own statement, one row for each keyspace. */
const KEYSPACES = 'SHOW VSCHEMA KEYSPACES';

/**
 * Asks the server for its engine, whatever the URL says: TypeORM treats the schemas of MariaDB and MySQL differently; and
 * whether it is a Vitess with tables on several shards.
 */
export const askServer = async (pool: SessionPool): Promise<{ engine: ServerEngine; isSharded: boolean }> => {
  const deadline = new Deadline(ASK_TIMEOUT_MS);
  const [row] = (await pool.read('SELECT VERSION() AS version', [], deadline)) as { version: string }[];
  const { version = '' } = row ?? {};
  const keyspaces = /vitess/i.test(version)
    ? ((await pool.read(KEYSPACES, [], deadline)) as { Sharded: string }[])
    : [];
  return {
    engine: /mariadb/i.test(version) ? 'mariadb' : 'mysql',
    isSharded: keyspaces.some(({ Sharded }) => Sharded === 'true'),
  };
};
