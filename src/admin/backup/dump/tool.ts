import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { BackupError } from '../errors.ts';
import type { Kind } from './credentials.ts';

const execute = promisify(execFile);

/** A program that dumps databases. Debian also installs MariaDB's program under the name of MySQL's. */
export interface DumpTool {
  program: string;
  kind: Kind;
}

/** The names of the programs; programs of the server's own kind are first. */
const PROGRAMS: Record<Kind, readonly string[]> = {
  mariadb: ['mariadb-dump', 'mysqldump'],
  mysql: ['mysqldump', 'mariadb-dump'],
};

const kindOf = async (program: string): Promise<Kind | undefined> => {
  try {
    const { stdout } = await execute(program, ['--version']);
    return /mariadb/i.test(stdout) ? 'mariadb' : 'mysql';
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
};

/** Finds a tool that can dump a server of this kind. @throws BackupError when none is installed */
export const findTool = async (server: Kind): Promise<DumpTool> => {
  for (const program of PROGRAMS[server]) {
    const kind = await kindOf(program);
    if (kind) return { program, kind };
  }
  const names = PROGRAMS[server].join(' nor ');
  throw new BackupError(`There is neither ${names} on the PATH: install the client that comes with your server.`);
};

/** The option that writes the position in the binary log into the dump, as a comment. */
const POSITION: Record<Kind, string> = { mariadb: '--master-data=2', mysql: '--source-data=2' };

/** The arguments for a dump of one moment, during which others may write. */
export const dumpArguments = (
  { kind }: DumpTool,
  {
    server,
    optionFile,
    database,
    hasPosition,
  }: { server: Kind; optionFile: string; database: string; hasPosition: boolean },
): string[] => [
  // This option must be the first. The tool ignores all other option files of the account.
  `--defaults-file=${optionFile}`,
  '--single-transaction',
  '--hex-blob',
  '--no-tablespaces',
  '--default-character-set=utf8mb4',
  ...(hasPosition ? [POSITION[kind]] : []),
  // Otherwise a restored database would claim the transactions of the server.
  ...(kind === 'mysql' ? ['--set-gtid-purged=OFF'] : []),
  // MariaDB has no such statistics.
  ...(kind === 'mysql' && server === 'mariadb' ? ['--column-statistics=0'] : []),
  '--',
  database,
];
