/**
 * What this machine offers the tests. Read by jest.config.mjs, therefore plain JavaScript.
 */
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';

/** The path of the first executable among `names`, or undefined. Servers often live outside of a user's PATH. */
const find = (...names) => {
  const folders = [
    ...(process.env.PATH ?? '').split(delimiter),
    '/usr/sbin',
    '/usr/local/sbin',
    '/usr/local/mysql/bin',
  ];
  return folders.flatMap((folder) => names.map((name) => join(folder, name))).find(isExecutable);
};

const isExecutable = (path) => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

/** Where the scripts of .ci/ and the bench keep what they unpack, build or seed. */
export const cacheFolder = () => join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'content-gateway');

/** The server that .ci/mysql unpacked. `MYSQL_ROOT` names its folder; empty means: not that one. */
const unpackedMysql = () => {
  const named = process.env.MYSQL_ROOT;
  if (named === '') return undefined;
  const folder = named ?? join(cacheFolder(), 'mysql');
  const [binary, template] = [join(folder, 'mysqld'), join(folder, 'template')];
  if (isExecutable(binary) && existsSync(template)) return { binary, template };
  if (named) throw new Error(`MYSQL_ROOT=${named} holds no MySQL. Make it with: .ci/mysql ${named}`);
  return undefined;
};

/** MariaDB brings a `mysqld` too, which is not what we look for. */
const installedMysql = () => {
  const binary = find('mysqld');
  if (!binary) return undefined;
  const { stdout } = spawnSync(binary, ['--no-defaults', '--version'], { encoding: 'utf8' });
  return /mariadb/i.test(stdout) ? undefined : { binary };
};

/** The MariaDB server of this machine, if it has one. */
export const installedMariadb = () => {
  const binary = find('mariadbd');
  return binary && { binary };
};

/** The server named by TEST_DATABASE_URL: its engine, and its address with account but without a database. */
const namedServer = () => {
  const address = process.env.TEST_DATABASE_URL;
  if (!address) return {};
  const [, engine] = /^(mariadb|mysql):\/\/[^/]/.exec(address) ?? [];
  if (!engine) {
    throw new Error('TEST_DATABASE_URL must be mariadb://… or mysql://…, with an account that may create databases');
  }
  return { [engine]: { url: address } };
};

/**
 * The engines to test: `{name, server?}`. A server is `{url}` when it runs already, else `{binary, template?}`.
 * `notices` says in lines of text what is missing.
 */
export const findEngines = () => {
  const named = namedServer();
  const mariadb = named.mariadb ?? installedMariadb();
  const mysql = named.mysql ?? unpackedMysql() ?? installedMysql();
  return {
    engines: [
      { name: 'sqlite' },
      ...(mariadb ? [{ name: 'mariadb', server: mariadb }] : []),
      ...(mysql ? [{ name: 'mysql', server: mysql }] : []),
    ],
    notices: mariadb || (mysql && process.env.CI !== 'true') ? [] : [missingServer(mysql)],
  };
};

const missingServer = (mysql) => [
  mysql ? 'No MariaDB server found.' : 'No MariaDB or MySQL server found: the suites ran on SQLite only.',
  'To test on them too, any of:',
  '  apt-get install --no-install-recommends mariadb-server   (the tests start a private server of their own)',
  '  bash .ci/mysql                                           (MySQL beside the system, on Debian, no root needed)',
  '  TEST_DATABASE_URL=mariadb://user:password@host:3306      (a server of yours; the account must create databases)',
];

/** The programs of a Vitess, and what to say if there are none. */
export const findVitess = () => {
  const programs = join(cacheFolder(), 'vitess');
  const vtcombo = join(programs, 'vtcombo');
  const mysql = unpackedMysql() ?? installedMysql();
  const vitess = isExecutable(vtcombo) && mysql ? { vtcombo, mysql, programs, etcd: find('etcd') } : undefined;
  return {
    vitess,
    notices: vitess
      ? []
      : [
          [
            `No ${mysql ? 'Vitess' : 'MySQL'} found: nothing was tested on Vitess.`,
            mysql
              ? '  bash .ci/vitess   (builds it; needs Go)'
              : '  bash .ci/mysql   (MySQL beside the system, on Debian, no root needed)',
          ],
        ],
  };
};

/** The path of the oasdiff that .ci/oasdiff built, and what to say if there is none. */
export const findOasdiff = () => {
  const path = join(cacheFolder(), 'oasdiff/oasdiff');
  const oasdiff = isExecutable(path) ? path : undefined;
  return {
    oasdiff,
    notices: oasdiff
      ? []
      : [['No oasdiff found: the tests of the compatibility check did not run.', '  bash .ci/oasdiff   (builds it)']],
  };
};

/** The path of a Prometheus, if this machine has one. */
export const installedPrometheus = () => find('prometheus');

/** The path of a Redis server, and what to say if there is none. */
export const findRedis = () => {
  const redis = find('redis-server');
  return {
    redis,
    notices: redis
      ? []
      : [
          [
            'No Redis server found: the tests of limits that several instances share did not run.',
            '  apt-get install redis-server   (the tests start a private server of their own)',
          ],
        ],
  };
};

/** The paths of what runs consumers in other languages than ours, and what to say if there is none. */
export const findLanguages = () => {
  const languages = { python: find('python3'), go: find('go') };
  const lacking = Object.keys(languages).filter((name) => !languages[name]);
  return lacking.length === 0
    ? { languages, notices: [] }
    : {
        notices: [
          [
            `No ${lacking.join(', no ')} found: what \`can-i-deploy\` says was not held against consumers.`,
            '  apt-get install --no-install-recommends python3-venv golang',
          ],
        ],
      };
};

/** The path of Go, and what to say if there is none. */
export const findGo = () => {
  const go = find('go');
  return {
    go,
    notices: go
      ? []
      : [['No go found: whole histories were not checked.', '  apt-get install --no-install-recommends golang']],
  };
};

/** The path of Prometheus' tool that checks metrics and rules, and what to say if there is none. */
export const findPromtool = () => {
  const promtool = find('promtool');
  return {
    promtool,
    notices: promtool
      ? []
      : [
          [
            'No promtool found: the tests of metrics and alerts by the rules of Prometheus did not run.',
            '  apt-get install --no-install-recommends prometheus',
          ],
        ],
  };
};

/** The path of a Chromium for the browser tests, and what to say if there is none. */
export const findChromium = () => {
  const chromium = find('chromium', 'chromium-browser', 'google-chrome');
  return {
    chromium,
    notices: chromium ? [] : [['No Chromium found: the browser tests did not run.', '  apt-get install chromium']],
  };
};

/** The path of HAProxy, and what to say if there is none. */
export const findHaproxy = () => {
  const haproxy = find('haproxy');
  return {
    haproxy,
    notices: haproxy
      ? []
      : [
          [
            'No HAProxy found: the tests of many instances behind a load balancer did not run.',
            '  apt-get install --no-install-recommends haproxy',
          ],
        ],
  };
};

/** The path of nginx, and what to say if there is none. */
export const findNginx = () => {
  const nginx = find('nginx');
  return {
    nginx,
    notices: nginx
      ? []
      : [
          [
            'No nginx found: the tests of its configuration in docs/scaling.md did not run.',
            '  apt-get install --no-install-recommends nginx-light',
          ],
        ],
  };
};

/** The library that moves the clock of a process, and what to say if there is none. */
export const findFaketime = () => {
  const folders = ['x86_64-linux-gnu', 'aarch64-linux-gnu'].map((name) => `/usr/lib/${name}/faketime`);
  const faketime = folders.map((folder) => join(folder, 'libfaketimeMT.so.1')).find(existsSync);
  return {
    faketime,
    notices: faketime
      ? []
      : [
          [
            'No libfaketime found: whole histories were not checked.',
            '  apt-get install --no-install-recommends libfaketime',
          ],
        ],
  };
};

/** The library that makes a MariaDB a node of a cluster, and what to say if there is none. */
export const findGalera = () => {
  const library = ['/usr/lib/galera/libgalera_smm.so', '/usr/lib64/galera-4/libgalera_smm.so'].find(existsSync);
  const galera = library && find('rsync') && find('mariadbd') && { library, binary: find('mariadbd') };
  return {
    galera,
    notices: galera
      ? []
      : [
          [
            'No Galera found: the tests of a cluster did not run.',
            '  apt-get install --no-install-recommends mariadb-server galera-4 rsync',
          ],
        ],
  };
};
