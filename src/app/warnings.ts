import { sqliteFile } from '../db/address.ts';
import { openToOthers } from '../db/sqlite/files/permissions.ts';

/** What is known of this process. */
interface RuntimeFacts {
  databaseUrl: string;
  /** The user it runs as; undefined where users have no numbers. */
  uid: number | undefined;
  inContainer: boolean;
  /** Whether several processes hold callers to rates, each by what it counts itself. */
  countsApart: boolean;
  /** Whether the database has what is committed on the disk. */
  isDurable: boolean;
}

/** Something about how the service runs that its operator should change. */
export interface Warning {
  message: string;
  /** The file it is about. */
  path?: string;
}

/** What lets others at the service's data or callers do more than they may, and what may lose what is stored. */
export const warningsOf = ({ databaseUrl, uid, inContainer, countsApart, isDurable }: RuntimeFacts): Warning[] => [
  ...(uid === 0 && !inContainer
    ? [{ message: 'runs as root: give the service an account of its own, which owns its data and nothing else' }]
    : []),
  ...(countsApart
    ? [{ message: 'each worker counts rates by itself: with REDIS_URL they count together, and as RATE_LIMIT says' }]
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
