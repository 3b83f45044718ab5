/**
 * @engines sqlite
 * @tier long
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { generateKey } from '../../../src/auth/format.ts';
import { startApp, type TestUser } from '../../harness/app/app.ts';
import { startMeddler } from '../../harness/servers/meddler.ts';
import { runCommand } from '../../harness/app/command.ts';
import { type Outcome, PROGRAM, runCli } from '../../harness/app/program.ts';

// How `verify` is called, and how it ends.

type Json = Record<string, any>; // oxlint-disable-line typescript/no-explicit-any -- read and changed anywhere

const app = await startApp();
app.context.lifecycle.relay.start();
const meddler = await startMeddler(app.url);
let user: TestUser;
let folder: string;

describe('verify command', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'content-gateway-verify-'));
    user = await app.aUser();
    await app.aGame({ gameType: 'RPG', tagNames: ['a', 'b'] });
    await app.anImagePost({ tagNames: ['a', 'b'] });
  });
  afterAll(async () => {
    await meddler.stop();
    await app.stop();
    await rm(folder, { recursive: true });
  });
  afterEach(() => meddler.meddle(undefined));

  const verify = (base: string, args: readonly string[] = [], env: Record<string, string> = {}): Promise<Outcome> =>
    runCommand(['verify', base, ...args], { env: { PATH: process.env['PATH'] ?? '', ...env } });

  describe('what is no gateway', () => {
    const server = createServer((_, response) => {
      response.writeHead(404, { 'Content-Type': 'text/html; charset=utf-8' }).end('<html>');
    });
    beforeAll(async () => {
      await once(server.listen(0, '127.0.0.1'), 'listening');
    });
    afterAll(() => void server.close());

    test('is told in one line, with status 3', async () => {
      const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      expect(await verify(`${base}/gw/`, ['--json'])).toEqual({
        code: 3,
        stdout: '',
        stderr: `error: ${base}/gw is no content gateway: GET /gw/openapi.json answered 404 text/html.\n`,
      });
    });

    test('is told of a path of a gateway that is none of its pages', async () => {
      const { code, stderr } = await verify(`${app.url}/elsewhere`);
      const words = `GET /elsewhere/openapi.json answered 404 application/json.`;
      expect({ code, stderr }).toEqual({
        code: 3,
        stderr: `error: ${app.url}/elsewhere is no content gateway: ${words}\n`,
      });
    });
  });

  test('a run that verified nothing is reported to GitHub as a failure, without counts', async () => {
    const [results, outputs] = [join(folder, 'nothing.json'), join(folder, 'outputs')];
    await writeFile(results, '');
    const report = promisify(execFile)(process.execPath, ['deploy/ci/report.mjs', results], {
      env: { GITHUB_OUTPUT: outputs },
    });
    await expect(report).rejects.toMatchObject({
      code: 1,
      stdout: '::error title=Content gateway::Nothing was verified; the log of the step says why.\n',
    });
    expect(await readFile(outputs, 'utf8')).toBe('passed=\nfailed=\nskipped=\nseed=\n');
  });

  test.each(['/', '/docs', '/docs/', '/openapi.json', '/api/trpc', '/api/trpc/', '/api/trpc/game.list'])(
    'the base is found from its %s',
    async (path) => {
      const { code, stdout, stderr } = await verify(app.url + path, ['--only', 'service', '--json']);
      const told = path === '/' ? '' : `Taking ${app.url} for the base of ${app.url}${path.replace(/\/$/, '')}.\n`;
      expect({ code, stderr }).toEqual({ code: 0, stderr: told });
      expect(JSON.parse(stdout)).toMatchObject({ baseUrl: app.url, failed: 0 });
    },
  );

  test('a gateway whose document is hidden is verified all the same', async () => {
    meddler.meddle(async (request, forward) =>
      request.path === '/openapi.json' ? { status: 403, headers: {}, body: '' } : forward(request),
    );
    const { code, stdout } = await verify(meddler.url, ['--only', 'service']);
    expect(code).toBe(1);
    expect(stdout).toContain('expected an OpenAPI document at /openapi.json, came status 403');
  });

  describe('the key', () => {
    test('is taken from GATEWAY_KEY, unless the option names another', async () => {
      const only = ['--only', 'user.me', '--json'];
      const withVariable = await verify(app.url, only, { GATEWAY_KEY: user.key });
      expect(JSON.parse(withVariable.stdout)).toMatchObject({ failed: 0, skipped: 1 });
      expect(await verify(app.url, only, { GATEWAY_KEY: generateKey() })).toMatchObject({ code: 2, stdout: '' });
      const withBoth = await verify(app.url, [...only, '--key', user.key], { GATEWAY_KEY: generateKey() });
      expect([withBoth.code, withBoth.stderr]).toEqual([0, '']);
    });

    test.each([
      [[], { GATEWAY_KEY: '' }],
      [['--key', ''], {}],
    ])('that is empty is none: %j %j', async (args, env) => {
      const { code, stdout, stderr } = await verify(
        app.url,
        ['--read-only', '--only', 'user.me', '--json', ...args],
        env,
      );
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(JSON.parse(stdout)).toMatchObject({
        failed: 0,
        skips: [{ reason: 'it needs a key with user:read' }, { reason: 'it needs a key' }],
      });
    });

    test('that is refused ends a run that would only read, too', async () => {
      const { code, stderr } = await verify(app.url, ['--read-only', '--key', generateKey()]);
      expect([code, stderr]).toEqual([2, 'error: The deployment refuses the key: status 401 "KEY_UNKNOWN".\n']);
    });

    test('is in nothing that is printed or written', async () => {
      meddler.meddle(async (request, forward) => ({ ...(await forward(request)), status: 500 }));
      const junit = join(folder, 'secret.xml');
      const { stdout, stderr } = await verify(meddler.url, ['--only', 'user.me', '--junit', junit], {
        GATEWAY_KEY: user.key,
      });
      const json = await verify(meddler.url, ['--only', 'user.me', '--json'], { GATEWAY_KEY: user.key });
      expect(stdout).toContain('"$GATEWAY_KEY"');
      for (const text of [stdout, stderr, json.stdout, await readFile(junit, 'utf8')])
        expect(text).not.toContain(user.key);
    });
  });

  describe('what is skipped', () => {
    test('is told by reason, and fails the run where it is more than it may be', async () => {
      const args = ['--only', 'game.getTypeStats,user.me'];
      const { stdout } = await verify(app.url, args);
      const [, skipped = ''] = /, ([0-9]+) skipped, /.exec(stdout) ?? [];
      const reasons = [...stdout.matchAll(/^SKIPPED ([0-9]+) of .*: it needs a key/gm)].map(([, n]) => Number(n));
      expect(reasons.reduce((sum, n) => sum + n, 0)).toBe(Number(skipped));
      expect(await verify(app.url, [...args, '--max-skipped', skipped])).toMatchObject({ code: 0, stderr: '' });
      expect(await verify(app.url, [...args, '--max-skipped', String(Number(skipped) - 1)])).toMatchObject({
        code: 1,
        stderr: `${skipped} checks were skipped, ${Number(skipped) - 1} may be.\n`,
      });
    });
  });

  describe('--json', () => {
    test('prints one value, with all that was found', async () => {
      meddler.meddle(async (request, forward) => {
        const reply = await forward(request);
        return request.path === '/api/trpc/game.getTypeStats' && reply.status === 200
          ? { ...reply, status: 201 }
          : reply;
      });
      const { code, stdout, stderr } = await verify(meddler.url, [
        '--only',
        'game.getTypeStats',
        '--json',
        '--seed',
        '5',
      ]);
      expect([code, stderr, stdout.split('\n').length]).toEqual([1, '', 2]);
      const report = JSON.parse(stdout);
      const members =
        'baseUrl seed run readOnly seconds checks passed failed skipped findings skips results changes records';
      expect(Object.keys(report).join(' ')).toBe(members);
      expect(report).toMatchObject({
        baseUrl: meddler.url,
        seed: 5,
        readOnly: false,
        findings: [
          {
            expected: 'status 200 with a result',
            came: 'status 201 with a result',
            at: null,
            request: {
              operation: 'game.getTypeStats',
              method: 'POST',
              url: `${meddler.url}/api/trpc/game.getTypeStats`,
            },
            shownBy: expect.arrayContaining([{ operation: 'game.getTypeStats', name: 'takes {}' }]),
          },
        ],
        records: { made: 0, left: 0 },
      });
      expect(report.checks).toBe(report.passed + report.failed + report.skipped);
      expect(report.results).toHaveLength(report.checks);
      expect(report.skips.reduce((sum: number, { checks }: { checks: number }) => sum + checks, 0)).toBe(
        report.skipped,
      );
    });
  });

  test('each fault has a command that shows it again', async () => {
    meddler.meddle(async (request, forward) => {
      const reply = await forward(request);
      return request.path === '/api/trpc/user.me' && reply.status === 200 ? { ...reply, status: 202 } : reply;
    });
    const { stdout } = await verify(meddler.url, ['--only', 'user.me', '--json'], { GATEWAY_KEY: user.key });
    const [{ replay, request }] = JSON.parse(stdout).findings;
    const env = { PATH: process.env['PATH'], GATEWAY_KEY: user.key };
    const replayed = await promisify(execFile)('sh', ['-c', replay], { env });
    expect(replayed.stdout).toMatch(/^HTTP\/1\.1 202 /);
    expect(replayed.stdout.toLowerCase()).toContain(`x-request-id: ${request.id}`);
    expect(replayed.stdout).toContain(user.id);
  });

  describe('the records of a run', () => {
    const count = async (run: string): Promise<number> =>
      (await app.call('game.list', { search: run, limit: 1, page: 1 })).total;
    const program = `'${process.execPath}' '${PROGRAM}'`;
    const args = ['--only', 'game.getTypeStats', '--json'];

    test('stay, and it says how to remove them', async () => {
      const { stdout } = await verify(app.url, ['--only', 'game.getTypeStats'], { GATEWAY_KEY: user.key });
      const [, n, run = ''] =
        /^([0-9]+) records? of it stays?\. .* verify-cleanup --run ([0-9a-f]{12}) --yes$/m.exec(stdout) ?? [];
      expect(Number(n)).toBeGreaterThan(0);
      expect(await count(run)).toBe(Number(n));
      const env = { DATABASE_URL: app.databaseUrl };
      const { code } = await runCommand(['verify-cleanup', '--run', run, '--yes'], { env });
      expect([code, await count(run)]).toEqual([0, 0]);
    });

    test('are removed by the command that is given', async () => {
      const cleanup = `DATABASE_URL='${app.databaseUrl}' ${program} verify-cleanup --run $VERIFY_RUN --yes`;
      const { code, stdout } = await verify(app.url, [...args, '--cleanup', cleanup], { GATEWAY_KEY: user.key });
      const { run, records } = JSON.parse(stdout);
      expect([code, records.left, await count(run)]).toEqual([0, 0, 0]);
      expect(records.made).toBeGreaterThan(0);
    });

    test('that a command leaves, or a command that fails, fail the run', async () => {
      const lazy = await verify(app.url, [...args, '--cleanup', 'true'], { GATEWAY_KEY: user.key });
      expect([lazy.code, lazy.stderr]).toEqual([
        1,
        expect.stringMatching(/^The cleanup left ([0-9]+) of \1 records\.\n$/),
      ]);
      // What a command says goes to the standard error of the process.
      const failed = await runCli(['verify', app.url, ...args, '--cleanup', 'echo told; exit 4'], {
        env: { PATH: process.env['PATH'] ?? '', GATEWAY_KEY: user.key },
      });
      expect([failed.code, failed.stderr]).toEqual([1, 'told\nThe cleanup ended with status 4.\n']);
    });
  });

  describe('the document of a client', () => {
    const released = async (): Promise<Json> =>
      JSON.parse(await readFile('openapi/released/1.0.0/openapi.json', 'utf8'));
    const withDocument = async (document: object): Promise<{ code: number | null; report: Json }> => {
      const file = join(folder, 'client.json');
      await writeFile(file, JSON.stringify(document));
      const { code, stdout } = await verify(app.url, [
        '--document',
        file,
        '--json',
        '--only',
        'game.list,game.getTypeStats',
      ]);
      return { code, report: JSON.parse(stdout) };
    };

    test('that was released is served as it says, and what is new is told', async () => {
      const { code, report } = await withDocument(await released());
      expect([code, report['findings']]).toEqual([0, []]);
      // A scope that is new comes only to callers whose keys have it.
      const isNewScope = ({ where }: { where: string }) => where === '200 /result/data/json/apiKey/scopes/*';
      const breaking = report['changes'].filter(({ breaks }: { breaks: boolean }) => breaks);
      expect(breaking.filter((change: { where: string }) => !isNewScope(change))).toEqual([]);
      expect(report['results']).toEqual(
        expect.arrayContaining([
          expect.objectContaining({
            operation: 'game.list',
            name: 'answers what clients of client.json can read',
            outcome: 'passed',
          }),
        ]),
      );
    });

    test('that the service breaks fails the run', async () => {
      const document = await released();
      const { schemas } = document['components'];
      schemas['GameSummary'].properties.likeCount = { type: 'string' };
      schemas['GameTypeCount'].properties.share = { type: 'number' };
      schemas['GameTypeCount'].required.push('share');
      const { code, report } = await withDocument(document);
      expect(code).toBe(1);
      expect(report['findings'].map(({ at, expected }: Record<string, string>) => `${at}: ${expected}`)).toEqual(
        expect.arrayContaining([
          '200 /result/data/json/items/*/likeCount: no type "integer"',
          '200 /result/data/json/items/*/share: the member',
          expect.stringMatching(/^\/result\/data\/json\/items\/0\/likeCount: string$/),
          expect.stringMatching(/^\/result\/data\/json\/items\/0\/share: number$/),
        ]),
      );
    });

    test.each([
      ['no file', undefined, /^error: .*client\.json cannot be read: ENOENT/],
      ['no JSON', 'openapi: 3.1.0', /^error: client\.json is no JSON: /],
      ['no document', '{"swagger":"2.0"}', /^error: client\.json is no OpenAPI document of version 3\.0 or 3\.1\.$/m],
      ['a document of nothing', '{"openapi":"3.1.0","paths":{}}', /^error: client\.json describes no operation /],
    ])('that is %s cannot be used', async (_, text, fault) => {
      const file = join(folder, 'client.json');
      if (text === undefined) await rm(file, { force: true });
      else await writeFile(file, text);
      const { code, stderr } = await verify(app.url, ['--document', file]);
      expect([code, stderr]).toEqual([2, expect.stringMatching(fault)]);
    });
  });

  test('prints a table, what was skipped and a summary, and writes JUnit XML', async () => {
    const junit = join(folder, 'green.xml');
    const args = ['--key', user.key, '--only', 'user.me,game.getTypeStats', '--junit', junit];
    const { code, stdout, stderr } = await verify(`${app.url}/`, args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(
      /^OPERATION {10}PASSED {2}FAILED {2}SKIPPED\ngame\.getTypeStats {2}[0-9]+ {6}0 {7}0\nuser\.me {12}[0-9]+ {6}0 {7}1\n\n/,
    );
    expect(stdout).toMatch(
      /\n\nSKIPPED 1 of user\.me: it needs a key without user:read\n[0-9]+ checks: [0-9]+ passed, 0 failed, 1 skipped, in [0-9.]+ s\. Seed [0-9]+\.\n1 record of it stays\./,
    );
    const xml = await readFile(junit, 'utf8');
    expect(xml).toMatch(
      /^<\?xml version="1\.0" encoding="UTF-8"\?>\n<testsuites name="verify http:\/\/127[^>]* failures="0" /,
    );
    expect(xml.match(/<testsuite name="[^"]+"/g)).toEqual([
      '<testsuite name="game.getTypeStats"',
      '<testsuite name="user.me"',
    ]);
    expect(xml).toContain('<skipped message="it needs a key without user:read"/>');
  });

  test('notes a member that is not known and, with --strict, ends with status 1 and a line for the fault', async () => {
    meddler.meddle(async (request, forward) => {
      const reply = await forward(request);
      if (request.path !== '/api/trpc/user.me' || reply.status !== 200) return reply;
      const body = JSON.parse(reply.body) as Json;
      body['result'].data.json.email = 'x@example.com';
      return { ...reply, body: JSON.stringify(body) };
    });
    const junit = join(folder, 'red.xml');
    const args = ['--key', user.key, '--only', 'user.me', '--junit', junit];
    const open = await verify(meddler.url, args);
    expect([open.code, open.stdout]).toEqual([
      0,
      expect.stringMatching(
        /\nNOTE 200 \/result\/data\/json\/email: expected no such member, came "x@example\.com"\n {2}in 1 place of 1 operation: user\.me 200 /,
      ),
    ]);
    const { code, stdout } = await verify(meddler.url, [...args, '--strict']);
    expect(code).toBe(1);
    const lines = stdout.split('\n');
    const failed = lines.findIndex((line) => line.startsWith('FAILED'));
    expect(lines.slice(failed, failed + 4)).toEqual([
      expect.stringMatching(
        /^FAILED \/result\/data\/json\/email: expected no such member, came "x@example\.com" \(request verify-[0-9a-f]{12}-[0-9.]+ to user\.me\)$/,
      ),
      expect.stringMatching(
        /^ {2}shown by 1 check of 1 operation: user\.me answers no member that the contract does not know$/,
      ),
      expect.stringMatching(/^ {2}curl .*"\$GATEWAY_KEY"/),
      expect.stringMatching(/ failed for 1 fault, /),
    ]);
    expect(await readFile(junit, 'utf8')).toContain(
      '<failure message="/result/data/json/email: expected no such member, came &#34;x@example.com&#34; (request verify-',
    );
  });

  test('says that a deployment cannot be reached', async () => {
    const { url, stop } = await startMeddler(app.url);
    await stop();
    const { code, stderr } = await verify(url);
    const fault = `connect ECONNREFUSED ${new URL(url).host}`;
    expect({ code, stderr }).toEqual({ code: 3, stderr: `error: ${url} cannot be reached: ${fault}.\n` });
  });

  test('has help whose examples work', async () => {
    const { stdout } = await verify('--help');
    const examples = [...stdout.matchAll(/^ {2}npm run -s cli -- (verify .*)$/gm)].map(([, call = '']) => call);
    expect(examples.length).toBeGreaterThan(0);
    for (const example of examples) {
      const call = example
        .replace('http://localhost:3000', app.url)
        .replace('$API_KEY', user.key)
        .replace('verify.xml', join(folder, 'example.xml'));
      const { code, stderr } = await runCommand([...call.split(' '), '--only', 'service']);
      const told = call.includes('/docs') ? `Taking ${app.url} for the base of ${app.url}/docs.\n` : '';
      expect({ example, code, stderr }).toEqual({ example, code: 0, stderr: told });
    }
  });
});
