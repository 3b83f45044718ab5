import { sqliteFile } from '../db/address.ts';
import { openToOthers } from '../db/sqlite/files/permissions.ts';

/** Facts about this process and its configuration. */
interface RuntimeFacts {
  databaseUrl: string;
  /** The user id of the process; undefined on systems without user ids. */
  uid: number | undefined;
  inContainer: boolean;
  /** Whether several processes count rates separately. */
  countsApart: boolean;
  /** Whether the database writes each commit to the disk. */
  isDurable: boolean;
}

/** A warning to the operator. */
export interface Warning {
  message: string;
  /** The file that the warning is about. */
  path?: string;
}

/** Warnings of settings that expose data or callers' rates, or may lose stored data. */
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
