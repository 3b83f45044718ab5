import { sqliteFile } from '../db/address.ts';
import { isOpenToAll, openToOthers } from '../db/sqlite/files/permissions.ts';

/** The dates of the last security fixes for each major version of Node.js: https://github.com/nodejs/release */
const END_OF_NODE: Readonly<Record<string, string>> = {
  '20': '2026-04-30',
  '21': '2024-06-01',
  '22': '2027-04-30',
  '23': '2025-06-01',
  '24': '2028-04-30',
  '25': '2026-06-01',
  '26': '2029-04-30',
};

/** Facts about this process and its configuration. */
interface RuntimeFacts {
  databaseUrl: string;
  /** The processes that share the port. */
  workers: number;
  /** The files that contained secrets. */
  secretFiles: readonly string[];
  /** The user id of the process; undefined on systems without user ids. */
  uid: number | undefined;
  inContainer: boolean;
  /** Whether several processes count rates separately. */
  countsApart: boolean;
  /** Whether webhooks cannot be created, since a key is missing. */
  lacksWebhookKey: boolean;
  /** Whether the database writes each commit to the disk. */
  isDurable: boolean;
  /** For example `20.19.0`. */
  nodeVersion: string;
  now: Date;
}

/** A warning to the operator. */
export interface Warning {
  message: string;
  /** The file that causes the warning. */
  path?: string;
}

const endOfNode = (nodeVersion: string): string | undefined => END_OF_NODE[nodeVersion.split('.', 1)[0] ?? ''];

const when = (isSo: boolean, message: string): Warning[] => (isSo ? [{ message }] : []);
const forEach = (paths: readonly string[], message: string): Warning[] => paths.map((path) => ({ path, message }));

/** Warns of settings that expose data or callers' rates, or may lose stored data, and of an outdated Node.js. */
export const warningsOf = (facts: RuntimeFacts): Warning[] => {
  const { databaseUrl, workers, secretFiles, uid, inContainer, nodeVersion, now } = facts;
  const isSqlite = databaseUrl.startsWith('sqlite:');
  const nodeEnds = endOfNode(nodeVersion);
  return [
    ...when(
      uid === 0 && !inContainer,
      'runs as root: give the service an account of its own, which owns its data and nothing else',
    ),
    ...when(
      facts.countsApart,
      'each worker counts rates by itself: with REDIS_URL they count together, and as RATE_LIMIT says',
    ),
    ...when(
      workers > 1 && isSqlite,
      `WORKERS is ${workers}, and SQLite takes the writes of one process at a time: use WORKERS=1, or MySQL or MariaDB`,
    ),
    ...when(
      facts.lacksWebhookKey,
      'no webhook can be created: set WEBHOOK_SECRET_KEY, which their secrets are encrypted with; docs/operations.md tells how',
    ),
    ...forEach(
      isSqlite ? openToOthers(sqliteFile(databaseUrl)) : [],
      'other users of this machine may read the database: chmod 600 it',
    ),
    ...forEach(
      secretFiles.filter(isOpenToAll),
      'other users of this machine may read this secret: chmod 640 it, or less',
    ),
    ...when(
      !facts.isDurable,
      'a power loss may lose what callers were told is stored: set innodb_flush_log_at_trx_commit=1 on the server',
    ),
    ...when(
      now.toISOString().slice(0, 10) > (nodeEnds ?? '9999'),
      `Node.js ${nodeVersion} gets no security fixes since ${nodeEnds}: it still works, but update to a maintained version of Node.js 24 or newer`,
    ),
  ];
};
