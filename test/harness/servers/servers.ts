import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createConnection } from 'mysql2/promise';
import { freePort } from '../free-ports.mjs';

export type ServerEngine = 'mariadb' | 'mysql';

/** How to run a server: its program and, to save the initialisation, a data folder to copy. */
export interface ServerProgram {
  binary: string;
  template?: string;
}

/** How to run Vitess: one program that holds all of its parts, over a MySQL; or a cluster of the programs in a folder. */
export interface VitessProgram {
  vtcombo: string;
  mysql: ServerProgram;
  programs: string;
  /** The store of a cluster's topology. */
  etcd?: string;
}

/** What a Jest project tests on, set by jest.config.mjs. */
export type TestEngine =
  | { name: 'sqlite'; server?: never }
  | { name: ServerEngine; server: ServerProgram | { url: string } }
  | { name: 'vitess'; server: VitessProgram };

export interface ThrowawayServer {
  /** `mariadb://root@127.0.0.1:<port>`, without a database. */
  url: string;
  /** Kills the server and removes its data. */
  stop(): Promise<void>;
}

/** The environment variable through which a throwaway server's address reaches the tests. */
export const serverVariable = (name: ServerEngine | 'vitess') => `TEST_SERVER_${name.toUpperCase()}`;

const START_TIMEOUT_MS = 240_000;

// Whoever starts a server holds the other end of the guard's standard input. When that closes, were it by Ctrl-C, a
// crash or SIGKILL, the server and its folder go. In a session of its own the guard does not see the Ctrl-C itself; and
// it stays silent, since a word to a reader that is gone would end it early.
export const GUARD = `
  folder=$1; prepare=$2; shift 2
  exec 3<&0
  eval "$prepare" </dev/null 3<&- || { rm -rf "$folder"; exit 1; }
  "$@" </dev/null 3<&- & server=$!
  exec 2>/dev/null
  { cat <&3 >/dev/null; kill -9 $server; } & watch=$!
  wait $server
  kill $watch
  rm -rf "$folder"
`;

/** Shell commands that fill $DATA. */
const PREPARE = {
  copy: 'cp -R "$TEMPLATE" "$DATA"',
  mysql: '"$BINARY" --no-defaults $AS_USER --initialize-insecure --datadir="$DATA" $AT_FIRST',
  mariadb:
    'TMPDIR="$folder" mariadb-install-db --no-defaults $AS_USER --datadir="$DATA" --auth-root-authentication-method=normal --skip-test-db',
};

// All of these servers' data is thrown away: nothing need survive a crash.
const CARELESS = [
  '--innodb-flush-log-at-trx-commit=0',
  '--innodb-flush-method=nosync',
  '--innodb-doublewrite=0',
  '--skip-log-bin',
  '--performance-schema=OFF',
];

/**
 * Starts an empty server on a port of its own, for as long as this process lives: it takes `root` without a password
 * from this machine only. `options` are those of its command line, the last of which count. `atFirst` are those that a
 * MySQL must have from its initialisation on.
 *
 * @throws Error with the server's own words when it does not come up within four minutes.
 */
export const startServer = async (
  engine: ServerEngine,
  { binary, template }: ServerProgram,
  { options: given = [], atFirst = [] }: { options?: readonly string[]; atFirst?: readonly string[] } = {},
): Promise<ThrowawayServer> => {
  const port = await freePort();
  const folder = await mkdtemp(join(tmpdir(), `content-gateway-${engine}-`));
  const data = join(folder, 'data');
  const accounts = join(folder, 'accounts.sql');
  // MySQL makes an account for `localhost` only, which 127.0.0.1 is not when names are not resolved.
  await writeFile(
    accounts,
    "CREATE USER IF NOT EXISTS root@'127.0.0.1';\nGRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;\n",
  );
  const asUser = process.getuid?.() === 0 ? '--user=root' : '';
  const options = [
    '--no-defaults',
    ...(asUser ? [asUser] : []),
    `--datadir=${data}`,
    // Its own: a server that starts removes what it takes for left over.
    `--tmpdir=${folder}`,
    `--socket=${join(folder, 'socket')}`,
    `--pid-file=${join(folder, 'pid')}`,
    // A server that starts removes the temporary tables that it finds, which are those of all that share the folder.
    `--tmpdir=${folder}`,
    `--port=${port}`,
    `--init-file=${accounts}`,
    '--bind-address=127.0.0.1',
    '--skip-name-resolve',
    '--character-set-server=utf8mb4',
    '--collation-server=utf8mb4_bin',
    '--max-connections=500',
    ...CARELESS,
    ...atFirst,
    ...given,
  ];
  const prepare = PREPARE[template && atFirst.length === 0 ? 'copy' : engine];
  const guard = spawn('sh', ['-c', GUARD, 'guard', folder, prepare, binary, ...options], {
    detached: true,
    stdio: ['pipe', 'ignore', 'pipe'],
    env: {
      ...process.env,
      BINARY: binary,
      TEMPLATE: template,
      DATA: data,
      AS_USER: asUser,
      AT_FIRST: atFirst.join(' '),
    },
  });
  let words = '';
  guard.stderr.setEncoding('utf8').on('data', (chunk: string) => (words = (words + chunk).slice(-4000)));
  const ended = once(guard, 'exit');

  const stop = async () => {
    guard.stdin.end();
    await ended;
  };

  const deadline = Date.now() + START_TIMEOUT_MS;
  while (guard.exitCode === null && Date.now() < deadline) {
    try {
      const connection = await createConnection({ host: '127.0.0.1', port, user: 'root' });
      await connection.end();
      return { url: `${engine}://root@127.0.0.1:${port}`, stop };
    } catch {
      await sleep(50);
    }
  }
  await stop();
  throw new Error(`${binary} did not start:\n${words}`);
};
