import { sqliteFile } from './db/address.ts';
import { openToOthers } from './db/sqlite-files.ts';

/** What is known of this process. */
interface Circumstances {
  databaseUrl: string;
  /** The user it runs as; undefined where users have no numbers. */
  uid: number | undefined;
  inContainer: boolean;
  /** Whether the database has what is committed on the disk. */
  isDurable: boolean;
}

/** Something about how the service runs that its operator should change. */
export interface Warning {
  message: string;
  /** The file it is about. */
  path?: string;
}

/** What lets others at the service's data, or the service at others', and what may lose it. */
export const warningsOf = ({ databaseUrl, uid, inContainer, isDurable }: Circumstances): Warning[] => [
  ...(uid === 0 && !inContainer
    ? [{ message: 'runs as root: give the service an account of its own, which owns its data and nothing else' }]
    : []),
  ...(databaseUrl.startsWith('sqlite:') ? openToOthers(sqliteFile(databaseUrl)) : []).map((path) => ({
    path,
    message: 'other users of this machine may read the database: chmod 600 it',
  })),
  ...(isDurable
    ? []
    : [
        {
          message:
            'a power loss may lose what callers were told is stored: set innodb_flush_log_at_trx_commit=1 on the server',
        },
      ]),
];
