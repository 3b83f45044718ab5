/**
 * What of the tests does not hold on Vitess, and why: whole files, or single tests by the beginning of their full name.
 * Plain JavaScript, since Jest's configuration reads it.
 */
const NO_PROCEDURES = 'Vitess takes no CREATE PROCEDURE, by which the test has a deadlock reported.';
const PRIVATE =
  'The tests of a server with other settings start one of their own and set it up with SET GLOBAL: those of MySQL ' +
  'below Vitess are its operator’s.';

export const exceptions = [
  {
    file: 'test/db/plans.test.ts',
    reason:
      'It counts the rows that MySQL and MariaDB say they read (ANALYZE); the plans are those of the MySQL below.',
  },
  { file: 'test/db/transactions.test.ts', test: 'transactions that meet one that loses again', reason: NO_PROCEDURES },
  ...['is run again', 'again and again'].map((end) => ({
    file: 'test/db/transactions.test.ts',
    test: `transactions that meet one whose connection is cut ${end}`,
    reason:
      'The test cuts a connection by its CONNECTION_ID(), which on Vitess is that of MySQL below. Connections that break ' +
      'are seen to by the tests of faults.',
  })),
  { file: 'test/db/deadlines.test.ts', test: 'at the deadline a transaction that loses again', reason: NO_PROCEDURES },
  {
    file: 'test/db/released.test.ts',
    reason:
      'Version 1.0.0, which it runs beside this one, cannot migrate on Vitess: its lock of migrations is none there.',
  },
  { file: 'test/db/hosts.test.ts', test: 'hosts', reason: PRIVATE },
  { file: 'test/db/odd-server.test.ts', test: 'on an odd server', reason: PRIVATE },
  { file: 'test/db/prepared.test.ts', test: 'a server', reason: PRIVATE },
  { file: 'test/db/tls.test.ts', test: 'a connection', reason: PRIVATE },
  { file: 'test/db/writable.test.ts', test: 'needs a server of its own', reason: PRIVATE },
  { file: 'test/db/backup-guide.test.ts', test: 'the guide for servers', reason: PRIVATE },
  {
    file: 'test/db/transfer-faults.test.ts',
    test: 'an import that the database fails midway',
    reason: 'Vitess takes no CREATE TRIGGER, by which the test has an import fail midway.',
  },
  {
    file: 'test/fault/database.test.ts',
    test: 'the database connections that the operator kills',
    reason:
      'It kills connections by the numbers that SHOW PROCESSLIST tells, which on Vitess are those of MySQL below and not of ' +
      'vtgate. Those of MySQL are broken by test/fault/log.test.ts.',
  },
  {
    file: 'test/fault/start.test.ts',
    test: 'a database with a wrong password',
    reason: 'Vitess takes no CREATE USER: vtgate has accounts of its own, which its operator sets up.',
  },
];

/** Patterns of the files in `folders` that are left out as a whole. */
export const ignoredFiles = (folders) =>
  exceptions
    .filter(({ file, test }) => test === undefined && folders.some((folder) => file.startsWith(`test/${folder}/`)))
    .map(({ file }) => `<rootDir>/${file}`);

/** Why a test is left out, or undefined. */
export const reasonAgainst = (path, name) =>
  exceptions.find(({ file, test }) => test !== undefined && path.endsWith(`/${file}`) && name.startsWith(test))?.reason;
