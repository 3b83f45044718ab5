/**
 * @engines sqlite
 * @tier long
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sandboxKeys } from '../../src/sandbox/sandbox.ts';
import { defaultSizes, GRACE_MS } from '../../src/search/segment.ts';
import { guides } from '../../openapi/guide-catalogue.ts';
import { blocksOf, guideFor, type Ran, runGuide, runScriptHere } from '../harness/documents/guide.ts';
import { runCommand } from '../harness/app/command.ts';
import { type ServeProcess, startSandbox, startServe } from '../harness/app/program.ts';

// The examples of the guides, run as they stand, and what they show of the answers.

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(resolve('dist/guides-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** A guide runs on a busy machine, and starts the command line several times. */
const GUIDE_MS = 1_200_000;

/** How many examples ran, and of how many the answer is shown, so that none is lost unseen. */
const expectAll = ({ ran, compared, mismatches }: Ran, expected: { ran: number; compared: number }): void => {
  expect(mismatches).toEqual([]);
  expect({ ran, compared }).toEqual(expected);
};

describe('on a sandbox', () => {
  let sandbox: ServeProcess;
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterAll(() => sandbox.stop());

  test('the program has the guides with it, wherever it is started', async () => {
    for (const { name } of guides) {
      const { status } = await fetch(`${sandbox.base}/guides/${name}`);
      expect([name, status]).toEqual([name, 200]);
    }
    expect((await fetch(`${sandbox.base}/llms-full.txt`)).status).toBe(200);
  });

  test.each([
    ['start', { ran: 8, compared: 7 }],
    ['paging', { ran: 3, compared: 3 }],
    ['searching', { ran: 5, compared: 2 }],
    ['errors', { ran: 3, compared: 3 }],
    ['retries', { ran: 2, compared: 2 }],
    ['events', { ran: 4, compared: 1 }],
    ['webhooks', { ran: 1, compared: 1 }],
    ['trpc', { ran: 4, compared: 3 }],
    ['mcp', { ran: 1, compared: 1 }],
    ['contracts', { ran: 6, compared: 0 }],
  ])(
    '%s',
    async (name, expected) => {
      await fetch(`${sandbox.base}/sandbox/reset`, { method: 'POST' });
      const mirror = { MIRROR_FILE: join(folder, 'games.json'), MIRROR_ONCE: 'true', GATEWAY_URL: sandbox.base };
      const env = { ...process.env, GATEWAY_KEY: sandboxKeys[0]?.key, ...mirror };
      // One writes into the folder where it runs.
      const cwd = name === 'contracts' ? { cwd: await mkdtemp(join(folder, name)) } : {};
      expectAll(await runGuide(`docs/${name}.md`, { address: sandbox.base, folder, env, ...cwd }), expected);
    },
    GUIDE_MS,
  );
});

describe('on a service with a database and limits', () => {
  let service: ServeProcess;
  let directory: string;
  let url: string;
  beforeAll(async () => {
    // An erasure waits that long for searches, of which none goes on here: see `runScriptHere`.
    defaultSizes.graceMs = 0;
    directory = await mkdtemp(join(tmpdir(), 'content-gateway-guides-'));
    url = `sqlite:${join(directory, 'content.db')}`;
    service = await startServe({ url, env: { RATE_LIMIT: 'on' } });
  });
  afterAll(async () => {
    defaultSizes.graceMs = GRACE_MS;
    await service.stop();
    await rm(directory, { recursive: true });
  });

  test.each([
    ['keys', { ran: 7, compared: 1 }],
    ['limits', { ran: 1, compared: 1 }],
    ['moderation', { ran: 18, compared: 3 }],
    ['erasure', { ran: 6, compared: 2 }],
    ['transfer', { ran: 3, compared: 0 }],
    ['consumers', { ran: 6, compared: 0 }],
  ])(
    '%s',
    async (name, expected) => {
      // The last two write into the folder where they run.
      const cwd = expected.compared > 0 ? '.' : await mkdtemp(join(directory, name));
      const env = { ...process.env, DATABASE_URL: url };
      expectAll(await runGuide(`docs/${name}.md`, { address: service.base, folder, env, cwd }), expected);
    },
    GUIDE_MS,
  );

  test(
    'upgrading',
    async () => {
      const { migrations } = await import('../../migrations/index.ts');
      const text = await readFile('docs/upgrading.md', 'utf8');
      // Each migration says what it does to big tables.
      const told = [...text.matchAll(/^\| `(\d{4})`/gm)].map(([, name]) => name);
      expect(told).toEqual(migrations.map(({ name }) => name.slice(-4)));
      const guide = join(directory, 'upgrading.md');
      await writeFile(guide, text.replaceAll(/(?:before-upgrade\.db|(?:upgrade|back)\.sql)/g, `${directory}/$&`));
      const env = { DATABASE_URL: `sqlite:${join(directory, 'upgraded.db')}`, AUTO_MIGRATE: 'false' };
      // Those after it are taken back at the end.
      const [, before = ''] = /--down --to (\w+) --yes\n/.exec(text) ?? [];
      expect(migrations.slice(0, -1).map(({ name }) => name)).toContain(before);
      await runCommand(['migrate', '--to', before], { env });
      const ran = await runGuide(guide, { address: service.base, folder, env: { ...process.env, ...env } });
      expectAll(ran, { ran: 6, compared: 1 });
      expect(await readFile(join(directory, 'upgrade.sql'), 'utf8')).toContain('ALTER TABLE hidden_records ADD COLUMN');
      expect(await readFile(join(directory, 'back.sql'), 'utf8')).toContain('DROP COLUMN');
      const { stdout } = await runCommand(['migrate', '--status'], { env });
      expect(stdout).toMatch(/^pending /m);
    },
    GUIDE_MS,
  );

  test('a key is made as the start page says to people with a service of their own', async () => {
    const env = { ...process.env, DATABASE_URL: url };
    await runCommand(['users', 'create', '--nickname', 'demo'], { env });
    const blocks = blocksOf(guideFor('own', await readFile('docs/start.md', 'utf8')));
    const make = blocks.find(({ text }) => text.includes('keys create'))?.text ?? '';
    const stdout = await runScriptHere(`${make}printf %s "$GATEWAY_KEY"`, env);
    const reply = await fetch(`${service.base}/api/trpc/user.me`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${stdout}` },
    });
    expect(await reply.json()).toMatchObject({ result: { data: { json: { nickname: 'demo' } } } });
  });

  test('the key of the guide was rotated, then revoked', async () => {
    const { stdout } = await runCommand(['keys', 'list', '--json'], { env: { DATABASE_URL: url } });
    const keys = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { name: string; state: string; scopes: string[] });
    expect(keys.filter(({ name }) => name === 'laptop')).toEqual([
      expect.objectContaining({ state: 'revoked', scopes: ['content:write', 'user:read'] }),
      expect.objectContaining({ state: 'active' }),
    ]);
  });
});
