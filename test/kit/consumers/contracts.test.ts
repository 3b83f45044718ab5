/**
 * @engines sqlite
 * @tier fast
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type AnyRoute, measuredIn, operations, inputPartsOf } from '../../../contract/index.ts';
import { partsOf } from '../../../openapi/sdk/parts.mjs';
import { version } from '../../../src/base/version.ts';
import { startApp, type TestApp, type TestUser } from '../../harness/app/app.ts';
import { runCommand } from '../../harness/app/command.ts';
import { freePort } from '../../harness/free-ports.mjs';

// What consumers need, by their own tests, and whether a release gives it.

const DOCUMENT = new URL('../../../openapi/openapi.json', import.meta.url).pathname;
const published = readFileSync(DOCUMENT, 'utf8');
const folder = mkdtempSync(join(tmpdir(), 'contracts-'));
let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(async () => {
  await app.stop();
  rmSync(folder, { recursive: true });
});

const write = (name: string, value: object): string => {
  writeFileSync(join(folder, name), JSON.stringify(value));
  return join(folder, name);
};

type Json = Record<string, any>; // oxlint-disable-line typescript/no-explicit-any -- a document that tests change as they please
type Change = (schemas: Json, paths: Json) => void;

const changed = (name: string, change: Change): string => {
  const document = JSON.parse(published) as { components: { schemas: object }; paths: object };
  change(document.components.schemas, document.paths);
  return write(name, document);
};

/** Names a database that is not there, also where `npm start` has made that of the working folder. */
const withoutDatabase = { DATABASE_URL: `sqlite:${join(folder, 'nothing.sqlite')}` };

const cli = async (...args: string[]) => {
  const { code, stdout, stderr } = await runCommand(args, { env: withoutDatabase });
  return { code, stdout: stdout.trimEnd(), stderr: stderr.trimEnd() };
};

const need = (reads: string[] | undefined, more: object = {}) => ({
  operation: 'game.list',
  test: 'shows covers',
  sends: ['/limit', '/page', '/sortBy', '/sortBy=views'],
  ...(reads && { reads }),
  reasons: ['RATE_LIMITED'],
  ...more,
});
const contract = (consumer: string, ...needs: object[]) => ({ consumer, contract: version, needs });

test('SDKs are told the parts of inputs that the service knows, and of which the extremes are recorded', () => {
  const known = Object.entries(partsOf(JSON.parse(published)));
  const inJson = (route: AnyRoute) =>
    measuredIn(route.body, 'input')
      .filter((place) => place.startsWith('/json/'))
      .map((place) => place.replace('/json', ''));
  expect(Object.fromEntries(known.map(([id, { sends, measured }]) => [id, { sends, measured }]))).toEqual(
    Object.fromEntries(
      operations.map(({ id, route }) => [id, { sends: inputPartsOf(route).names, measured: inJson(route) }]),
    ),
  );
});

describe('can-i-deploy', () => {
  const production = join(folder, 'production');
  const covers = contract('covers', need(['/items/*/coverUrl', '/total']));
  const titles = contract('titles', need(['/items/*/title'], { test: 'shows titles' }));
  beforeAll(() => {
    mkdirSync(production);
    write('production/covers.json', covers);
    write('production/titles.json', titles);
  });
  const withoutCovers = (): string =>
    changed('without-covers.json', (schemas) => {
      delete schemas['GameSummary'].properties.coverUrl;
      schemas['GameSummary'].required = schemas['GameSummary'].required.filter((name: string) => name !== 'coverUrl');
    });

  describe('that were published', () => {
    const env = (): Record<string, string> => ({ DATABASE_URL: gateway.databaseUrl });
    const file = join(folder, 'published.json');
    // None has called it without a key.
    let gateway: TestApp;
    let owner: TestUser;
    const publish = (reads: string[] | undefined, key = owner.key, to = gateway.url) => {
      writeFileSync(file, JSON.stringify({ $schema: 'x', ...contract('covers', need(reads)) }));
      return runCommand(['contract', 'publish', file, '--to', `${to}/`], { env: { GATEWAY_KEY: key } });
    };
    const ask = async (...options: string[]) => {
      const args = ['can-i-deploy', '--document', withoutCovers(), ...options];
      const { code, stdout } = await runCommand(args, { env: env() });
      return { code, broken: stdout.split('\n').filter((line) => line.startsWith(' ')) };
    };
    beforeAll(async () => {
      gateway = await startApp();
      owner = await gateway.aUser();
    });

    afterAll(() => gateway.stop());

    test('are asked of the database, with the uses of all who do not say what they read', async () => {
      await gateway.call('game.list', { limit: 1, page: 1 }, owner.key);
      await gateway.context.auth.uses?.flush();
      const used = [expect.stringMatching(`^ +key ${owner.keyId}, "\\w+" of user ${owner.id}; last called it on `)];
      expect(await ask()).toEqual({ code: 1, broken: used });
      expect(await publish(['/items/*/coverUrl'])).toMatchObject({ code: 0, stdout: '' });
      const named = [`          covers of user ${owner.id}; needs /items/*/coverUrl; in "shows covers"; by game.list`];
      expect(await ask()).toEqual({ code: 1, broken: named });
      expect(await ask('--tag', 'main')).toEqual({ code: 1, broken: used });
      await publish(['/items/*/title']);
      expect(await ask()).toEqual({ code: 0, broken: [] });
      await publish(undefined);
      expect(await ask()).toMatchObject({ code: 1, broken: { length: 1 } });
      // What was sent is known all the same.
      const sortless = changed('sortless.json', (schemas) => void delete schemas['GameListInput'].properties.page);
      const { stdout } = await runCommand(['can-i-deploy', '--document', sortless], { env: env() });
      expect(stdout).toContain(`key ${owner.keyId}`);
    });

    test('are exported as files, to a new folder', async () => {
      await publish(['/items/*/coverUrl']);
      const out = join(folder, 'exported');
      const exported = () => runCommand(['contract', 'export', out], { env: env() });
      expect(await exported()).toMatchObject({ code: 0 });
      expect(readdirSync(out)).toEqual([`covers.${owner.id}.json`]);
      writeFileSync(join(out, 'titles.json'), JSON.stringify(titles));
      const junit = join(folder, 'consumers.xml');
      const args = ['--document', withoutCovers(), '--contracts', out, '--junit', junit];
      expect(await cli('can-i-deploy', ...args)).toMatchObject({
        code: 1,
        stdout: expect.stringContaining('in "shows covers"'),
      });
      const xml = readFileSync(junit, 'utf8');
      expect(xml).toMatch(/<testsuites name="can-i-deploy" tests="2" failures="1">/);
      expect(xml).toMatch(/<testcase classname="consumers" name="titles"><\/testcase>/);
      expect(xml).toMatch(/name="covers"><failure message="game\.list, 200 [^"]*coverUrl/);
      expect(await exported()).toMatchObject({ code: 1, stderr: expect.stringContaining('exists') });
    });

    test('say why one is not kept', async () => {
      const reader = await gateway.aUser({ scopes: ['user:read'] });
      expect(await publish([], reader.key)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('contract:write'),
      });
      const faulty = await publish(['/\0']);
      expect(faulty).toMatchObject({ code: 2, stderr: expect.stringContaining('/contract/needs/0/reads/0 must') });
      const nowhere = await publish([], owner.key, `http://127.0.0.1:${await freePort()}`);
      expect(nowhere).toMatchObject({ code: 3, stderr: expect.stringContaining('No gateway answers') });
    });
  });

  describe('of which some are odd', () => {
    const LONG = '🎮'.repeat(100);
    let gateway: TestApp;
    let [good, odd]: TestUser[] = [];
    const run = async (...args: string[]) => {
      const { code, stdout, stderr } = await runCommand(args, { env: { DATABASE_URL: gateway.databaseUrl } });
      return { code, stdout: stdout.trimEnd().split('\n'), stderr };
    };
    const ask = () => run('can-i-deploy', '--document', withoutCovers());
    const publish = (consumer: string, user: TestUser | undefined, reads = ['/items/*/title'], tag = 'production') => {
      const made = { ...contract(consumer, need(reads)), contract: '1.1.0' };
      return gateway.send('consumerContract.publish', { tag, contract: made }, user?.key);
    };
    const store = (needs: string, consumer: string) =>
      gateway.context.db.transaction((tx) =>
        tx.execute('UPDATE consumer_contracts SET needs = ? WHERE consumer = ?', [needs, consumer]),
      );
    beforeEach(async () => {
      gateway = await startApp();
      good = await gateway.aUser();
      odd = await gateway.aUser();
    });
    afterEach(() => gateway.stop());

    test('those of suspended users count for nothing, nor do their uses, and both are told', async () => {
      await publish('good', good);
      await publish('odd', odd, ['/items/*/coverUrl']);
      await gateway.call('game.list', { limit: 1, page: 1 }, odd?.key);
      await gateway.context.auth.uses?.flush();
      expect(await ask()).toMatchObject({ code: 1 });
      await run('users', 'suspend', odd?.id ?? '');
      const { code, stderr } = await ask();
      expect({ code, stderr }).toEqual({
        code: 0,
        stderr: expect.stringContaining('of suspended users, which count for nothing: 2.'),
      });
      const use = join(folder, 'suspended.jsonl');
      writeFileSync(use, (await run('keys', 'use', '--days', '90', '--json')).stdout.join('\n'));
      expect(await cli('impact', DOCUMENT, withoutCovers(), '--use', use)).toMatchObject({ code: 0 });
      const out = join(folder, 'without-suspended');
      const exported = await run('contract', 'export', out);
      expect(exported).toMatchObject({
        code: 0,
        stderr: expect.stringContaining(`of user ${odd?.id} gets no file: its user is suspended`),
      });
      expect(readdirSync(out)).toEqual([`good.${good?.id}.json`]);
    });

    test.each(['no JSON', '[{"operation":1}]'])(
      'one with %j for needs is told and passed over, and no yes',
      async (needs) => {
        await publish('a', odd);
        await publish('good', good);
        await store(needs, 'a');
        expect(await ask()).toMatchObject({
          code: 2,
          stderr: expect.stringMatching(`contract of a of user ${odd?.id} cannot be read\\.[^]*no yes`),
        });
        const out = join(folder, `without-${needs.length}`);
        expect(await run('contract', 'export', out)).toMatchObject({
          code: 2,
          stderr: expect.stringContaining(`of user ${odd?.id} gets no file: it cannot be read`),
        });
        expect(readdirSync(out)).toEqual([`good.${good?.id}.json`]);
        await publish('good', good, ['/items/*/coverUrl']);
        expect(await ask()).toMatchObject({ code: 1 });
        const { code, stdout } = await run('users', 'export', odd?.id ?? '');
        expect([code, stdout.join('')]).toEqual([0, expect.stringContaining('"consumer":"a"')]);
      },
    );

    test('each has a file of its own, with a short and plain name', async () => {
      const names = [
        LONG,
        `${LONG.slice(2)}🎲`,
        'shop/web',
        'shop-web',
        'Shop-web',
        '..',
        '../../up',
        '@shop/web',
        'a*b?c:d',
      ];
      for (const consumer of names) await publish(consumer, good);
      await publish('shop-web', odd);
      const out = join(folder, 'plain');
      expect(await run('contract', 'export', out)).toMatchObject({ code: 0 });
      const files = readdirSync(out);
      expect(new Set(files.map((file) => file.toLowerCase())).size).toBe(names.length + 1);
      for (const file of files) {
        expect(file).toMatch(/^[\w.~-]+$/);
        expect(Buffer.byteLength(file)).toBeLessThan(200);
      }
      const kept = files.map(
        (file) => (JSON.parse(readFileSync(join(out, file), 'utf8')) as { consumer: string }).consumer,
      );
      expect(kept.toSorted()).toEqual([...names, 'shop-web'].toSorted());
      expect(files).toContain(`shop-web.${good?.id}.json`);
    });

    test('operators list and delete, which the audit log keeps', async () => {
      await publish('web', good);
      await publish('web', odd);
      await publish('web', odd, [], 'main');
      await publish('app', odd);
      const listed = async (...args: string[]) =>
        (await run('contract', 'list', '--json', ...args)).stdout
          .filter((line) => line !== '')
          .map((line) => JSON.parse(line) as { consumer: string; tag: string; userId: string });
      expect((await listed()).map(({ consumer, tag }) => `${consumer} ${tag}`)).toEqual([
        'app production',
        'web main',
        'web production',
        'web production',
      ]);
      expect(await listed('--user', good?.id ?? '', '--tag', 'production')).toMatchObject([
        { consumer: 'web', needCount: 1 },
      ]);
      expect((await run('contract', 'list', '--consumer', 'web', '--tag', 'main')).stdout).toHaveLength(2);

      const named = ['contract', 'delete', '--user', odd?.id ?? '', '--consumer', 'web', '--tag', 'production'];
      const shown = await run(...named);
      expect(shown).toMatchObject({ code: 0, stderr: expect.stringContaining('Nothing was deleted') });
      expect(await listed()).toHaveLength(4);
      expect(await run(...named, '--yes', '--as', 'Maru')).toMatchObject({ code: 0, stdout: shown.stdout });
      expect((await listed()).map(({ consumer, tag, userId }) => [consumer, tag, userId])).toEqual([
        ['app', 'production', odd?.id],
        ['web', 'main', odd?.id],
        ['web', 'production', good?.id],
      ]);
      await run('contract', 'delete', '--user', odd?.id ?? '', '--yes');
      expect(await listed()).toMatchObject([{ userId: good?.id }]);
      const audited = (await run('audit', 'list', '--json')).stdout.map(
        (line) => JSON.parse(line) as { action: string },
      );
      expect(audited.filter(({ action }) => action === 'contract delete')).toEqual([
        expect.objectContaining({
          actor: expect.stringMatching(/^Maru \(/),
          subject: `user ${odd?.id}`,
          before: expect.objectContaining({ userId: odd?.id, consumer: 'web', tag: 'production' }),
        }),
        expect.objectContaining({ before: expect.objectContaining({ consumer: 'app' }) }),
        expect.objectContaining({ before: expect.objectContaining({ tag: 'main' }) }),
      ]);
      expect(await run('contract', 'delete', '--yes')).toMatchObject({ code: 2 });
      expect(await run('contract', 'list', '--user', 'nobody')).toMatchObject({ code: 1 });
    });
  });

  /** A change of one schema. */
  const inSchema =
    (name: string, change: (schema: Json) => unknown): Change =>
    (schemas) =>
      void change(schemas[name] as Json);
  const withoutReason =
    (status: number, reason: string): Change =>
    (_, paths) =>
      void delete paths['/api/trpc/game.list'].post.responses[status].content['application/json'].examples[reason];
  const withoutPath =
    (id: string): Change =>
    (_, paths) =>
      void delete paths[`/api/trpc/${id}`];
  const withFreshWord = inSchema('TotalRelation', (one) => one['enum'].push('fresh'));
  const withTextsForViews = inSchema('GameSummary', ({ properties }) => (properties.viewCount.type = 'string'));
  const requiring = need([], { requires: ['/items', '/total'] });
  const decoding = need([], { decodes: true });
  const output = (change: (schema: Json) => unknown): Change => inSchema('GameListOutput', change);
  const input = (change: (schema: Json) => unknown): Change => inSchema('GameListInput', change);

  test.each<[string, Change, object, boolean]>([
    ['a word that is sent', inSchema('GameSort', (one) => one['enum'].splice(2, 1)), need([]), true],
    ['a word that is not sent', inSchema('GameSort', (one) => one['enum'].splice(1, 1)), need([]), false],
    ['a member that is required, and sent already', input(({ required }) => required.push('sortBy')), need([]), false],
    ['a member that is required', input(({ required }) => required.push('search')), need([]), true],
    ['a reply that may be read whole', output(({ properties }) => delete properties.total), need(undefined), true],
    ['what holds a read', output(({ properties }) => delete properties.items), need(['/items/*/title']), true],
    ['a member that a client needs to decode', output(({ required }) => required.shift()), requiring, true],
    ['its type', output(({ properties }) => (properties.total.type = 'string')), requiring, false],
    ['the type of all', output((one) => (one['type'] = ['object', 'null'])), requiring, true],
    ['a type that is decoded', withTextsForViews, decoding, true],
    [
      'a decoded member to one that may miss',
      inSchema('GameSummary', ({ required }) => required.pop()),
      decoding,
      true,
    ],
    ['a type that is not decoded', withTextsForViews, need([]), false],
    ['a word that is new, and decoded', withFreshWord, decoding, false],
    ['words to any text, which is decoded', inSchema('TotalRelation', (one) => delete one['enum']), decoding, false],
    ['a word that is new, and read', withFreshWord, need(['/totalRelation'], { decodes: true }), true],
    ['a reason that is handled', withoutReason(429, 'RATE_LIMITED'), need([]), true],
    ['a reason that is not handled', withoutReason(404, 'PAGE_TOO_DEEP'), need([]), false],
    ['an operation that is not called', withoutPath('user.me'), need([]), false],
    ['an operation that is called', withoutPath('game.list'), need([]), true],
  ])('tells by the contract whether a consumer bears the change of %s', async (what, change, needed, breaks) => {
    const file = write('one.json', contract('one', needed));
    const { code } = await cli('can-i-deploy', '--document', changed(`${what}.json`, change), '--contracts', file);
    expect(code).toBe(breaks ? 1 : 0);
  });

  test.each([
    ['game.update', ['/id', '/extraInfo/fileSize'], 'the operation'],
    ['game.delete', ['/id'], 'the operation'],
    ['game.list', ['/limit', '/page', '/authorId'], 'the request /json/authorId'],
  ])('says of version 1.2.0 that it does not serve a call of %s with %j', async (operation, sends, missing) => {
    const file = write('newer.json', contract('newer', { ...need([]), operation, sends }));
    const released = new URL('../../../openapi/released/1.2.0/openapi.json', import.meta.url).pathname;
    const { code, stdout } = await cli('can-i-deploy', '--document', released, '--contracts', file);
    expect([code, stdout]).toEqual([1, expect.stringContaining(`BREAKS  ${operation}, ${missing}:`)]);
    expect((await cli('can-i-deploy', '--to', app.url, '--contracts', file)).code).toBe(0);
  });

  test('tells a consumer whether a deployment serves what it needs', async () => {
    const file = write('consumer.json', covers);
    expect((await cli('can-i-deploy', '--to', app.url, '--contracts', file)).code).toBe(0);
    const other = createServer((_, response) => response.end(readFileSync(withoutCovers())));
    other.listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as { port: number };
    const to = `http://127.0.0.1:${port}/`;
    expect(await cli('can-i-deploy', '--to', to, '--contracts', file)).toMatchObject({ code: 1 });
    other.close();
    const nowhere = `http://127.0.0.1:${await freePort()}`;
    expect(await cli('can-i-deploy', '--to', nowhere, '--contracts', file)).toMatchObject({ code: 3, stdout: '' });
    const old = write('old.json', { ...covers, contract: '1.0.0' });
    expect((await cli('can-i-deploy', '--to', app.url, '--contracts', old)).code).toBe(0);
    expect((await cli('can-i-deploy', '--to', app.url, '--contracts', old, '--from', DOCUMENT)).code).toBe(0);
    const unknown = write('unknown.json', { ...covers, contract: '0.9.0' });
    const refused = await cli('can-i-deploy', '--to', app.url, '--contracts', unknown);
    expect([refused.code, refused.stderr]).toEqual([
      4,
      expect.stringContaining('was tested with 0.9.0, whose document is not at hand: name it by --from.'),
    ]);
  });

  test.each([
    [['--to', 'http://localhost'], 'Say of whom'],
    [['--document', DOCUMENT], 'There is no database'],
    [['--contracts', production], 'Say what would be deployed'],
    [['--document', DOCUMENT, '--contracts', join(folder, 'nothing.json')], 'nothing.json cannot be read'],
    [['--document', DOCUMENT, '--contracts', folder], 'is no consumer contract'],
  ])('refuses %j', async (options, told) => {
    write('aaa.json', { consumer: 'x', needs: [{ operation: 'game.list', sends: ['limit'] }] });
    const { code, stderr } = await cli('can-i-deploy', ...options);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(told) });
  });
});
