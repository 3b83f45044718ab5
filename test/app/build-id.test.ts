/**
 * @engines none
 * @tier fast
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';

const SCRIPT = 'deploy/ci/build-id.mjs';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'content-gateway-build-'));
  mkdirSync(join(folder, 'dist'));
  cpSync(SCRIPT, join(folder, SCRIPT));
});
afterEach(() => rmSync(folder, { recursive: true }));

const git = (...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
    cwd: folder,
    encoding: 'utf8',
  }).trim();

/** The build id that a build with this BUILD_ID would show. */
const written = (id = ''): unknown => {
  const env = { PATH: process.env['PATH'], BUILD_ID: id };
  execFileSync(process.execPath, [SCRIPT], { cwd: folder, env, stdio: ['ignore', 'inherit', 'pipe'] });
  return (JSON.parse(readFileSync(join(folder, 'dist/build.json'), 'utf8')) as { build: unknown }).build;
};

describe('the build id', () => {
  test('is the commit of a checkout, and says if files differ from it', () => {
    git('init', '--quiet');
    writeFileSync(join(folder, '.gitignore'), 'dist\n');
    git('add', '.');
    git('commit', '--quiet', '--message', 'First');
    const commit = git('rev-parse', 'HEAD').slice(0, 12);
    expect(written()).toBe(commit);
    expect(git('status', '--porcelain')).toBe('');
    writeFileSync(join(folder, '.gitignore'), 'dist\nmore\n');
    expect(written()).toBe(`${commit}-dirty`);
    expect(written('nightly-7')).toBe('nightly-7');
  });

  test('is not that of a repository around the folder', () => {
    const outer = folder;
    git('init', '--quiet');
    git('commit', '--quiet', '--allow-empty', '--message', 'First');
    cpSync(join(outer, 'deploy'), join(outer, 'release/deploy'), { recursive: true });
    mkdirSync(join(outer, 'release/dist'));
    folder = join(outer, 'release');
    expect(written()).toBe('unknown');
    folder = outer;
  });

  test.each([
    ['unknown', 'unknown'],
    ['', 'unknown'],
    ['0123456789abcdef0123456789abcdef01234567', '0123456789ab'],
  ])('without a checkout, BUILD_ID=%s stands as %s', (id, build) => {
    expect(written(id)).toBe(build);
  });

  test('cannot hold what a label may not', () => {
    expect(() => written('a b')).toThrow(/is not of letters, digits, dots and hyphens/);
  });
});

describe('a start from the sources', () => {
  const SCRIPT_OF_STARTS = '.ci/build-if-stale.mjs';
  /** What a start writes to the terminal before the service does. */
  const started = (...args: string[]): string => {
    const { stderr } = spawnSync(process.execPath, [SCRIPT_OF_STARTS, ...args], { cwd: folder, encoding: 'utf8' });
    return stderr;
  };

  test('says that it compiles, once', () => {
    cpSync(SCRIPT_OF_STARTS, join(folder, SCRIPT_OF_STARTS));
    for (const room of ['contract', 'src', 'migrations', 'openapi/kit']) {
      mkdirSync(join(folder, room), { recursive: true });
      mkdirSync(join(folder, 'dist', room), { recursive: true });
    }
    for (const file of ['package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json']) {
      writeFileSync(join(folder, file), '{}');
    }
    const compiler = join(folder, 'node_modules/typescript/bin');
    mkdirSync(compiler, { recursive: true });
    writeFileSync(join(compiler, 'tsc'), '');
    expect([started(), started(), started('--always')]).toEqual(['compiling, once\n', '', '']);
  });
});
