/**
 * @engines sqlite mariadb
 * @tier long
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openClient } from '../harness/app/client.ts';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';
import { runCli, startServe } from '../harness/app/program.ts';
import { callTool, connect, contentOf } from '../harness/http/mcp.ts';
import { startCollector } from '../harness/servers/otlp.ts';
import { until } from '../harness/until.ts';

// The program after deploy/prune has removed files from the packages of production.

const MOST_MEGABYTES = 60;
/** Imports every module of the program, and with it every package, but for the entries, which run at once. */
const IMPORT_ALL = `
  import { readdirSync } from 'node:fs';
  const entries = ['src/cli.js', 'src/admin/command-line.js', 'src/db/sqlite/threads/thread.js'];
  const all = ['src', 'migrations', 'openapi/kit'].flatMap((folder) =>
    readdirSync('dist/' + folder, { recursive: true }).map((name) => folder + '/' + name));
  const modules = all.filter((name) => name.endsWith('.js') && !entries.includes(name));
  for (const name of modules) await import(process.cwd() + '/dist/' + name);
  console.log(modules.length);
  process.exit();`;

interface Lock {
  packages: Record<string, { dev?: boolean; link?: boolean }>;
}

let folder: string;
let program: string;
let database: TestDatabase;

const prune = (): string => execFileSync('deploy/prune', { cwd: folder, encoding: 'utf8', stdio: 'pipe' });

describe('a pruned installation', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'content-gateway-pruned-'));
    program = join(folder, 'dist/src/cli.js');
    const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as Lock;
    const production = Object.entries(packages).flatMap(([path, { dev, link }]) =>
      path !== '' && !dev && !link && !path.slice(1).includes('node_modules/') && existsSync(path) ? [path] : [],
    );
    const own = ['package.json', 'dist', 'src', 'openapi', 'migrations', 'deploy'];
    execFileSync('cp', ['--archive', '--parents', ...own, ...production, folder]);
    database = await createDatabase({ empty: true });
  });

  afterAll(async () => {
    await database.drop();
    await rm(folder, { recursive: true });
  });

  test('is not made of what developers need', () => {
    mkdirSync(join(folder, 'node_modules/typescript'));
    expect(prune).toThrow(/error: node_modules has what developers need\. .*: npm ci --omit=dev/);
    execFileSync('rmdir', [join(folder, 'node_modules/typescript')]);
    const [, before, after] = /^node_modules: (\d+) MB, now (\d+) MB\n$/.exec(prune()) ?? [];
    expect(Number(before)).toBeGreaterThan(MOST_MEGABYTES);
    expect(Number(after)).toBeLessThan(MOST_MEGABYTES);
  });

  test('has every module that the program imports', () => {
    const imported = execFileSync('node', ['--input-type=module', '--eval', IMPORT_ALL], { cwd: folder });
    expect(Number(imported)).toBeGreaterThan(400);
  });

  test('keeps the licenses of its packages', () => {
    const find = (root: string): string[] =>
      execFileSync('find', ['node_modules/pino', 'node_modules/qs', '-iname', 'licen[cs]e*'], {
        cwd: root,
        encoding: 'utf8',
      })
        .split('\n')
        .toSorted();
    expect(find(folder)).toEqual(find('.'));
  });

  test('migrates, serves HTTP and MCP, sends traces, and passes doctor and verify', async () => {
    const env = { DATABASE_URL: database.url };
    const cli = (...args: string[]) => runCli(args, { env, program });
    expect(await cli('migrate')).toMatchObject({ code: 0 });
    const { stdout: user } = await cli('users', 'create', '--nickname', 'Ada', '--quiet');
    const { stdout: key } = await cli('keys', 'create', '--user', user.trim(), '--scopes', 'content:write,user:read');
    const collector = await startCollector();
    const served = await startServe({
      url: database.url,
      program,
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, LOG_FORMAT: 'pretty' },
    });
    try {
      const client = openClient(served.base, key.trim());
      const title = 'Pruned';
      expect(await client.call('game.create', { title })).toMatchObject({ status: 200 });
      client.close();
      const mcp = await connect(served.base);
      expect(contentOf(await callTool(mcp, 'game.list', { page: 1, limit: 1 }))).toMatchObject({
        items: [{ title }],
      });
      for (const page of [
        'docs/',
        'assets/swagger/swagger-ui-bundle.js',
        'assets/swagger/swagger-ui.css',
        'openapi.json',
      ]) {
        expect([page, (await fetch(`${served.base}/${page}`)).status]).toEqual([page, 200]);
      }
      expect(await cli('doctor')).toMatchObject({ code: 0 });
      expect(await cli('verify', served.base, '--read-only')).toMatchObject({ code: 0 });
      await until(() => collector.spans.some(({ name }) => name === 'game.create'));
    } finally {
      await served.stop();
      await collector.close();
    }
  });
});
