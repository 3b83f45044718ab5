/**
 * @engines none
 * @tier fast
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { ConfigError, readConfig, sandboxOf } from '../../src/config/config.ts';
import { secretFileNames, telemetryNames, variableNames } from '../../src/config/variables.ts';
import { describeAddress, serverAddresses } from '../../src/db/address.ts';

/** What is wrong with an environment, a line for each fault. */
const faultsOf = (environment: NodeJS.ProcessEnv): string[] => {
  try {
    readConfig(environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.message.split('\n');
    throw error;
  }
  return [];
};

describe('configuration', () => {
  test('an empty environment is enough', () => {
    expect(readConfig({})).toMatchObject({
      port: 3000,
      databaseUrl: 'sqlite:data/content.db',
      maxReplicaLagMs: 5000,
      autoMigrate: true,
      logLevel: 'info',
      publicUrl: undefined,
      trustProxy: 0,
      corsOrigins: ['*'],
      shutdownDelayMs: 0,
      shutdownTimeoutMs: 10_000,
      quotas: { read: 3000, anonymous: 600, write: 120, search: 120, work: 30_000 },
      redisUrl: undefined,
      redisTimeoutMs: 5,
    });
  });

  test('each variable that is empty counts as missing, and an unknown one is none of ours', () => {
    const all = [...variableNames, ...secretFileNames, ...telemetryNames];
    expect(readConfig({ ...Object.fromEntries(all.map((name) => [name, ''])), PATH: '/bin' })).toEqual(readConfig({}));
  });

  test('each variable is read', () => {
    const environment = {
      PORT: '0',
      HOST: '::1',
      DATABASE_URL: 'mysql://me:p%40ss@db.example.com:3307/content',
      DATABASE_READ_URL: 'mysql://me:p%40ss@r1.example.com,r2.example.com/content',
      REPLICA_MAX_LAG: '60',
      AUTO_MIGRATE: 'true',
      LOG_LEVEL: 'debug',
      PUBLIC_URL: 'https://api.example.com/base/',
      TRUST_PROXY: '2',
      CORS_ORIGINS: 'https://a.example.com, http://localhost:8080',
      SHUTDOWN_DELAY_MS: '3000',
      SHUTDOWN_TIMEOUT_MS: '0',
      RATE_LIMIT: 'read=1,work=9',
      REDIS_URL: 'rediss://:p%40ss@redis.example.com:6380/2',
      REDIS_TIMEOUT_MS: '20',
    };
    expect(readConfig(environment)).toMatchObject({
      port: 0,
      host: '::1',
      databaseUrl: environment.DATABASE_URL,
      databaseReadUrl: environment.DATABASE_READ_URL,
      maxReplicaLagMs: 60_000,
      autoMigrate: true,
      logLevel: 'debug',
      publicUrl: 'https://api.example.com/base',
      trustProxy: 2,
      corsOrigins: ['https://a.example.com', 'http://localhost:8080'],
      shutdownDelayMs: 3000,
      shutdownTimeoutMs: 0,
      quotas: { read: 1, anonymous: 600, write: 120, search: 120, work: 9 },
      redisUrl: environment.REDIS_URL,
      redisTimeoutMs: 20,
    });
  });

  describe('there are traces where somebody says whither, and nobody turns them off', () => {
    const url = 'http://localhost:4318';
    test.each([
      [{}, false],
      [{ OTEL_SERVICE_NAME: 'games', OTEL_TRACES_SAMPLER: 'always_on' }, false],
      [{ OTEL_EXPORTER_OTLP_ENDPOINT: url }, true],
      [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${url}/v1/traces` }, true],
      [{ OTEL_TRACES_EXPORTER: 'otlp' }, true],
      [{ OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_TRACES_EXPORTER: 'none' }, false],
      [{ OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_SDK_DISABLED: 'TRUE' }, false],
      [{ OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_SDK_DISABLED: 'false' }, true],
    ])('%j: %p', (environment, expected) => {
      expect(readConfig(environment).isTracing).toBe(expected);
    });
  });

  test('a server’s database is migrated only when asked for, a file by itself', () => {
    expect(readConfig({ DATABASE_URL: 'mariadb://me@host/db' }).autoMigrate).toBe(false);
    expect(readConfig({ DATABASE_URL: 'sqlite:x.db', AUTO_MIGRATE: 'false' }).autoMigrate).toBe(false);
  });

  describe('a faulty variable is named, with its value and what is allowed', () => {
    test.each([
      ['PORT', 'http', 'PORT "http" must be a whole number from 0 to 65535'],
      ['PORT', '-1', 'PORT "-1" must be a whole number from 0 to 65535'],
      ['PORT', '80.5', 'PORT "80.5" must be a whole number from 0 to 65535'],
      ['PORT', ' 80', 'PORT " 80" must be a whole number from 0 to 65535'],
      ['PORT', '65536', 'PORT "65536" must be a whole number from 0 to 65535'],
      ['AUTO_MIGRATE', 'yes', 'AUTO_MIGRATE "yes" must be true or false'],
      ['LOG_LEVEL', 'INFO', 'LOG_LEVEL "INFO" must be fatal, error, warn, info, debug, trace or silent'],
      ['PUBLIC_URL', 'api.example.com', 'PUBLIC_URL "api.example.com" must be an http or https URL'],
      ['PUBLIC_URL', 'ftp://example.com', 'PUBLIC_URL "ftp://example.com" must be an http or https URL'],
      ['TRUST_PROXY', 'true', 'TRUST_PROXY "true" must be a whole number from 0 to 32'],
      ['TRUST_PROXY', '33', 'TRUST_PROXY "33" must be a whole number from 0 to 32'],
      [
        'CORS_ORIGINS',
        'https://a.example.com,b.example.com',
        'CORS_ORIGINS "https://a.example.com,b.example.com" must be * or a comma-separated list of origins such as https://app.example.com',
      ],
      [
        'CORS_ORIGINS',
        'https://a.example.com/',
        'CORS_ORIGINS "https://a.example.com/" must be * or a comma-separated list of origins such as https://app.example.com',
      ],
      ['RATE_LIMIT', 'read=0', 'RATE_LIMIT "read=0" has read=0, which must be from 1 to 1000000'],
      [
        'RATE_LIMIT',
        'none',
        'RATE_LIMIT "none" must be on, off, or a comma-separated list such as read=600,write=120 of read, anonymous, write, search, work',
      ],
      ['WORKERS', 'x', 'WORKERS "x" must be auto or a whole number from 1 to 256'],
      ['WORKERS', '0', 'WORKERS "0" must be auto or a whole number from 1 to 256'],
      ['MAX_QUEUE_MS', '1s', 'MAX_QUEUE_MS "1s" must be off or a whole number from 0 to 60000'],
      ['AUDIT_ACTOR', ' ', 'AUDIT_ACTOR " " must not be blank'],
      ['LOG_FORMAT', 'text', 'LOG_FORMAT "text" must be json or pretty'],
      ['SLOW_REQUEST_MS', '1s', 'SLOW_REQUEST_MS "1s" must be a whole number from 0 to 600000'],
      [
        'OTEL_EXPORTER_OTLP_ENDPOINT',
        'localhost:4318',
        'OTEL_EXPORTER_OTLP_ENDPOINT "localhost:4318" must be an http or https URL, such as http://localhost:4318',
      ],
      [
        'OTEL_EXPORTER_OTLP_PROTOCOL',
        'grpc',
        'OTEL_EXPORTER_OTLP_PROTOCOL "grpc" must be http/protobuf, which every collector takes',
      ],
      ['OTEL_TRACES_EXPORTER', 'zipkin', 'OTEL_TRACES_EXPORTER "zipkin" must be otlp or none'],
      ['SHUTDOWN_TIMEOUT_MS', '10s', 'SHUTDOWN_TIMEOUT_MS "10s" must be a whole number from 0 to 600000'],
      ['SHUTDOWN_TIMEOUT_MS', '600001', 'SHUTDOWN_TIMEOUT_MS "600001" must be a whole number from 0 to 600000'],
    ])('%s=%s', (name, value, fault) => {
      expect(faultsOf({ [name]: value })).toEqual([fault]);
    });
  });

  describe('a faulty DATABASE_URL is explained without being shown', () => {
    const FORMS = 'DATABASE_URL must be sqlite:<path>, mysql://user:password@host:port/database or mariadb://…';
    const NO_DATABASE = 'DATABASE_URL names no database: it ends in /<database>';
    const ILL_FORMED =
      'DATABASE_URL is not a well-formed URL; percent-encode special characters of the password: ' +
      '%40 for @, %23 for #, %2F for /, %3F for ?, %25 for %';

    test.each([
      ['postgres://me:s3cret@host/db', FORMS],
      ['s3cret', FORMS],
      ['sqlite:', FORMS],
      ['mysql:me:s3cret@host/db', FORMS],
      ['MYSQL://me:s3cret@host/db', FORMS],
      ['mysql://host/db', 'DATABASE_URL names no user'],
      ['mysql://:s3cret@host/db', 'DATABASE_URL names no user'],
      ['mysql://me:s3cret@host', NO_DATABASE],
      ['mysql://me:s3cret@host/', NO_DATABASE],
      ['mysql://me:s3cret@host/a/b', NO_DATABASE],
      ['mariadb://me:s3cret@host:3306x/db', ILL_FORMED],
      ['mysql://me:s3cret@host:99999/db', ILL_FORMED],
      ['mysql://me:s3cret@ho st/db', ILL_FORMED],
      ['mysql://me:s3cret@h1,h2:99999/db', ILL_FORMED],
      ['mysql://me:s3cret@h1,,h2/db', 'DATABASE_URL names no host'],
      ['mysql://me:s3cret@h1,h2:3306,h1:3306/db', 'DATABASE_URL names a host twice'],
      ['mysql://me:s3cret@h1,h2', NO_DATABASE],
    ])('%s', (url, expected) => {
      const faults = faultsOf({ DATABASE_URL: url });
      expect(faults).toEqual([expected]);
      expect(faults.join()).not.toContain('s3cret');
    });

    // Each of them, parsed as far as it goes, is the address of something else.
    test.each([
      's3c@ret',
      's3c#ret',
      's3c/ret',
      's3c?ret',
      's3c%ret',
      's3c%ffret',
      's3c\\ret',
      's3c ret',
      's3@c#ret',
      's3@c/ret',
      's3@c?ssl-mode=ret',
      '3306/s3c',
      '#s3c',
    ])('the unencoded password %s', (password) => {
      for (const url of [`mysql://me:${password}@host/db`, `mariadb://me:${password}@host:3306/db`]) {
        const faults = faultsOf({ DATABASE_URL: url });
        expect([url, faults]).toEqual([url, [ILL_FORMED]]);
      }
      const encoded = `mysql://me:${encodeURIComponent(password)}@host/db`;
      expect(faultsOf({ DATABASE_URL: encoded })).toEqual([]);
      expect(serverAddresses(encoded)).toMatchObject([
        { host: 'host', port: 3306, user: 'me', password, database: 'db' },
      ]);
    });
  });

  test.each([
    'redis.example.com:6379',
    'http://:s3cret@redis.example.com',
    'redis://',
    'redis:s3cret',
    'redis://:s3cret@h/one',
  ])('a faulty REDIS_URL is explained without being shown: %s', (url) => {
    expect(faultsOf({ REDIS_URL: url })).toEqual([
      'REDIS_URL must be redis://user:password@host:port/number or rediss://…',
    ]);
  });

  // Parsed as far as it goes, it is the address of another host.
  test.each(['p@ss#w', 'p/w', 'p#w', 'p?w', 'p%w', 'p w'])(
    'the unencoded password %s of a Redis is explained',
    (password) => {
      expect(faultsOf({ REDIS_URL: `redis://:${password}@redis.example.com:6379` })).toEqual([
        expect.stringMatching(
          /^REDIS_URL is not a well-formed URL; percent-encode special characters of the password: %40/,
        ),
      ]);
      expect(faultsOf({ REDIS_URL: `redis://:${encodeURIComponent(password)}@redis.example.com:6379/1` })).toEqual([]);
    },
  );

  test('nothing is limited by RATE_LIMIT=off, nor in the sandbox', () => {
    expect(readConfig({ RATE_LIMIT: 'off' }).quotas).toBeUndefined();
    expect(sandboxOf(readConfig({ REDIS_URL: 'redis://host' }))).toMatchObject({
      quotas: undefined,
      redisUrl: undefined,
    });
  });

  test('the sandbox says which settings it does not use, and no value of them', () => {
    const folder = mkdtempSync(join(tmpdir(), 'content-gateway-sandbox-'));
    try {
      const file = join(folder, 'redis');
      writeFileSync(file, 'redis://me:s3cret@host');
      const url = 'mysql://me:s3cret@host/db';
      const addresses = { DATABASE_URL: url, DATABASE_READ_URL: url, MIGRATE_DATABASE_URL: url, REDIS_URL_FILE: file };
      const unused = { ...addresses, WORKERS: '2', RATE_LIMIT: 'read=600', MAX_QUEUE_MS: 'off', READ_ONLY: 'true' };
      const config = readConfig({ ...unused, PORT: '3001', LOG_LEVEL: 'warn', DATABASE_READ_URL_FILE: '' });
      expect(config.strays).toEqual([]);
      const { strays } = sandboxOf(config);
      expect(sandboxOf(readConfig({ RATE_LIMIT: 'off' })).strays).toEqual([]);
      expect(strays.map(({ variable }) => variable)).toEqual(Object.keys(unused));
      expect(strays[0]?.message).toMatch(/^DATABASE_URL is not used: /);
      expect(JSON.stringify(strays)).not.toContain('s3cret');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  describe('the parameters of a DATABASE_URL', () => {
    const ALLOWED = 'allowed are ssl-mode, ssl-ca, ssl-cert, ssl-key';
    const file = fileURLToPath(import.meta.url);

    test.each([
      ['ssl=true&sslmode=REQUIRED&bogus=1', `has the unknown parameter "ssl"; ${ALLOWED}`],
      ['sslmode=REQUIRED', `has the unknown parameter "sslmode"; ${ALLOWED}`],
      ['ssl-mode=REQUIRED&bogus', `has the unknown parameter "bogus"; ${ALLOWED}`],
      ['SSL-MODE=REQUIRED', `has the unknown parameter "SSL-MODE"; ${ALLOWED}`],
      ['ssl-mode=REQUIRED&ssl-mode=DISABLED', 'has the parameter "ssl-mode" twice'],
      ['ssl-mode=', 'has ssl-mode "", which must be DISABLED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY'],
      [
        'ssl-mode=PREFERRED',
        'has ssl-mode "PREFERRED", which must be DISABLED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY',
      ],
      ['ssl-ca=ca.pem', 'has ssl-ca, which needs ssl-mode VERIFY_CA or VERIFY_IDENTITY'],
      ['ssl-mode=REQUIRED&ssl-ca=ca.pem', 'has ssl-ca, which needs ssl-mode VERIFY_CA or VERIFY_IDENTITY'],
      ['ssl-cert=a.pem&ssl-key=b.pem', 'has ssl-cert, which needs ssl-mode REQUIRED, VERIFY_CA or VERIFY_IDENTITY'],
      ['ssl-mode=REQUIRED&ssl-key=b.pem', 'has only one of ssl-cert and ssl-key, which belong together'],
      ['ssl-mode=VERIFY_CA', 'has ssl-mode VERIFY_CA, which needs ssl-ca'],
      [
        'ssl-mode=VERIFY_CA&ssl-ca=/no%20such/ca+1.pem',
        'names a file by ssl-ca, "/no such/ca+1.pem", that cannot be read: ENOENT',
      ],
      ['ssl-mode=VERIFY_CA&ssl-ca=/', 'names a file by ssl-ca, "/", that cannot be read: EISDIR'],
      [
        `ssl-mode=VERIFY_IDENTITY&ssl-ca=${file}`,
        `names a file by ssl-ca, "${file}", that holds no certificate in PEM`,
      ],
    ])('%s', (parameters, fault) => {
      const url = `mysql://me:s3cret@host/db?${parameters}`;
      expect(faultsOf({ DATABASE_URL: url })).toEqual([`DATABASE_URL ${fault}`]);
    });

    test.each(['127.0.0.1', '[::1]'])('cannot have the name of %s proven', (host) => {
      expect(faultsOf({ DATABASE_URL: `mysql://me@${host}/db?ssl-mode=VERIFY_IDENTITY` })).toEqual([
        'DATABASE_URL has ssl-mode VERIFY_IDENTITY, which needs a host name; use VERIFY_CA for an IP address',
      ]);
    });

    test('are none for a file', () => {
      for (const path of ['data/content.db?mode=ro', ':memory:?cache=shared', 'a?']) {
        expect(faultsOf({ DATABASE_URL: `sqlite:${path}` })).toEqual([
          'DATABASE_URL takes no parameters: remove what follows the path from "?" on',
        ]);
      }
    });
  });

  test.each([
    ['mysql://me@[::1]:3307/db', { host: '::1', port: 3307, user: 'me', password: '', ssl: undefined }],
    ['mariadb://m%40e:p:w@db.example.com/d%2Fb?ssl-mode=DISABLED', { user: 'm@e', password: 'p:w', ssl: undefined }],
    ['mysql://me@host/db?ssl-mode=required', { ssl: { rejectUnauthorized: false, verifyIdentity: false } }],
    ['mysql://me@host/db?ssl-mode=VERIFY_IDENTITY', { ssl: { rejectUnauthorized: true, verifyIdentity: true } }],
  ])('%s is understood', (url, expected) => {
    expect(faultsOf({ DATABASE_URL: url })).toEqual([]);
    expect(serverAddresses(url)).toMatchObject([expected]);
  });

  test('every faulty variable is listed at once', () => {
    const faults = faultsOf({ PORT: 'x', LOG_LEVEL: 'loud', DATABASE_URL: 'x', AUTO_MIGRATE: '1' });
    expect(faults.map((fault) => fault.split(' ', 1)[0])).toEqual([
      'PORT',
      'DATABASE_URL',
      'AUTO_MIGRATE',
      'LOG_LEVEL',
    ]);
  });

  test('an address may name several hosts, which share all the rest', () => {
    const user = { user: 'me', password: 'p@ss', database: 'db' };
    expect(serverAddresses('mariadb://me:p%40ss@h1:3307,h2,[::1]:3308/db?ssl-mode=REQUIRED')).toEqual(
      [
        { host: 'h1', port: 3307 },
        { host: 'h2', port: 3306 },
        { host: '::1', port: 3308 },
      ].map((place) => ({ ...place, ...user, ssl: expect.objectContaining({ rejectUnauthorized: false }) })),
    );
  });

  test.each([
    ['sqlite:data/content.db', `sqlite:${resolve('data/content.db')}`],
    ['sqlite:/var/lib/../lib/content.db', 'sqlite:/var/lib/content.db'],
    ['sqlite::memory:', 'sqlite::memory:'],
    ['mysql://me:s3cret%40@host/db', 'mysql://me@host:3306/db'],
    ['mariadb://m%40e:s3cret@h1:3307,[::1]/db', 'mariadb://m%40e@h1:3307,[::1]:3306/db'],
    ['mysql://me:s3cret@host/db?ssl-mode=REQUIRED', 'mysql://me@host:3306/db?ssl-mode=REQUIRED'],
  ])('%s is told without its password', (url, told) => {
    expect(describeAddress(url)).toBe(told);
  });

  test('replicas are those of a server', () => {
    expect(faultsOf({ DATABASE_READ_URL: 'sqlite:x.db' })).toEqual([
      'DATABASE_READ_URL must be mysql://user:password@host:port/database or mariadb://…',
    ]);
  });

  describe('a secret in a file', () => {
    let folder: string;
    beforeEach(() => {
      folder = mkdtempSync(join(tmpdir(), 'content-gateway-secrets-'));
    });
    afterEach(() => rmSync(folder, { recursive: true }));

    const fileWith = (text: string): string => {
      const path = join(folder, 'secret');
      writeFileSync(path, text);
      return path;
    };

    test.each(['', '\n', '\r\n'])('is read, without a last line break %j', (end) => {
      const url = 'mysql://me:p%40ss@host/db';
      expect(readConfig({ DATABASE_URL_FILE: fileWith(url + end) })).toMatchObject({
        databaseUrl: url,
        migrateDatabaseUrl: url,
        isDatabaseNamed: true,
        autoMigrate: false,
        strays: [],
      });
      expect(readConfig({ MIGRATE_DATABASE_URL_FILE: fileWith(url) }).migrateDatabaseUrl).toBe(url);
      expect(readConfig({ DATABASE_READ_URL_FILE: fileWith(url) }).databaseReadUrl).toBe(url);
      expect(readConfig({ REDIS_URL_FILE: fileWith(`redis://:secret@host${end}`) }).redisUrl).toBe(
        'redis://:secret@host',
      );
    });

    test('is not shown when it is faulty, and cannot stand beside its variable', () => {
      const faulty = fileWith('postgres://me:s3cret@host/db');
      expect(faultsOf({ DATABASE_URL_FILE: faulty })).toEqual([
        `DATABASE_URL_FILE "${faulty}" holds a value that must be sqlite:<path>, mysql://user:password@host:port/database or mariadb://…`,
      ]);
      expect(faultsOf({ REDIS_URL: 'redis://host', REDIS_URL_FILE: faulty })).toEqual([
        `REDIS_URL_FILE "${faulty}" must not be set beside REDIS_URL: one of them is enough`,
      ]);
      const empty = fileWith('\n');
      expect(faultsOf({ DATABASE_URL_FILE: empty })).toEqual([
        `DATABASE_URL_FILE "${empty}" must be the path of a file that is not empty`,
      ]);
      expect(faultsOf({ DATABASE_URL_FILE: join(folder, 'none') })).toEqual([
        `DATABASE_URL_FILE "${join(folder, 'none')}" must be the path of a file that is there`,
      ]);
    });

    test.each(secretFileNames)('%s is refused where it leads to anything but a file', (name) => {
      const [dangling, pipe, long] = ['dangling', 'pipe', 'long'].map((path) => join(folder, path)) as [
        string,
        string,
        string,
      ];
      symlinkSync(join(folder, 'none'), dangling);
      execFileSync('mkfifo', [pipe]);
      writeFileSync(long, 'A'.repeat(1_000_000));
      for (const [path, fault] of [
        [folder, 'must be the path of a file, not of a folder'],
        [dangling, 'is a link to a file that is not there'],
        [pipe, 'must be the path of a file, not of a pipe or device'],
        ['/dev/zero', 'must be the path of a file, not of a pipe or device'],
        [long, 'holds more than 65536 bytes'],
        [join(fileWith('a'), 'b'), 'cannot be read: ENOTDIR'],
      ]) {
        expect(faultsOf({ [name]: path })).toEqual([`${name} "${path}" ${fault}`]);
      }
    });

    test('may be one that a link leads to', () => {
      const key = Buffer.alloc(32, 1).toString('base64');
      const link = join(folder, 'link');
      symlinkSync(fileWith(`${key}\n`), link);
      const { webhookKeys, secretFiles } = readConfig({ WEBHOOK_SECRET_KEY_FILE: link });
      expect([webhookKeys.map((one) => one.toString('base64')), secretFiles]).toEqual([[key], [link]]);
    });
  });

  test('keys are of 32 bytes, and are not shown', () => {
    const [one, other] = [Buffer.alloc(32, 1), Buffer.alloc(32, 254)];
    expect(readConfig({}).webhookKeys).toEqual([]);
    const given = `${one.toString('base64')}, ${other.toString('base64url')}`;
    expect(readConfig({ WEBHOOK_SECRET_KEY: given }).webhookKeys).toEqual([one, other]);
    for (const faulty of [
      'secret',
      one.toString('hex'),
      `${one.toString('base64')},`,
      Buffer.alloc(31).toString('base64'),
    ]) {
      expect(faultsOf({ WEBHOOK_SECRET_KEY: faulty })).toEqual([
        'WEBHOOK_SECRET_KEY must be 32 bytes in base64, as `openssl rand -base64 32` prints them; of several keys, the first encrypts',
      ]);
    }
  });

  test('the address to migrate by is that of the same database', () => {
    const service = 'mysql://gateway:s3cret@proxy/content';
    expect(readConfig({ DATABASE_URL: service }).migrateDatabaseUrl).toBe(service);
    const migrator = 'mariadb://migrator:s3cret@primary:3307/content';
    expect(readConfig({ DATABASE_URL: service, MIGRATE_DATABASE_URL: migrator }).migrateDatabaseUrl).toBe(migrator);
    expect(readConfig({ MIGRATE_DATABASE_URL: migrator }).migrateDatabaseUrl).toBe(migrator);
    expect(faultsOf({ DATABASE_URL: service, MIGRATE_DATABASE_URL: `${migrator}2` })).toEqual([
      'MIGRATE_DATABASE_URL names the database content2, and DATABASE_URL the database content: they must name the same database',
    ]);
  });

  test('every setting with a wrong value says what is allowed', () => {
    const faults = variableNames.flatMap((name) => faultsOf({ [name]: '\u0000' }));
    // Any text is a host.
    expect(faults).toHaveLength(variableNames.length - 2);
    for (const fault of faults) expect(fault).toMatch(/ must (?:be|not|have) |holds no| cannot be read/);
    expect(faults.join('\n')).not.toContain('of another form');
  });

  describe('the variables are all named, and no others', () => {
    test('those that name files, in docs/settings.md and .env.example', () => {
      for (const file of ['docs/settings.md', '.env.example']) {
        for (const name of secretFileNames)
          expect([file, readFileSync(file, 'utf8')]).toEqual([file, expect.stringContaining(name)]);
      }
    });

    const found = (text: string, line: RegExp): string[] => [...text.matchAll(line)].map(([, part = '']) => part);
    const sorted = variableNames.toSorted();

    test('in the table of docs/settings.md', () => {
      expect(found(readFileSync('docs/settings.md', 'utf8'), /^\| `(\w+)`/gm).toSorted()).toEqual(sorted);
    });

    test('in .env.example, with values that are taken', () => {
      const example = readFileSync('.env.example', 'utf8');
      const names = found(example, /^(\w+)=/gm);
      const values = found(example, /^\w+=(.*)$/gm);
      expect(names.toSorted()).toEqual(sorted);
      expect(faultsOf(Object.fromEntries(names.map((name, index) => [name, values[index]])))).toEqual([]);
    });
  });
});
