import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { SqliteConnection } from '../binding/binding.ts';
import { logOf } from './wal.ts';
import { pageFaultsBy } from './pages.ts';
import { OBJECTS, type SchemaObject } from './schema-objects.ts';
import { ReadingThreads } from '../threads/threads.ts';

/** The header's offset of the file format read version, and its value for WAL: https://sqlite.org/fileformat.html */
const READ_VERSION_AT = 19;
const WITH_LOG = 2;

const needsLog = (file: string): boolean => {
  const opened = openSync(file, 'r');
  try {
    const version = Buffer.alloc(1);
    return readSync(opened, version, 0, 1, READ_VERSION_AT) === 1 && version[0] === WITH_LOG;
  } finally {
    closeSync(opened);
  }
};

/**
 * The address for reading a file that no process has open, such as a backup. A file without a log beside it is opened
 * as immutable: SQLite would create a log, which fails in a read-only folder.
 */
export const atRest = (file: string): string =>
  needsLog(file) && !existsSync(logOf(file)) ? `${pathToFileURL(file).href}?immutable=1` : file;

/**
 * Copies a snapshot of a database over the empty file `target`, while others may write. The copy is complete without a
 * log. `source` is a path, or the result of `atRest`.
 */
export const copyDatabase = async (
  source: string,
  target: string,
  onProgress: (done: number, total: number) => void,
): Promise<void> => {
  const reader = new SqliteConnection(source);
  try {
    // Not prepared: a statement would keep the file open after `close`.
    reader.exec('PRAGMA query_only = 1; BEGIN; SELECT 1 FROM sqlite_schema');
    await reader.copyTo(target, onProgress);
  } finally {
    reader.close();
  }
  const copy = new SqliteConnection(target);
  try {
    copy.exec('PRAGMA journal_mode = DELETE');
  } finally {
    copy.close();
  }
};

/** The result of inspecting a whole SQLite file. */
export interface Inspection {
  /** Descriptions of its faults; empty if it is sound. */
  faults: string[];
  /** The names of the migrations applied to it, oldest first; empty if it is no database of the service, or corrupt. */
  migrations: string[];
  /** All objects of its schema; empty if it is corrupt. */
  objects: SchemaObject[];
  /** The secrets of its webhooks, as they are stored. */
  secrets: { id: Uint8Array; secret: string }[];
  /** JSON of the place of the deployment that it belongs to, if that is known. */
  place: string | undefined;
}

interface Orphans {
  table: string;
  count: number;
}

/** Checks every page and every foreign key of a file, in another thread. */
export const inspect = async (source: string): Promise<Inspection> => {
  const threads = new ReadingThreads(source, () => undefined);
  const read = <Row>(sql: string): Promise<Row[]> => threads.read(sql, []) as Promise<Row[]>;
  try {
    const broken = await pageFaultsBy(read, 'integrity_check');
    if (broken.length > 0) return { faults: broken, migrations: [], objects: [], secrets: [], place: undefined };
    const orphans = await read<Orphans>(
      'SELECT "table", COUNT(*) AS count FROM pragma_foreign_key_check GROUP BY "table" ORDER BY "table"',
    );
    const objects = await read<SchemaObject>(OBJECTS);
    const has = (table: string): boolean => objects.some(({ type, name }) => type === 'table' && name === table);
    const applied = has('migrations') ? await read<{ name: string }>('SELECT name FROM migrations ORDER BY id') : [];
    const [place] = has('deployment')
      ? await read<{ value: string }>("SELECT value FROM deployment WHERE name = 'place'")
      : [];
    return {
      faults: orphans.map(({ table, count }) => `${count} rows of ${table} refer to rows that are missing`),
      migrations: applied.map(({ name }) => name),
      objects,
      secrets: has('migrations') && has('webhooks') ? await read('SELECT id, secret FROM webhooks') : [],
      place: place?.value,
    };
  } finally {
    await threads.close();
  }
};
