import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createConnection } from 'mysql2/promise';
import { installedMariadb } from '../../harness/jest/available.mjs';
import { removeAtEnd, run, start, stop } from './processes.mjs';
import { freePort } from '../../harness/free-ports.mjs';

const START_TIMEOUT_MS = 120_000;
export const DATABASE = 'content';

/** What is measured is durable: a commit is on the disk before it is answered. All else is MariaDB's default. */
const DURABLE = ['--innodb-flush-log-at-trx-commit=1'];
/** For filling only; a seed that a crash ruins is made anew. */
const FAST = ['--innodb-flush-log-at-trx-commit=0', '--innodb-doublewrite=0', '--innodb-log-file-size=256M'];

const asUser = process.getuid?.() === 0 ? ['--user=root'] : [];

/** Makes an empty data folder. */
export const installMariadb = (folder) =>
  run(
    'mariadb-install-db',
    ['--no-defaults', ...asUser, `--datadir=${folder}`, '--auth-root-authentication-method=normal', '--skip-test-db'],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );

/**
 * Starts MariaDB on a data folder, on a port of its own; `root` needs no password.
 *
 * @param folder the data folder
 * @param options `fast`: for filling, not for measuring
 * @returns `url` of the database for the service, `pid`, `version`, `connect()` and `stop()`
 */
export const startMariadb = async (folder, { fast = false } = {}) => {
  const mariadb = installedMariadb();
  if (!mariadb) throw new Error('The bench needs MariaDB: apt-get install --no-install-recommends mariadb-server');
  const port = await freePort();
  const runFolder = removeAtEnd(await mkdtemp(join(tmpdir(), 'content-gateway-bench-')));
  const log = join(runFolder, 'log');
  const server = start(
    mariadb.binary,
    [
      '--no-defaults',
      ...asUser,
      `--datadir=${folder}`,
      `--socket=${join(runFolder, 'socket')}`,
      `--pid-file=${join(runFolder, 'pid')}`,
      `--log-error=${log}`,
      `--port=${port}`,
      '--bind-address=127.0.0.1',
      '--skip-name-resolve',
      '--skip-log-bin',
      '--character-set-server=utf8mb4',
      '--collation-server=utf8mb4_bin',
      '--max-connections=500',
      '--innodb-buffer-pool-size=2G',
      ...(fast ? FAST : DURABLE),
    ],
    { stdio: 'ignore' },
  );
  const connect = (options = {}) => createConnection({ host: '127.0.0.1', port, user: 'root', ...options });
  const deadline = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    try {
      const connection = await connect();
      const [[{ version }]] = await connection.query('SELECT VERSION() AS version');
      await connection.query(`CREATE DATABASE IF NOT EXISTS ${DATABASE}`);
      await connection.end();
      return {
        url: `mariadb://root@127.0.0.1:${port}/${DATABASE}`,
        port,
        pid: server.child.pid,
        version,
        connect,
        stop: async () => {
          await stop(server);
          await rm(runFolder, { recursive: true, force: true });
        },
      };
    } catch (error) {
      if (server.child.exitCode !== null || Date.now() > deadline) {
        const words = existsSync(log) ? await readFile(log, 'utf8') : error.message;
        throw new Error(`MariaDB did not start:\n${words.slice(-3000)}`, { cause: error });
      }
      await sleep(100);
    }
  }
};
