import { DataSource, type DataSourceOptions, type QueryRunner } from 'typeorm';
import { performance, sleep } from '../../base/runtime.ts';
import { Deadline } from '../../base/deadline.ts';
import { AppError } from '../../base/errors.ts';
import { IN_MEMORY, sqliteFile } from '../address.ts';
import type { Connection, DatabaseOptions, DatabaseSize, Parameter, Schema } from '../connection.ts';
import { dialectOf } from '../dialect.ts';
import type { RunStatement } from '../migration/run.ts';
import type { DatabaseObserver, PoolUsage } from '../../base/observer.ts';
import { SqliteConnection } from './binding/binding.ts';
import { faultOf, FileFault, isBusy, isForeignKeyError } from './errors.ts';
import { SqliteFile } from './database-file.ts';
import { pageFaultsBy } from './files/pages.ts';
import { makePrivate } from './files/permissions.ts';
import { vacuum } from './files/vacuum.ts';
import { SqliteHealth } from './health.ts';
import { FairMutex, migrateOn, type Purpose, transactionOn, watched } from './transaction.ts';
import { stat, statfs } from 'node:fs/promises';

/** The size of a file in bytes; 0 if it does not exist. */
const bytesOf = async (path: string): Promise<number> => {
  const stats = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  return stats?.size ?? 0;
};

/** The size of a database with its log, and of the file system that holds both. */
const sizeOfFile = async (file: string): Promise<DatabaseSize> => {
  const [{ size }, log, { bsize, blocks, bavail }] = await Promise.all([
    stat(file),
    bytesOf(`${file}-wal`),
    statfs(file),
  ]);
  return { bytes: size + log, disk: { bytes: blocks * bsize, freeBytes: bavail * bsize } };
};

/** How long opening waits for another process. */
const BUSY_TIMEOUT_MS = 5000;
/** How long a transaction waits for its turn and for another process that writes. */
const WRITE_PATIENCE_MS = 5000;
/** The same for background work, which is retried: calls wait while it holds its turn. */
const BACKGROUND_PATIENCE_MS = 500;
const MIGRATION_PATIENCE_MS = 120_000;
const RETRY_PAUSE_MS = 10;

/**
 * Retries a transaction while another process writes. SQLite's own waiting would block this whole process.
 * @throws AppError OVERLOADED at the time `until`, the error of a deadline, and other errors of `transaction`
 */
const whenFree = async <T>(
  until: number,
  transaction: () => Promise<T>,
  deadlines: readonly (Deadline | undefined)[],
): Promise<T> => {
  for (;;) {
    try {
      return await transaction();
    } catch (error) {
      if (!isBusy(error)) throw error;
      for (const deadline of deadlines) deadline?.assert();
      if (performance.now() > until) throw new AppError('OVERLOADED', { cause: error });
      await sleep(RETRY_PAUSE_MS);
    }
  }
};

const writerOf = (dataSource: DataSource): SqliteConnection => {
  const { databaseConnection: writer } = dataSource.driver as unknown as { databaseConnection: SqliteConnection };
  writer.pragma('busy_timeout = 0');
  return writer;
};

const unavailable = (file: string, error: unknown): AppError =>
  new AppError('DATABASE_UNAVAILABLE', {
    hint: `cannot open the SQLite file ${file}: ${(error as Error).message}`,
    fault: faultOf(error, file),
    cause: error,
  });

/**
 * Opens an SQLite file. A database in memory belongs to one connection, so its readers take turns with the writers.
 * @throws AddressError, AppError DATABASE_UNAVAILABLE
 */
export const openSqlite = async (
  url: string,
  schema: Schema,
  { observer, readers }: Pick<DatabaseOptions, 'observer' | 'readers'> = {},
): Promise<Connection> => {
  const file = sqliteFile(url);
  const dataSource = new DataSource({
    type: 'better-sqlite3',
    driver: SqliteConnection,
    database: file,
    timeout: BUSY_TIMEOUT_MS,
    enableWAL: true,
    entities: schema.entities('sqlite'),
    migrations: schema.migrations,
  } satisfies DataSourceOptions);
  try {
    makePrivate(file);
    await dataSource.initialize();
    return file === IN_MEMORY ? inMemory(dataSource, observer) : inFile(file, dataSource, { observer, readers });
  } catch (error) {
    throw unavailable(file, error);
  }
};

const common = (file: string, dataSource: DataSource) => ({
  dialect: dialectOf('sqlite'),
  dataSource,
  isTransient: isBusy,
  isForeignKeyError,
  faultOf: (error: unknown) => faultOf(error, file),
});

/** Runs `work`, which migrates. */
const migrating = <T>(
  dataSource: DataSource,
  work: (runner: QueryRunner, run: RunStatement) => Promise<T>,
): Promise<T> => {
  const runner = dataSource.createQueryRunner();
  return work(runner, (sql) => runner.query(sql));
};

/** The queue of writing transactions. */
const turnsOf = (observer: DatabaseObserver | undefined): FairMutex =>
  new FairMutex((usage) => observer?.pool('writer', usage));

const inMemory = (dataSource: DataSource, observer: DatabaseObserver | undefined): Connection => {
  const writer = writerOf(dataSource);
  const turns = turnsOf(observer);
  return {
    ...common(IN_MEMORY, dataSource),
    read: (sql, parameters, deadline, workload) =>
      turns.run(async () => watched(turns.observer, sql, () => writer.all(sql, parameters)), {
        deadline,
        workload,
      }),
    transaction: (work, deadline, workload) =>
      turns.run(() => transactionOn(writer, work, deadline, turns.observer), { deadline, workload }),
    whileMigrating: (work) => turns.run(() => migrateOn(writer, () => migrating(dataSource, work))),
    size: (deadline) =>
      turns.run(
        () => {
          const [size] = writer.all(
            'SELECT page_count * page_size AS bytes FROM pragma_page_count(), pragma_page_size()',
          );
          return Promise.resolve(size as { bytes: number });
        },
        { deadline, workload: 'background' },
      ),
    close: () => turns.run(() => dataSource.destroy()),
  };
};

const inFile = (
  file: string,
  dataSource: DataSource,
  { observer, readers }: Pick<DatabaseOptions, 'observer' | 'readers'>,
): Connection => {
  const turns = turnsOf(observer);
  /** Ends when the database is closed. */
  const closing = new Deadline();
  const exclusively = <T>(work: () => Promise<T>): Promise<T> => turns.run(work, { workload: 'background' });
  // The observers stay when the file is reopened.
  const usageOf = (name: 'lookups' | 'threads') => (): PoolUsage =>
    opened?.usage[name] ?? { used: 0, idle: 0, limit: 0, waiting: 0 };
  const observers = {
    lookups: observer?.pool('lookups', usageOf('lookups')),
    threads: observer?.pool('threads', usageOf('threads')),
    writer: turns.observer,
  };
  const openFile = () => new SqliteFile(file, writerOf(dataSource), exclusively, observers, readers);
  /** The open file; undefined while it is closed. */
  let opened: SqliteFile | undefined = openFile();

  const close = async (): Promise<void> => {
    const closed = opened;
    opened = undefined;
    await closed?.close();
    if (dataSource.isInitialized) await dataSource.destroy();
  };

  /**
   * The open file. If another file took its place, one caller at a time reopens it. If only its log was deleted, a
   * restart is needed: the binding's connections hold the log open as long as this process lives.
   * @throws FileFault when the file is missing
   */
  const openedFile = async (): Promise<SqliteFile> => {
    closing.assert();
    try {
      opened?.assertThere();
      if (opened) return opened;
    } catch (error) {
      if (!opened?.isReplaced) {
        await opened?.rescue();
        throw error;
      }
    }
    await close();
    await dataSource.initialize();
    opened = openFile();
    return opened;
  };

  const transaction = async <T>(
    run: (open: SqliteFile) => Promise<T>,
    { patience, ...purpose }: Purpose & { patience?: number },
  ): Promise<T> => {
    const { deadline, workload } = purpose;
    const usual = workload === 'background' ? BACKGROUND_PATIENCE_MS : WRITE_PATIENCE_MS;
    const until = performance.now() + (patience ?? usual);
    let used: SqliteFile | undefined;
    const result = await turns.run(async () => {
      const open = (used = await openedFile());
      return whenFree(until, () => run(open), [deadline, closing]);
    }, purpose);
    await used?.stored(deadline);
    return result;
  };

  const read = async (sql: string, parameters: readonly Parameter[], deadline?: Deadline): Promise<unknown[]> => {
    try {
      if (opened) return await opened.read(sql, parameters, deadline);
    } catch (error) {
      if (!(error instanceof FileFault)) throw error;
    }
    return (await exclusively(openedFile)).read(sql, parameters, deadline);
  };

  const health = new SqliteHealth({
    write: (deadline) => transaction((open) => open.transaction(SqliteHealth.trial, deadline), { deadline }),
    read: (sql, deadline) => read(sql, [], deadline),
  });

  return {
    ...common(file, dataSource),
    read: async (sql, parameters, deadline, workload) => {
      if (workload === 'health') await health.check(deadline);
      return read(sql, parameters, deadline).catch((error: unknown) => health.readFailed(error));
    },
    transaction: (work, deadline, workload) =>
      health.noteWrite(transaction((open) => open.transaction(work, deadline), { deadline, workload })),
    // The file's write lock keeps other processes out, and a failed migration is rolled back.
    whileMigrating: (work) =>
      transaction((open) => migrateOn(open.writer, () => migrating(dataSource, work)), {
        patience: MIGRATION_PATIENCE_MS,
      }),
    pageFaults: async (deadline, table) => {
      const open = await exclusively(openedFile);
      return pageFaultsBy((sql) => open.readInThread(sql, deadline), 'quick_check', table);
    },
    scrub: () => vacuum(file),
    size: () => sizeOfFile(file),
    close: () => {
      const closed = new AppError('DATABASE_UNAVAILABLE', { hint: 'The service stops.' });
      closing.end(closed);
      turns.refuse(closed);
      return exclusively(close);
    },
  };
};
