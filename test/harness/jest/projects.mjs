/**
 * Where each test runs: the docblock at its top says it, and nothing else. Read by jest.config.mjs, therefore plain JavaScript.
 *
 * - `@engines`: `none`, or of `sqlite`, `server` (MariaDB, or MySQL where that is the only one), `second-server` (MySQL beside
 *   MariaDB), `mariadb` and `vitess`; `all` is `sqlite server vitess`.
 * - `@tier`: `fast` for `npm test`, `long`, `fault` or `fuzz`.
 * - `@serverTier long`: on MariaDB and MySQL, it runs in `long`: no statement that it proves differs there.
 * - `@needs`: a program that the test runs, such as `redis`.
 * - `@modules own`: the service's modules are loaded for this file alone: see shared-modules.cjs.
 * - `@skipOnVitess <the beginning of a test's full name>: <reason>`, as often as there is something to skip.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ALL = ['sqlite', 'server', 'vitess'];
const words = (text = '') => text.split(/\s+/).filter(Boolean);

/** The values of a tag, in order. A value goes on until the next tag. */
const valuesOf = (docblock, tag) =>
  [...docblock.matchAll(new RegExp(`@${tag} ([^@]*)`, 'g'))].map(([, value]) =>
    value.replaceAll(/\s*\n \*\s?/g, ' ').trim(),
  );

const testOf = (path) => {
  const [docblock = ''] = /^\/\*\*[\s\S]*?\*\//.exec(readFileSync(path, 'utf8')) ?? [];
  const [engines, tier, serverTier, needs] = ['engines', 'tier', 'serverTier', 'needs'].map(
    (tag) => valuesOf(docblock.slice(0, -2), tag)[0],
  );
  const skips = valuesOf(docblock.slice(0, -2), 'skipOnVitess').map((text) => {
    const [test, ...reason] = text.split(': ');
    return { path, test, reason: reason.join(': ') };
  });
  return {
    path,
    engines: words(engines).flatMap((word) => (word === 'all' ? ALL : word)),
    tier,
    serverTier: serverTier ?? tier,
    needs: words(needs),
    skips,
  };
};

/** Every test file of ours, with what its docblock says. */
export const tests = readdirSync('test', { recursive: true })
  .filter((path) => path.endsWith('.test.ts') && !path.includes('node_modules'))
  .map((path) => testOf(join('test', path)))
  .toSorted((a, b) => (a.path < b.path ? -1 : 1));

/** A project: these tests, shown under `name`. */
export const project = (name, color, some, more = {}) => ({
  displayName: { name, color },
  testMatch: some.map(({ path }) => `<rootDir>/${path}`),
  runtime: '<rootDir>/test/harness/jest/shared-modules.cjs',
  testEnvironment: '<rootDir>/test/harness/jest/shared-environment.mjs',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': ['@swc/jest', { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' } }] },
  modulePathIgnorePatterns: ['<rootDir>/build/', '<rootDir>/dist/'],
  ...more,
});
