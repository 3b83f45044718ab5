import type { Reader } from './connection.ts';

interface Flush {
  flush: number;
}

/** Whether commits are on the disk. SQLite's are; a server's are unless its operator prefers speed. */
export const isDurable = async (reader: Reader): Promise<boolean> => {
  if (reader.dialect.engine === 'sqlite') return true;
  const [row] = await reader.read<Flush>('SELECT @@innodb_flush_log_at_trx_commit AS flush');
  return row?.flush === 1;
};
