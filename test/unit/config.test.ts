import { describe, expect, test } from '@jest/globals';
import { ConfigError, readConfig } from '../../src/config.ts';

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

test('an empty environment is enough', () => {
  expect(readConfig({})).toMatchObject({
    port: 3000,
    databaseUrl: 'sqlite:data/content.db',
    autoMigrate: true,
    logLevel: 'info',
    publicUrl: undefined,
    trustProxy: 0,
    corsOrigins: ['*'],
    shutdownTimeoutMs: 10_000,
  });
});

test('an empty variable counts as missing, an unknown one is none of ours', () => {
  expect(readConfig({ PORT: '', DATABASE_URL: '', LOG_LEVEL: '', HOST: '', CORS_ORIGINS: '', PATH: '/bin' })).toEqual(
    readConfig({}),
  );
});

test('each variable is read', () => {
  const environment = {
    PORT: '0',
    HOST: '::1',
    DATABASE_URL: 'mysql://me:p%40ss@db.example.com:3307/content',
    AUTO_MIGRATE: 'true',
    LOG_LEVEL: 'debug',
    PUBLIC_URL: 'https://api.example.com/base/',
    TRUST_PROXY: '2',
    CORS_ORIGINS: 'https://a.example.com, http://localhost:8080',
    SHUTDOWN_TIMEOUT_MS: '0',
  };
  expect(readConfig(environment)).toMatchObject({
    port: 0,
    host: '::1',
    databaseUrl: environment.DATABASE_URL,
    autoMigrate: true,
    logLevel: 'debug',
    publicUrl: 'https://api.example.com/base',
    trustProxy: 2,
    corsOrigins: ['https://a.example.com', 'http://localhost:8080'],
    shutdownTimeoutMs: 0,
  });
});

test('a server’s database is migrated only when asked for, a file by itself', () => {
  expect(readConfig({ DATABASE_URL: 'mariadb://me@host/db' }).autoMigrate).toBe(false);
  expect(readConfig({ DATABASE_URL: 'sqlite:x.db', AUTO_MIGRATE: 'false' }).autoMigrate).toBe(false);
});

describe('a faulty variable is named, with its value and what is allowed', () => {
  test.each([
    ['PORT', 'http', 'PORT "http" must be a whole number'],
    ['PORT', '-1', 'PORT "-1" must be a whole number'],
    ['PORT', '80.5', 'PORT "80.5" must be a whole number'],
    ['PORT', ' 80', 'PORT " 80" must be a whole number'],
    ['PORT', '65536', 'PORT "65536" must be at most 65535'],
    ['AUTO_MIGRATE', 'yes', 'AUTO_MIGRATE "yes" must be true or false'],
    ['LOG_LEVEL', 'INFO', 'LOG_LEVEL "INFO" must be fatal, error, warn, info, debug, trace or silent'],
    ['PUBLIC_URL', 'api.example.com', 'PUBLIC_URL "api.example.com" must be an http or https URL'],
    ['PUBLIC_URL', 'ftp://example.com', 'PUBLIC_URL "ftp://example.com" must be an http or https URL'],
    ['TRUST_PROXY', 'true', 'TRUST_PROXY "true" must be a whole number'],
    ['TRUST_PROXY', '33', 'TRUST_PROXY "33" must be at most 32'],
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
    ['SHUTDOWN_TIMEOUT_MS', '10s', 'SHUTDOWN_TIMEOUT_MS "10s" must be a whole number'],
    ['SHUTDOWN_TIMEOUT_MS', '600001', 'SHUTDOWN_TIMEOUT_MS "600001" must be at most 600000'],
  ])('%s=%s', (name, value, fault) => {
    expect(faultsOf({ [name]: value })).toEqual([fault]);
  });
});

describe('a faulty DATABASE_URL is explained without being shown', () => {
  const FORMS = 'DATABASE_URL must be sqlite:<path>, mysql://user:password@host:port/database or mariadb://…';

  test.each([
    ['postgres://me:s3cret@host/db', [FORMS]],
    ['s3cret', [FORMS]],
    ['sqlite:', [FORMS]],
    ['mysql:me:s3cret@host/db', [FORMS]],
    ['MYSQL://me:s3cret@host/db', [FORMS]],
    ['mysql://:s3cret@host/db', ['DATABASE_URL names no user']],
    ['mysql://me:s3cret@host', ['DATABASE_URL names no database: it ends in /<database>']],
    ['mysql://me:s3cret@host/', ['DATABASE_URL names no database: it ends in /<database>']],
    ['mysql://me:s3cret@host/a/b', ['DATABASE_URL names no database: it ends in /<database>']],
    [
      'mariadb://me:s3cret#1@host:3306x/db',
      ['DATABASE_URL is not a well-formed URL; percent-encode special characters of the password'],
    ],
    [
      'mysql://me:s3cret@host:99999/db',
      ['DATABASE_URL is not a well-formed URL; percent-encode special characters of the password'],
    ],
  ])('%s', (url, expected) => {
    const faults = faultsOf({ DATABASE_URL: url });
    expect(faults).toEqual(expected);
    expect(faults.join()).not.toContain('s3cret');
  });
});

test('every faulty variable is listed at once', () => {
  const faults = faultsOf({ PORT: 'x', LOG_LEVEL: 'loud', DATABASE_URL: 'x', AUTO_MIGRATE: '1' });
  expect(faults.map((fault) => fault.split(' ', 1)[0])).toEqual(['PORT', 'DATABASE_URL', 'AUTO_MIGRATE', 'LOG_LEVEL']);
});
