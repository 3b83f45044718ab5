/**
 * @engines sqlite
 * @tier fast
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { version } from '../../../src/base/version.ts';
import { runCommand } from '../../harness/app/command.ts';

// The three answers of `can-i-deploy`, and which kinds of changes and contracts get no yes.

const [YES, NO, CANNOT_TELL] = [0, 1, 4];
const published = readFileSync(new URL('../../../openapi/openapi.json', import.meta.url), 'utf8');
const folder = mkdtempSync(join(tmpdir(), 'verdicts-'));
afterAll(() => rmSync(folder, { recursive: true }));

const write = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const OLD = write('old.json', published);

// oxlint-disable-next-line typescript/no-explicit-any -- a document that tests change as they please
type Json = Record<string, any>;

const need = (operation: string, sends: string[], reads: string[], reasons: string[] = []) => ({
  operation,
  test: operation,
  sends,
  reads,
  reasons,
});
const needs = [
  need('game.list', ['/limit', '/page', '/search', '/tagSlugs'], ['/items/*/title', '/items/*/createdAt']),
  need('game.create', ['/title'], ['/id'], ['VALIDATION_FAILED']),
  need('game.getById', ['/id'], ['/title'], ['GAME_NOT_FOUND']),
  need('user.search', ['/query', '/limit'], ['/items/*/nickname']),
  need('user.updateProfile', ['/socialLinks', '/socialLinks/*'], ['/socialLinks/*']),
  need('event.list', ['/limit'], ['/items/*/type']),
  need('event.tail', ['/start', '/start=latest'], ['/type']),
  need('webhook.create', ['/url'], ['/id']),
];
const consumer = { consumer: 'shop', contract: version, needs };

const ask = async (change: (document: Json) => unknown, contract: object = consumer, ...more: string[]) => {
  const document = JSON.parse(published) as Json;
  change(document);
  const now = write('new.json', JSON.stringify(document));
  const file = write('shop.json', JSON.stringify(contract));
  const args = ['can-i-deploy', '--from', OLD, '--document', now, '--contracts', file, ...more];
  const { code, stdout, stderr } = await runCommand(args, {});
  return { code, stdout, stderr };
};

const schemas = (document: Json, name: string): Json => document['components'].schemas[name];
const operation = (document: Json, id: string): Json => document['paths'][`/api/trpc/${id}`].post;
const member = (document: Json, name: string, of: string): Json => schemas(document, name)['properties'][of];

describe('a change of a kind that is not in the schemas of JSON bodies', () => {
  test.each<[string, (document: Json) => unknown, number]>([
    [
      'a default that is left out',
      (d) => Object.assign(member(d, 'GameInput', 'isFree'), { default: false, 'x-default': false }),
      NO,
    ],
    [
      'a default',
      (d) => Object.assign(member(d, 'GameListInput', 'sortBy'), { default: 'oldest', 'x-default': 'oldest' }),
      NO,
    ],
    ['a scope', (d) => (operation(d, 'user.search')['security'] = [{ ApiKey: ['user:read', 'user:write'] }]), NO],
    [
      'the status of a reason',
      (d) => {
        const { responses } = operation(d, 'game.getById');
        responses['410'] = structuredClone(responses['404']);
        delete responses['404'].content['application/json'].examples['GAME_NOT_FOUND'];
      },
      NO,
    ],
    [
      'the code of a reason',
      (d) => {
        const reply = operation(d, 'game.create')['responses']['400'].content['application/json'];
        reply.examples['VALIDATION_FAILED'].value.error.json.code = -32602;
      },
      NO,
    ],
    [
      'a header that is required',
      (d) =>
        (operation(d, 'game.list')['parameters'] = [
          { in: 'header', name: 'X-Client-Id', required: true, schema: { type: 'string' } },
        ]),
      NO,
    ],
    [
      'a header that is shorter',
      (d) => (d['components'].parameters['Idempotency-Key'].schema.maxLength = 8),
      CANNOT_TELL,
    ],
    ['a header that goes', (d) => delete operation(d, 'game.create')['parameters'], CANNOT_TELL],
    [
      'a header of replies that goes',
      (d) => delete operation(d, 'game.list')['responses']['200'].headers['X-Request-Id'],
      CANNOT_TELL,
    ],
    ['messages to webhooks', (d) => delete d['webhooks'].event, CANNOT_TELL],
    ['a parameter of such messages', (d) => d['webhooks'].event.post.parameters.splice(1, 1), CANNOT_TELL],
    [
      'the media type of a stream',
      (d) => {
        const { content } = operation(d, 'event.tail')['responses']['200'];
        content['application/x-ndjson'] = content['text/event-stream'];
        delete content['text/event-stream'];
      },
      NO,
    ],
    [
      'the media type of requests',
      (d) => {
        const { content } = operation(d, 'game.list')['requestBody'];
        content['application/cbor'] = content['application/json'];
        delete content['application/json'];
      },
      NO,
    ],
    ['a map that is closed', (d) => (schemas(d, 'SocialLinksInput')['additionalProperties'] = false), NO],
    ['a map of replies that is open', (d) => (schemas(d, 'SocialLinks')['additionalProperties'] = true), NO],
    [
      'a condition',
      (d) =>
        Object.assign(
          schemas(d, 'UserSearchInput'),
          JSON.parse('{ "if": { "required": ["query"] }, "then": { "required": ["scope"] } }'),
        ),
      CANNOT_TELL,
    ],
    ['a format that goes', (d) => delete member(d, 'GameSummary', 'createdAt')['format'], NO],
    [
      'a word that never comes again',
      (d) => {
        const types = schemas(d, 'EventType')['enum'] as string[];
        types.splice(types.indexOf('game.created'), 1);
      },
      CANNOT_TELL,
    ],
    [
      'a filter that goes while the input is open',
      (d) => {
        const input = schemas(d, 'GameListInput');
        delete input['properties'].tagSlugs;
        delete input['additionalProperties'];
      },
      NO,
    ],
    [
      'a reference that is closed beside',
      (d) => Object.assign(schemas(d, 'GameListRequest')['properties'].json, { additionalProperties: false }),
      CANNOT_TELL,
    ],
    [
      'a keyword that nobody knows',
      (d) => (member(d, 'GameSummary', 'title')['contentEncoding'] = 'base64'),
      CANNOT_TELL,
    ],
    ['words for people', (d) => (operation(d, 'game.list')['description'] = 'Another one.'), YES],
  ])('%s', async (_, change, expected) => {
    const { code, stdout, stderr } = await ask(change);
    expect({ code, stdout, stderr }).toMatchObject({ code: expected });
  });
});

describe('a limit of requests that is narrower', () => {
  const sending = (extremes: object, sends: string[], id = 'game.create') => ({
    ...consumer,
    needs: [{ ...need(id, sends, []), ...extremes }],
  });
  const recorded = { extremes: { '/title': [3, 40], '/tagNames': [0, 3], '/tagNames/*': [3, 8] } };
  const limits =
    (of: string, more: object, name = 'GameInput') =>
    (d: Json) =>
      void Object.assign(member(d, name, of), more);
  const elements = (d: Json) => void (member(d, 'GameInput', 'tagNames')['items'].maxLength = 8);
  const shorter = (d: Json) => void (member(d, 'GameInput', 'tagNames')['items'].maxLength = 7);
  test.each<[string, (document: Json) => unknown, object, number]>([
    ['that all texts satisfy', limits('title', { minLength: 3, maxLength: 40 }), recorded, YES],
    ['that a longer text does not', limits('title', { maxLength: 39 }), recorded, NO],
    ['that a shorter text does not', limits('title', { minLength: 4 }), recorded, NO],
    ['of a member whose texts were not recorded', limits('title', { maxLength: 199 }), {}, NO],
    ['with another rule', limits('title', { maxLength: 40, pattern: '^[a-z]*$' }), recorded, CANNOT_TELL],
    ['of the number of elements', limits('tagNames', { maxItems: 3 }), recorded, YES],
    ['of the number of elements, one too few', limits('tagNames', { minItems: 1 }), recorded, NO],
    ['of elements', elements, recorded, YES],
    ['of elements, one of which is longer', shorter, recorded, NO],
  ])('%s', async (_, change, extremes, expected) => {
    const { code, stdout, stderr } = await ask(change, sending(extremes, ['/title', '/tagNames']));
    expect({ code, stdout, stderr }).toMatchObject({ code: expected });
  });

  test.each<[object, number]>([
    [{ minimum: 2, maximum: 50 }, YES],
    [{ minimum: 3 }, NO],
    [{ maximum: 49 }, NO],
    [{ exclusiveMinimum: 1, exclusiveMaximum: 51 }, YES],
    [{ exclusiveMinimum: 2 }, NO],
    [{ exclusiveMaximum: 50 }, NO],
  ])('of numbers from 2 to 50: %j', async (more, expected) => {
    const contract = sending({ extremes: { '/limit': [2, 50] } }, ['/limit'], 'game.list');
    expect((await ask(limits('limit', more, 'GameListInput'), contract)).code).toBe(expected);
  });
});

describe('a contract that names what there is not', () => {
  const shop = (own: object) => ({ ...consumer, needs: [{ ...needs[0], ...own }] });
  test.each<[string, object]>([
    ['an operation', shop({ operation: 'game.lists' })],
    ['a member', shop({ reads: ['/items/*/titel'] })],
    ['a member behind the envelope', shop({ reads: ['/result/data/json/items'] })],
    ['a word', shop({ sends: ['/limit', '/sortBy', '/sortBy=newest'] })],
    ['a reason', shop({ reasons: ['GAME_NOTFOUND'] })],
    ['nothing at all', { ...consumer, needs: [] }],
    ['no version', { ...consumer, contract: 'banana' }],
    ['a later version', { ...consumer, contract: '1.99.0' }],
  ])('gets no yes: %s', async (_, contract) => {
    const { code, stderr } = await ask(() => undefined, contract);
    expect(code).toBe(CANNOT_TELL);
    expect(stderr).toMatch(/Cannot tell: shop /);
    expect((await ask(() => undefined, contract, '--allow-unknown')).code).toBe(YES);
  });
});

describe('what a consumer reads', () => {
  const reading = (reads: string[]) => ({ ...consumer, needs: [need('game.list', ['/limit', '/page'], reads)] });
  const nullTitle = (d: Json) => (member(d, 'GameSummary', 'title')['type'] = ['string', 'null']);
  test.each([
    [['/items'], NO],
    [['/items/*/title'], NO],
    [['/items', '/items/*/id'], YES],
  ])('%j: all within what nothing is named of', async (reads, expected) => {
    expect((await ask(nullTitle, reading(reads))).code).toBe(expected);
  });
});

describe('can-i-deploy', () => {
  const shop = write('shop-alone.json', JSON.stringify(consumer));
  const copy = write('copy.json', published);

  test('says no yes without a consumer, unless that is allowed', async () => {
    const use = write('use.jsonl', '');
    const args = ['can-i-deploy', '--from', OLD, '--document', copy, '--use', use];
    expect((await runCommand(args, {})).code).toBe(CANNOT_TELL);
    expect((await runCommand([...args, '--allow-none'], {})).code).toBe(YES);
  });

  test.each<[string, string[], number, string]>([
    [
      'a document that equals its own',
      ['--document', OLD],
      CANNOT_TELL,
      'is the document that it would be compared with',
    ],
    [
      'the very file',
      ['--from', OLD, '--document', OLD],
      CANNOT_TELL,
      'is the document that it would be compared with',
    ],
    [
      'another file with the same document',
      ['--from', OLD, '--document', copy],
      YES,
      'Yes: the one consumer does not break.',
    ],
    [
      'an option twice',
      ['--from', OLD, '--document', copy, '--tag', 'a', '--tag', 'b'],
      2,
      "'--tag <name>' is given twice",
    ],
  ])('given %s', async (_, options, expected, told) => {
    const { code, stderr } = await runCommand(['can-i-deploy', ...options, '--contracts', shop], {});
    expect({ code, stderr }).toEqual({ code: expected, stderr: expect.stringContaining(told) });
  });

  test('compares a contract with the document of the release that it was tested with', async () => {
    const oldest = need('game.list', ['/limit', '/page'], ['/items/*/title']);
    const contract = { consumer: 'shop', contract: '1.0.0', needs: [oldest] };
    const change = (d: Json) => delete member(d, 'GameSummary', 'title')['maxLength'];
    expect((await ask(change, contract)).code).toBe(YES);
    const gone = await ask((d) => delete schemas(d, 'GameSummary')['properties'].title, contract);
    expect(gone).toMatchObject({ code: NO, stdout: expect.stringContaining('shop; needs /items/*/title') });
    // What a later version has was not there to be tested with, and is taken from the document to be deployed.
    const later = { ...contract, needs: [need('event.list', ['/limit'], ['/items/*/type'])] };
    expect((await ask(change, later)).code).toBe(YES);
  });

  test('reads files behind a byte order mark', async () => {
    const [from, document, contract] = [OLD, copy, shop].map((file, n) =>
      write(`marked-${n}.json`, `\uFEFF${readFileSync(file, 'utf8')}`),
    ) as [string, string, string];
    const use = write('marked.jsonl', '\uFEFF');
    const args = ['--from', from, '--document', document, '--contracts', contract, '--use', use];
    expect(await runCommand(['can-i-deploy', ...args], {})).toMatchObject({ code: YES });
  });

  test('tells a change of the document once, and then whom it concerns', async () => {
    const wide = {
      ...consumer,
      needs: ['game.list', 'game.getById', 'game.create'].map((id) => ({ ...need(id, [], []), decodes: true })),
    };
    const { stdout } = await ask((d) => (member(d, 'UserSummary', 'nickname')['type'] = ['string', 'null']), wide);
    const lines = stdout.trimEnd().split('\n');
    expect(lines[0]).toMatch(/^BREAKS  UserSummary\/nickname, in \d+ places: .*null/);
    expect(lines.filter((line) => line.includes('shop'))).toEqual([expect.stringMatching(/; by game\.\w+, /)]);
  });
});
