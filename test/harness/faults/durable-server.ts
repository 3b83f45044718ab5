import { execFileSync, type ExecFileSyncOptions } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll } from '@jest/globals';
import { createConnection } from 'mysql2/promise';
import { freePorts } from '../free-ports.mjs';
import type { ServerProgram } from '../servers/servers.ts';
import { type Guarded, isFrozen, startGuarded } from './guarded.ts';

const START_TIMEOUT_MS = 240_000;

/** Resolves when a server takes connections. @throws Error with its own words when it ends, or takes four minutes */
export const untilUp = async (process: Guarded, port: number): Promise<void> => {
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (process.isRunning() && Date.now() < deadline) {
    try {
      const connection = await createConnection({ host: '127.0.0.1', port, user: 'root', connectTimeout: 1000 });
      await connection.query('SELECT 1').finally(() => connection.destroy());
      return;
    } catch {
      await sleep(50);
    }
  }
  throw new Error(`The database server did not start:\n${process.words()}`);
};

/**
 * A database server of a test's own: it can be frozen, killed and started again on the same files. What it commits
 * survives its own death, though not that of the machine.
 */
export interface DurableServer {
  /** `mariadb://root@127.0.0.1:<port>/content`, a database that is there. */
  url: string;
  /** SIGSTOP: it keeps its connections, and says nothing. @throws Error unless it stands still */
  freeze(): Promise<void>;
  /** SIGCONT. */
  thaw(): void;
  /** kill -9. */
  kill(): Promise<void>;
  /** After `kill`, on the same files; resolves when it takes connections. */
  start(): Promise<void>;
  /** Kills it and removes its files. */
  remove(): Promise<void>;
}

const asUser = process.getuid?.() === 0 ? ['--user=root'] : [];

const initialise = (engine: 'mariadb' | 'mysql', binary: string, template: string | undefined, data: string): void => {
  const quietly: ExecFileSyncOptions = { stdio: ['ignore', 'ignore', 'inherit'] };
  if (template) execFileSync('cp', ['-R', template, data], quietly);
  else if (engine === 'mysql') {
    execFileSync(binary, ['--no-defaults', ...asUser, '--initialize-insecure', `--datadir=${data}`], quietly);
  } else {
    const options = ['--no-defaults', ...asUser, `--datadir=${data}`];
    const more = ['--auth-root-authentication-method=normal', '--skip-test-db'];
    // Servers that start remove what they find of others in a folder for all.
    const env = { ...process.env, TMPDIR: dirname(data) };
    execFileSync('mariadb-install-db', [...options, ...more], { ...quietly, env });
  }
};

const servers = new Set<DurableServer>();
// A test that failed halfway leaves no server behind.
afterAll(() => Promise.all([...servers].map((server) => server.remove())));

/** Starts a server of the Jest project's engine, MariaDB and MySQL with options of its command line besides. */
export const startDurableServer = (more: readonly string[] = []): Promise<DurableServer> => {
  const { name, server: program } = globalThis.TEST_ENGINE;
  if (name === 'sqlite' || name === 'vitess' || !('binary' in program))
    throw new Error('These tests need a server of their own, not a named one.');
  return startDurable(name, program, more);
};

/** Stops a process by SIGSTOP. @throws Error unless it stands still */
const untilStill = async (process: Guarded): Promise<void> => {
  process.signal('SIGSTOP');
  for (let n = 0; n < 100 && !isFrozen(process.pid); n += 1) await sleep(10);
  if (!isFrozen(process.pid)) throw new Error('The database server does not stand still.');
};

const startDurable = async (
  engine: 'mariadb' | 'mysql',
  { binary, template }: ServerProgram,
  more: readonly string[] = [],
): Promise<DurableServer> => {
  const folder = await mkdtemp(join(tmpdir(), `content-gateway-${engine}-`));
  const data = join(folder, 'data');
  initialise(engine, binary, template, data);
  const [port = 0] = await freePorts(1);
  const sql = join(folder, 'init.sql');
  await writeFile(
    sql,
    [
      // A replica has of its own accord what its primary has not.
      'SET SESSION sql_log_bin = 0;',
      "CREATE USER IF NOT EXISTS root@'127.0.0.1';",
      "GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;",
      'CREATE DATABASE IF NOT EXISTS content CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;',
    ].join('\n'),
  );
  const options = [
    '--no-defaults',
    ...asUser,
    `--datadir=${data}`,
    `--socket=${join(folder, 'socket')}`,
    `--pid-file=${join(folder, 'pid')}`,
    `--tmpdir=${folder}`,
    `--port=${port}`,
    `--init-file=${sql}`,
    '--bind-address=127.0.0.1',
    '--skip-name-resolve',
    '--character-set-server=utf8mb4',
    '--max-connections=200',
    '--skip-log-bin',
    '--performance-schema=OFF',
    // Each commit is with the kernel before it is answered, as by default; that of the disk is another's test.
    '--innodb-flush-log-at-trx-commit=2',
    ...more,
  ];
  let running: Guarded;
  const server: DurableServer = {
    url: `${engine}://root@127.0.0.1:${port}/content`,
    freeze: () => untilStill(running),
    thaw: () => running.signal('SIGCONT'),
    kill: async () => {
      if (!running.isRunning()) return;
      running.signal('SIGKILL');
      await running.ended;
    },
    start: async () => {
      running = await startGuarded(binary, options);
      await untilUp(running, port);
    },
    remove: async () => {
      servers.delete(server);
      await server.kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
  servers.add(server);
  await server.start();
  return server;
};
