import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { serverAddresses } from '../../../db/address.ts';
import type { Database } from '../../../db/database.ts';
import { Hosts } from '../../../db/mysql/hosts.ts';
import { BackupError, faultOf } from '../errors.ts';
import { withPartial } from '../partial.ts';
import { checkPlace } from '../target.ts';
import { type Kind, withCredentials } from './credentials.ts';
import { inspectDump, type Position } from './inspect.ts';
import { dumpArguments, type DumpTool, findTool } from './tool.ts';

interface DumpOptions {
  /** The address of the database. */
  url: string;
  /** The path of the dump; it is compressed if its name ends in `.gz`. */
  file: string;
  /** Whether the dump may replace an existing file. */
  isForced: boolean;
}

/** A dump, and the reason if it names no position although the server has a binary log. */
interface Dumped {
  result: DumpResult;
  lacksPosition: string | undefined;
}

export interface DumpResult {
  file: string;
  bytes: number;
  /** The last migration that its tables have. */
  migration: string;
  /** The position in the server's binary log at the moment of the dump; null if the dump has none. */
  position: Position | null;
}

/** The characters of a failed tool's output that the message quotes, from its end. */
const MOST_WORDS = 2000;

/** Dumps a database into a file. @throws BackupError with the words of the tool when it fails */
const write = async (tool: DumpTool, args: readonly string[], file: string, isGzip: boolean): Promise<void> => {
  const child = spawn(tool.program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let words = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (words = (words + text).slice(-MOST_WORDS)));
  const ended = once(child, 'close') as Promise<[number | null]>;
  // The file is not created again if a signal has removed it meanwhile.
  const output = createWriteStream(file, { flags: 'r+' });
  try {
    await (isGzip ? pipeline(child.stdout, createGzip(), output) : pipeline(child.stdout, output));
  } catch (error) {
    child.kill();
    await ended;
    throw error;
  }
  const [code] = await ended;
  if (code !== 0) throw new BackupError(`${tool.program} failed: ${words.trim() || `status ${code}`}`);
};

/** The server that the service would connect to now. */
const locate = async (url: string) => {
  const hosts = new Hosts(serverAddresses(url), { needsPrimary: true });
  try {
    return (await hosts.locate()).address;
  } finally {
    hosts.close();
  }
};

/** Checks that a dump has all tables: a tool omits tables that its account may not read. @throws BackupError */
const checkTables = async (db: Database, tables: readonly string[]): Promise<string> => {
  const applied = await db.appliedMigrations();
  const pending = await db.pendingMigrations();
  const due = pending.length > 0 ? [] : db.dataSource.entityMetadatas.map(({ tableName }) => tableName);
  const missing = ['migrations', ...due].filter((name) => !tables.includes(name));
  if (missing.length > 0) {
    throw new BackupError(
      `The dump lacks ${missing.join(', ')}: the account may not read all tables, or the database is not the service's.`,
    );
  }
  return applied.at(-1) ?? '';
};

/**
 * Dumps the database of a server, as of one moment, into a file. The dump is read back from the disk to its end before
 * it gets its name. Others may read and write the database meanwhile. @throws BackupError, AppError
 */
export const dump = async (db: Database, { url, file: given, isForced }: DumpOptions): Promise<Dumped> => {
  const file = resolve(given);
  checkPlace(file, isForced);
  // A dump through vtgate reads each shard at another moment, and omits tables that vtgate routes to shards.
  if (db.dialect.isSharded)
    throw new BackupError(
      'The records of this database are on several shards: back them up by Vitess, or use "export".',
    );
  const server = db.dialect.engine as Kind;
  const address = await locate(url);
  const tool = await findTool(server);
  // This is a variable of the server and needs no table.
  const [log] = await db.read<{ isOn: number | string }>('SELECT @@log_bin AS isOn');
  const hasLog = Number(log?.isOn) === 1;
  const hasPosition = hasLog && tool.kind === server;
  const isGzip = file.endsWith('.gz');
  try {
    return await withPartial(file, async (partial) => {
      await withCredentials({ address, kind: tool.kind, place: file }, (optionFile) => {
        const args = dumpArguments(tool, { server, optionFile, database: address.database, hasPosition });
        return write(tool, args, partial.path, isGzip);
      });
      const { tables, position } = await inspectDump(partial.path, { isGzip });
      const migration = await checkTables(db, tables);
      partial.publish(isForced);
      const lacksPosition = hasLog && !hasPosition ? `${tool.program} is not of the kind of the server` : undefined;
      return { result: { file, bytes: statSync(file).size, migration, position }, lacksPosition };
    });
  } catch (error) {
    throw faultOf(error, { read: 'the database', written: file });
  }
};
