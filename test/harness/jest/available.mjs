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
  const notice = mysql
    ? ['No Vitess found: nothing was tested on Vitess.', '  bash .ci/vitess   (builds it; needs Go)']
    : [
        'No MySQL found: nothing was tested on Vitess.',
        '  bash .ci/mysql   (MySQL beside the system, on Debian, no root needed)',
      ];
  return { vitess, notices: vitess ? [] : [notice] };
};

/** The path of a Prometheus, if this machine has one. */
export const installedPrometheus = () => find('prometheus');

const oasdiff = () => [join(cacheFolder(), 'oasdiff/oasdiff')].find(isExecutable);

/** Those that run consumers in other languages than ours. */
const languages = () => {
  const found = { python: find('python3'), go: find('go') };
  return Object.values(found).every(Boolean) ? found : undefined;
};

/** The library that moves the clock of a process. */
const faketime = () =>
  ['x86_64-linux-gnu', 'aarch64-linux-gnu']
    .map((name) => `/usr/lib/${name}/faketime/libfaketimeMT.so.1`)
    .find((path) => existsSync(path));

/** The library that makes a MariaDB a node of a cluster. */
const galera = () => {
  const library = ['/usr/lib/galera/libgalera_smm.so', '/usr/lib64/galera-4/libgalera_smm.so'].find((path) =>
    existsSync(path),
  );
  const binary = find('mariadbd');
  return library && binary && find('rsync') ? { library, binary } : undefined;
};

/**
 * The programs that tests may need: how to find each, as a path unless it is several, how to install it, and what
 * did not run without it. One with a colour has a project of its own.
 */
const PROGRAMS = {
  redis: {
    color: 'red',
    find: () => find('redis-server'),
    install: 'apt-get install redis-server   (the tests start a private server of their own)',
    lacking: 'the tests of limits that several instances share did not run',
  },
  promtool: {
    color: 'cyan',
    find: () => find('promtool'),
    install: 'apt-get install --no-install-recommends prometheus',
    lacking: 'the tests of metrics and alerts by the rules of Prometheus did not run',
  },
  chromium: {
    color: 'yellow',
    find: () => find('chromium', 'chromium-browser', 'google-chrome'),
    install: 'apt-get install chromium',
    lacking: 'the browser tests did not run',
  },
  oasdiff: {
    color: 'green',
    find: oasdiff,
    install: 'bash .ci/oasdiff   (builds it)',
    lacking: 'the tests of the compatibility check did not run',
  },
  galera: {
    find: galera,
    install: 'apt-get install --no-install-recommends mariadb-server galera-4 rsync',
    lacking: 'the tests of a cluster did not run',
  },
  languages: {
    find: languages,
    install: 'apt-get install --no-install-recommends python3-venv golang',
    lacking: 'what `can-i-deploy` says was not held against consumers',
  },
  go: {
    find: () => find('go'),
    install: 'apt-get install --no-install-recommends golang',
    lacking: 'whole histories were not checked',
  },
  haproxy: {
    find: () => find('haproxy'),
    install: 'apt-get install --no-install-recommends haproxy',
    lacking: 'the tests of many instances behind a load balancer did not run',
  },
  nginx: {
    find: () => find('nginx'),
    install: 'apt-get install --no-install-recommends nginx-light',
    lacking: 'the tests of its configuration in docs/scaling.md did not run',
  },
  faketime: {
    find: faketime,
    install: 'apt-get install --no-install-recommends libfaketime',
    lacking: 'whole histories were not checked',
  },
};

/** The colour of the project that a program has to itself, if it has one. */
export const colorOf = (program) => PROGRAMS[program].color;

/** Where a program is, and what to say if it is nowhere. */
export const findProgram = (program) => {
  const { find: look, install, lacking } = PROGRAMS[program];
  const found = look();
  return { found, notices: found ? [] : [[`No ${program} found: ${lacking}.`, `  ${install}`]] };
};
