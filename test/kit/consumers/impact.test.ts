/**
 * @engines sqlite
 * @tier fast
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { contract } from '../../../contract/index.ts';
import { startApp } from '../../harness/app/app.ts';
import { runCommand } from '../../harness/app/command.ts';

// Whom a new document breaks, by what consumers have used.

const folder = mkdtempSync(join(tmpdir(), 'impact-'));
afterAll(() => rmSync(folder, { recursive: true }));

const published = readFileSync(new URL('../../../openapi/openapi.json', import.meta.url), 'utf8');
const write = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const OLD = write('old.json', published);

interface Document {
  paths: Record<string, unknown>;
  // oxlint-disable-next-line typescript/no-explicit-any -- a document that tests change as they please
  components: { schemas: Record<string, any> };
}

/** The published document with a change. */
const changed = (name: string, change: (document: Document) => void): string => {
  const document = JSON.parse(published) as Document;
  change(document);
  return write(`${name}.json`, JSON.stringify(document));
};

const DAY = '2031-05-01';
const part = (name: string) => ({ name, lastDay: DAY });
const use = (consumer: string, operations: Record<string, string[]>, more: object = {}) =>
  JSON.stringify({
    consumer,
    clients: [],
    operations: Object.entries(operations).map(([operation, parts]) => ({
      operation,
      lastDay: '2031-05-02',
      parts: parts.map(part),
    })),
    ...more,
  });
const LAPTOP = use(
  'key 1',
  { 'game.list': ['/search', '/sortBy', '/sortBy=views'], 'game.create': ['/tagNames', '/title'] },
  { clients: [part('python/1.0')], key: { id: '1', name: 'laptop', userId: 'u' } },
);
const USES = write('use.jsonl', `${LAPTOP}\n${use('client curl/8', { 'game.list': ['/sortBy', '/sortBy=latest'] })}\n`);

const impact = async (...args: string[]) => {
  const { code, stdout, stderr } = await runCommand(['impact', ...args], {});
  return { code, stdout: stdout.trimEnd(), stderr: stderr.trimEnd() };
};

const namesIn = (consumers: unknown): string =>
  (consumers as { consumer: string }[]).map(({ consumer }) => consumer).join(' and ');

/** Of each change that may break somebody: where, and whom; anonymous clients come last. */
const namedBy = async (fresh: string) => {
  const { code, stdout } = await impact(OLD, fresh, '--use', USES, '--json');
  const lines = stdout === '' ? [] : stdout.split('\n').map((line) => JSON.parse(line) as Record<string, unknown>);
  return {
    code,
    named: lines.map(({ operation, where, affected, anonymous }) => [
      operation,
      where,
      namesIn(affected),
      namesIn(anonymous),
    ]),
  };
};

describe('impact', () => {
  test.each<[string, (document: Document) => void, number, string[][]]>([
    ['nothing', () => undefined, 0, []],
    [
      'a word that one consumer sent',
      ({ components: { schemas } }) => {
        schemas['GameListInput'].properties.sortBy.enum = ['latest', 'oldest', 'likes', 'favorites'];
      },
      1,
      [['game.list', 'the request /json/sortBy', 'key 1', '']],
    ],
    [
      'a word that nobody sent',
      ({ components: { schemas } }) => {
        schemas['GameListInput'].properties.sortBy.enum = ['latest', 'oldest', 'views', 'likes'];
      },
      0,
      [['game.list', 'the request /json/sortBy', '', '']],
    ],
    [
      'a member that one consumer sent',
      ({ components: { schemas } }) => void delete schemas['GameListInput'].properties.search,
      1,
      [['game.list', 'the request /json/search', 'key 1', '']],
    ],
    [
      'a limit of elements',
      ({ components: { schemas } }) => {
        schemas['GameInput'].properties.tagNames.items.maxLength = 3;
      },
      1,
      [
        ['game.batchCreate', 'the request /json/games/*/tagNames/*', '', ''],
        ['game.create', 'the request /json/tagNames/*', 'key 1', ''],
      ],
    ],
    [
      'a word that only an anonymous client sent, which anyone can be',
      ({ components: { schemas } }) => {
        schemas['GameListInput'].properties.sortBy.enum = ['views', 'oldest', 'likes', 'favorites'];
      },
      0,
      [['game.list', 'the request /json/sortBy', '', 'client curl/8']],
    ],
    [
      'a member that is newly required, of all callers',
      ({ components: { schemas } }) => void (schemas['GameListInput'].required = ['gameType']),
      1,
      [['game.list', 'the request /json/gameType', 'key 1', 'client curl/8']],
    ],
    [
      'a member of the reply, of all callers',
      ({ components: { schemas } }) => void delete schemas['GameListOutput'].properties.total,
      1,
      [['game.list', '200 /result/data/json/total', 'key 1', 'client curl/8']],
    ],
    [
      'an operation that one consumer called',
      ({ paths }) => void delete paths['/api/trpc/game.create'],
      1,
      [['game.create', 'the operation', 'key 1', '']],
    ],
    [
      'an operation that nobody called',
      ({ paths }) => void delete paths['/api/trpc/image.update'],
      0,
      [['image.update', 'the operation', '', '']],
    ],
  ])('names %s', async (name, change, code, named) => {
    expect(await namedBy(changed(name, change))).toEqual({ code, named });
  });

  test('tells people who, what, when and with which client', async () => {
    const fresh = changed('told', ({ components: { schemas }, paths }) => {
      delete paths['/api/trpc/image.update'];
      schemas['GameListInput'].properties.sortBy.enum = ['latest', 'oldest', 'likes', 'favorites'];
    });
    expect(await impact(OLD, fresh, '--use', USES)).toEqual({
      code: 1,
      stdout: [
        'BREAKS  game.list, the request /json/sortBy: the value "views", now nothing',
        `          key 1, "laptop" of user u; last sent /sortBy=views on ${DAY}; with python/1.0`,
        'nobody  image.update, the operation: the operation, now nothing',
      ].join('\n'),
      stderr: '2 changes, 1 consumer: 1 change breaks a consumer, 0 may, and 1 breaks none.',
    });
  });

  test.each([
    ['impact', OLD, OLD, '--junit'],
    ['can-i-deploy', '--document', OLD, '--junit'],
    ['record', '--to', 'http://127.0.0.1:1', '--consumer', 'x', '--out'],
  ])('%s ends with status 2 where its file cannot be written, and never with a no', async (command, ...args) => {
    const file = join(folder, 'no/folder/told');
    const uses = command === 'record' ? ['--', 'false'] : ['--use', write('none.jsonl', '')];
    const { code, stdout, stderr } = await runCommand([command, ...args, file, ...uses]);
    expect({ code, stdout, stderr }).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/^error: .*no\/folder\/told\S* cannot be written: ENOENT/m),
    });
  });

  test('tells of anonymous clients and of suspended users, and counts neither', async () => {
    const key = { id: '2', name: 'gone', userId: 's', isSuspended: true };
    const uses = write(
      'told.jsonl',
      `${use('key 2', { 'user.me': [] }, { key })}\n${use('client x/9', { 'user.me': [] })}`,
    );
    const fresh = changed('without-me', ({ paths }) => void delete paths['/api/trpc/user.me']);
    const junit = join(folder, 'told.xml');
    const { code, stdout, stderr } = await impact(OLD, fresh, '--use', uses, '--junit', junit);
    expect({ code, stdout }).toEqual({
      code: 4,
      stdout:
        'nobody  user.me, the operation: the operation, now nothing\n' +
        '          (anonymous: client x/9; last called it on 2031-05-02)',
    });
    expect(stderr).toContain('of suspended users, which count for nothing: 1.');
    expect(stderr).toContain('of anonymous callers, which count for nothing, since anyone can name one: 1.');
    expect(readFileSync(junit, 'utf8')).toContain('tests="0" failures="0"');
    const asked = await runCommand(['can-i-deploy', '--document', fresh, '--use', uses, '--allow-none']);
    expect([asked.code, asked.stderr]).toEqual([0, expect.stringContaining('Yes: none of 0 consumers breaks.')]);
  });

  test('reads the uses of a deployment from its database, and takes this version for the new one', async () => {
    const app = await startApp();
    const { key, keyId } = await app.aUser();
    await app.call('game.list', { limit: 1, page: 1, sortBy: 'views' }, key);
    await app.context.auth.uses?.flush();
    const old = changed('with-more', ({ components: { schemas } }) => {
      schemas['GameSort'].enum.push('gone');
      schemas['GameListOutput'].properties.gone = { type: 'string' };
      schemas['GameListOutput'].required.push('gone');
    });
    const env = { DATABASE_URL: app.databaseUrl };
    const { code, stdout } = await runCommand(['impact', old, '--json'], { env });
    expect(code).toBe(1);
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(lines).toMatchObject([
      { operation: contract.game.list.metadata.id, words: ['gone'], affected: [] },
      { where: '200 /result/data/json/gone', affected: [{ consumer: `key ${keyId}`, key: { id: keyId } }] },
    ]);
    await app.stop();
  });

  test.each([
    ['nothing.json', OLD, USES, 'cannot be read'],
    [OLD, write('no.json', '{}'), USES, 'no.json is no OpenAPI document of version 3.0 or 3.1.'],
    [OLD, OLD, 'nothing.jsonl', 'nothing.jsonl cannot be read'],
    [OLD, OLD, write('no.jsonl', `${LAPTOP}\n{}`), 'Line 2 of no.jsonl is none of `keys use --json`.'],
  ])('refuses what it cannot read: %s, %s, %s', async (old, fresh, uses, told) => {
    const { code, stdout, stderr } = await impact(old, fresh, '--use', uses);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(told);
  });
});
