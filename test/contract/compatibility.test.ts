/**
 * @engines none
 * @tier long
 * @needs oasdiff
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { isSamePattern, together } from '../../openapi/compatibility.ts';

// What CI says to changes of the document: each is planted in a copy of the released one.

declare global {
  /** The path of oasdiff, by jest.config.mjs. */
  var TEST_OASDIFF: string;
}

interface Schema {
  type?: string;
  enum?: string[];
  pattern?: string;
  additionalProperties: Schema;
  maxLength?: number;
  properties: Record<string, Schema>;
  required: string[];
}

interface Document {
  info: { version: string };
  paths: Record<string, { post: { operationId: string } }>;
  components: { schemas: Record<string, Schema> };
}

/** The document, as far as what oasdiff does not know stands in it. */
interface Member {
  type?: string | string[];
  default?: unknown;
  'x-default'?: unknown;
  properties?: Record<string, Member>;
  required?: string[];
}
interface Operation {
  security: object[];
  parameters?: object[];
  responses: Record<
    string,
    {
      headers: Record<string, { required?: boolean }>;
      content: Record<string, { examples?: Record<string, { value: { error: { json: { code: number } } } }> }>;
    }
  >;
}
interface Wire {
  info: { version: string };
  paths: Record<string, { post: Operation }>;
  webhooks: Record<string, { post: Record<string, unknown> }>;
  components: { schemas: Record<string, Member> };
}

const RELEASED = 'openapi/released/1.0.0/openapi.json';
const folder = mkdtempSync(join(tmpdir(), 'content-gateway-compatibility-'));
describe('compatibility check', () => {
  afterAll(() => rmSync(folder, { recursive: true }));

  const schemaOf = ({ components }: Document, name: string): Schema => {
    const schema = components.schemas[name];
    if (!schema) throw new Error(`the document has no ${name}`);
    return schema;
  };

  /** What the check says to a changed document and the changelog that comes with it. */
  const check = (
    change: (document: Document) => void,
    entries = '',
    { released = RELEASED, version = '1.1.0' } = {},
  ): { status: number | null; stderr: string } => {
    const document = JSON.parse(readFileSync(released, 'utf8')) as Document;
    document.info.version = version;
    change(document);
    const [current, changelog] = [join(folder, 'openapi.json'), join(folder, 'CHANGELOG.md')];
    writeFileSync(current, JSON.stringify(document));
    writeFileSync(
      changelog,
      `# Changelog\n\n${entries}\n\n## 1.0.0\n\n- \`language\`, \`region\` and \`game.random\`.\n`,
    );
    const args = ['dist/openapi/compare.js', globalThis.TEST_OASDIFF, released, current, changelog];
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    return { status, stderr };
  };

  const passed = { status: 0, stderr: '' };
  const refused = (...texts: string[]) => ({
    status: 1,
    stderr: expect.stringMatching(new RegExp(texts.map((text) => text.replaceAll('.', String.raw`\.`)).join('[^]*'))),
  });

  const addScope = (scope: string) => (document: Document) => {
    schemaOf(document, 'Scope').enum?.push(scope);
  };

  test('a new scope needs an entry in the changelog, no major version', () => {
    expect(check(addScope('shelf:read'), '## Unreleased\n\n- Of keys: nothing.')).toEqual(refused('shelf:read'));
    expect(check(addScope('shelf:read'), '## Unreleased\n\n- A new scope: `scopes`.')).toEqual(passed);
  });

  const removeMember = (document: Document): void => {
    const { properties, required } = schemaOf(document, 'GameSummary');
    delete properties['viewCount'];
    required.splice(required.indexOf('viewCount'), 1);
  };
  const requireInput = (document: Document): void => {
    const { properties, required } = schemaOf(document, 'GameListInput');
    properties['region'] = { type: 'string' } as Schema;
    required.push('region');
  };
  const addMember = (document: Document): void => {
    schemaOf(document, 'GameSummary').properties['language'] = { type: 'string' } as Schema;
  };
  const addOperation = ({ paths }: Document): void => {
    const [, path] = Object.entries(paths)[0]!;
    paths['/api/trpc/game.random'] = { post: { ...path.post, operationId: 'game.random' } };
  };
  const moveMajor = ({ info }: Document): void => {
    info.version = '2.0.0';
  };

  const releasedAs = (version: string) => (document: Document) => {
    document.info.version = version;
  };

  test('the released document passes as it is', () => {
    expect(check(releasedAs('1.0.0'))).toEqual(passed);
  });

  describe('the version', () => {
    const told = '## Unreleased\n\n- Games have a `language`; `viewCount` is gone.';
    const describeAnew = ({ paths }: Document): void => {
      Object.assign(paths['/api/trpc/game.list']!.post, { description: 'Other words.' });
    };

    test.each([
      ['1.0.0', 'other words', describeAnew, '1.0.1'],
      ['1.0.0', 'a member more', addMember, '1.1.0'],
      ['1.0.9', 'a member more', addMember, '1.1.0'],
      ['1.9.0', 'a member less', removeMember, '2.0.0'],
    ])('%s is refused for %s', (version, _, change, least) => {
      const both = (document: Document): void => {
        change(document);
        releasedAs(version)(document);
      };
      expect(check(both, told)).toEqual(refused(`has version ${version}: it must be ${least} or higher`));
      const enough = (document: Document): void => {
        change(document);
        releasedAs(least)(document);
      };
      expect(check(enough, told)).toEqual(passed);
    });
  });

  describe('what breaks callers', () => {
    test('is refused: a member that is gone', () => {
      const told = '## Unreleased\n\n- `viewCount` is gone.';
      expect(check(removeMember, told)).toEqual(
        refused('breaks callers', 'game.list', 'result/data/json/items/items/viewCount'),
      );
    });

    test('is refused: an input that is demanded', () => {
      const told = '## Unreleased\n\n- `region` is needed.';
      expect(check(requireInput, told)).toEqual(refused('breaks callers', 'game.list', 'json/region'));
    });

    test('is refused: a demand on a condition, unless it was made always', () => {
      const onCondition = (loosened: boolean) => (document: Document) => {
        const schema = schemaOf(document, 'GameListInput');
        Object.assign(schema, { if: { required: ['search'] }, else: { required: ['page'] } });
        if (loosened) schema.required = ['limit'];
      };
      const told = '## Unreleased\n\n- `game.list` needs no `page` with `search`.';
      expect(check(onCondition(false), told)).toEqual(refused('breaks callers', 'game.list', 'subschema'));
      expect(check(onCondition(true), told)).toEqual(passed);
    });

    test('is refused: an operation that is gone', () => {
      const told = '## Unreleased\n\n- `game.list` is gone.';
      expect(
        check(({ paths }) => {
          delete paths['/api/trpc/game.list'];
        }, told),
      ).toEqual(refused('breaks callers', 'game.list'));
    });

    test.each(['Unreleased', '2.0.0'])('may come with a new major version, told under %s', (title) => {
      const change = (document: Document): void => {
        removeMember(document);
        moveMajor(document);
      };
      expect(check(change, `## ${title}\n\n- \`viewCount\` is gone.`)).toEqual(passed);
      expect(check(change)).toEqual(refused('CHANGELOG.md must tell what changed'));
    });
  });

  test.each([
    ['^[^\u202e\ufeff]*$', '^[^\\u202e\\ufeff]*$', true],
    ['^[^\u202e\ufeff]*$', '^[^\\u202e]*$', false],
  ])('%j as %j is the same pattern: %s', (from, to, isSame) => {
    const text = `changed the pattern of the request property \`json/title\` from \`${from}\` to \`${to}\``;
    expect(isSamePattern({ id: 'request-property-pattern-changed', text, level: 2 })).toBe(isSame);
  });

  describe('a pattern that refuses what was taken', () => {
    const narrow = (document: Document): void => {
      schemaOf(document, 'GameInput').properties['title']!.pattern = '^[a-z]*$';
      schemaOf(document, 'SocialLinksInput').additionalProperties.pattern = '^[a-z]*$';
    };

    test('is refused when the changelog does not tell it as a matter of security', () => {
      expect(check(narrow, '## Unreleased\n\n- `title` and `socialLinks` are stricter.')).toEqual(
        refused('breaks callers', 'game.create', 'json/title', 'breaks callers', 'json/socialLinks'),
      );
      expect(check(narrow, '## Unreleased\n\n- `title`.\n\n### Security\n\n- `socialLinks` take no script.')).toEqual(
        refused('breaks callers', 'game.create', 'json/title'),
      );
    });

    test('passes when it does', () => {
      expect(check(narrow, '## Unreleased\n\n### Security\n\n- `title` and `socialLinks` take no script.')).toEqual(
        passed,
      );
    });

    test('excuses nothing else', () => {
      const told = '## Unreleased\n\n### Security\n\n- `title`, `region` and `viewCount`.';
      const shorten = (document: Document): void => {
        schemaOf(document, 'GameInput').properties['title']!.maxLength = 10;
      };
      for (const change of [shorten, requireInput, removeMember]) {
        expect(check(change, told)).toEqual(refused('breaks callers'));
      }
    });
  });

  describe('what is added', () => {
    test('is refused when the changelog has nothing unreleased', () => {
      expect(check(addMember)).toEqual(refused('CHANGELOG.md must tell what changed'));
      expect(check(addMember, '## Unreleased\n')).toEqual(refused('CHANGELOG.md must tell what changed'));
    });

    test('is refused when the changelog tells of something else', () => {
      const told = '## Unreleased\n\n- Other languages.';
      expect(check(addMember, told)).toEqual(refused('must name `language`', 'game.list'));
      expect(check(addOperation, told)).toEqual(refused('must name `game.random`'));
    });

    test('passes when the changelog names it', () => {
      expect(check(addMember, '## Unreleased\n\n- Games have a `language`.')).toEqual(passed);
      expect(check(addMember, '## Unreleased\n\n- New member `GameSummary.language`.')).toEqual(passed);
      expect(check(addOperation, '## Unreleased\n\n- `game.random` reads any game.')).toEqual(passed);
    });

    test('is as well a header of replies, whose name has no case', () => {
      const addHeader = ({ paths }: Document): void => {
        const { responses } = paths['/api/trpc/game.list']!.post as unknown as {
          responses: Record<string, { headers: Record<string, object> }>;
        };
        responses['200']!.headers['Content-Age'] = { schema: { type: 'integer' } };
      };
      expect(check(addHeader, '## Unreleased\n\n- `game.list` tells its age.')).toEqual(
        refused('must name `content-age`'),
      );
      expect(check(addHeader, '## Unreleased\n\n- `Content-Age` tells the age.')).toEqual(passed);
    });

    test('is as well what allows more than before', () => {
      const relax = (document: Document): void => {
        schemaOf(document, 'GameInput').properties['title']!.maxLength = 300;
      };
      expect(check(relax, '## Unreleased\n\n- Longer texts.')).toEqual(refused('must name `title`', 'game.create'));
      expect(check(relax, '## Unreleased\n\n- A `title` may have 300 characters.')).toEqual(passed);
    });
  });

  describe('what our own comparison finds', () => {
    const released = join(folder, 'released.json');
    /** The present document, as if it had been released. */
    const present = JSON.parse(readFileSync('openapi/openapi.json', 'utf8')) as Wire;
    const ALL =
      '## Unreleased\n\n- `isFree`, `X-New`, `CURSOR_INVALID`, `game.list`, `event.tail`, `x-request-id`, `note`.';

    /** As `check`, of what follows the present document. */
    const follow = (change: (document: Wire) => void, entries = ALL, version = '1.3.0') => {
      writeFileSync(released, JSON.stringify({ ...present, info: { ...present.info, version: '1.2.0' } }));
      return check((copy) => change(copy as unknown as Wire), entries, { released, version });
    };
    const operation = ({ paths }: Wire, id: string): Operation => paths[`/api/trpc/${id}`]!.post;
    const isFree = ({ components }: Wire) => components.schemas['GameInput']!.properties!['isFree']!;
    const refusal = (document: Wire) =>
      operation(document, 'game.list').responses['404']!.content['application/json']!.examples!['CURSOR_INVALID']!;

    const breaking: [what: string, text: string, change: (document: Wire) => void][] = [
      ['another default', 'json/isFree', (one) => Object.assign(isFree(one), { 'x-default': false, default: false })],
      [
        'a default that goes',
        'json/isFree',
        (one) => Object.assign(isFree(one), { 'x-default': undefined, default: undefined }),
      ],
      ['two defaults', 'json/isFree', (one) => Object.assign(isFree(one), { default: false })],
      [
        'another scope that a call needs',
        'game.create',
        (one) => (operation(one, 'game.create').security = [{ ApiKey: ['user:write'] }]),
      ],
      [
        'a scope more',
        'game.create',
        (one) => (operation(one, 'game.create').security = [{ ApiKey: ['content:write', 'user:write'] }]),
      ],
      [
        'another status of a reason',
        'CURSOR_INVALID by status 404, now 400',
        (one) => {
          const example = structuredClone(refusal(one));
          delete operation(one, 'game.list').responses['404']!.content['application/json']!.examples!['CURSOR_INVALID'];
          operation(one, 'game.list').responses['400']!.content['application/json']!.examples!['CURSOR_INVALID'] =
            example;
        },
      ],
      [
        'another code of a reason',
        'CURSOR_INVALID with code -32004, now -32600',
        (one) => (refusal(one).value.error.json.code = -32600),
      ],
      [
        'a header that is demanded',
        'x-new',
        (one) =>
          (operation(one, 'game.list').parameters ??= []).push({
            in: 'header',
            name: 'X-New',
            required: true,
            schema: { type: 'string' },
          }),
      ],
      [
        'a header of replies that goes',
        'x-request-id',
        (one) => delete operation(one, 'game.list').responses['200']!.headers['X-Request-Id'],
      ],
      [
        'a header of replies that goes, and was not always there',
        'idempotency-replayed',
        (one) => delete operation(one, 'game.create').responses['200']!.headers['Idempotency-Replayed'],
      ],
      [
        'a header of replies that may be missing',
        'x-request-id',
        (one) => (operation(one, 'game.list').responses['200']!.headers['X-Request-Id']!.required = false),
      ],
      ['a webhook that goes', 'challenge', ({ webhooks }) => delete webhooks['challenge']],
      [
        'a member of a message that goes',
        'the request `type`',
        ({ components }) => {
          const schema = components.schemas['WebhookChallengeMessage']!;
          delete schema.properties!['type'];
          schema.required = schema.required!.filter((name) => name !== 'type');
        },
      ],
      [
        'a media type that goes',
        'text/event-stream',
        (one) => delete operation(one, 'event.tail').responses['200']!.content['text/event-stream'],
      ],
    ];

    test.each(breaking)('needs a major version: %s', (_, text, change) => {
      expect(follow(change)).toEqual(refused(`breaks callers[^]*(?:${text})`, 'it must be 2.0.0 or higher'));
    });

    test('may come with a new major version', () => {
      const another = (one: Wire) => Object.assign(isFree(one), { 'x-default': false, default: false });
      expect(follow(another, ALL, '2.0.0')).toEqual(passed);
      follow(another);
      const files = ['openapi.json', 'CHANGELOG.md'].map((name) => join(folder, name));
      const args = ['dist/openapi/compare.js', globalThis.TEST_OASDIFF, released, ...files, '--least'];
      expect(spawnSync(process.execPath, args, { encoding: 'utf8' }).stdout).toBe('2.0.0\n');
    });

    test('is no change: a default that one of both keywords no longer tells', () => {
      const both = (one: Wire) => delete isFree(one)['x-default'];
      expect(follow(both, '', '1.2.0')).toEqual(refused('^- [^\n]*it must be 1.2.1 or higher[^\n]*\n$'));
      expect(follow(both, '', '1.2.1')).toEqual(passed);
    });

    test('needs an entry that names it: what cannot be judged', () => {
      const note = { 'x-note': 1 };
      const unknown: [subject: string, change: (one: Wire) => void][] = [
        ['isFree', (one) => Object.assign(isFree(one), note)],
        ['webhook.message.challenge', ({ webhooks }) => Object.assign(webhooks['challenge']!.post, note)],
        ['x-note', (one) => Object.assign(one, note)],
      ];
      for (const [subject, change] of unknown) {
        expect(follow(change, '## Unreleased\n\n- Other things.')).toEqual(
          refused('breaks callers', 'x-note', '2.0.0'),
        );
        expect(follow(change, `## Unreleased\n\n- \`${subject}\`.`)).toEqual(passed);
      }
    });

    test('is new: a reason, which the changelog names', () => {
      const add = (one: Wire): void => {
        const { examples } = operation(one, 'game.list').responses['404']!.content['application/json']!;
        examples!['GAME_LOST'] = structuredClone(examples!['CURSOR_INVALID']!);
      };
      expect(follow(add, ALL, '1.2.0')).toEqual(refused('must name `GAME_LOST`', 'it must be 1.3.0'));
      expect(follow(add, '## Unreleased\n\n- `GAME_LOST`.')).toEqual(passed);
    });

    test('does not excuse a default by another change of the same member', () => {
      const change = (one: Wire): void => {
        Object.assign(isFree(one), { 'x-default': false, default: false, type: ['boolean', 'null'] });
      };
      expect(follow(change)).toEqual(refused('json/isFree', 'default true'));
    });

    test('is the direction of messages: a member more breaks no endpoint', () => {
      const add = ({ components }: Wire): void => {
        const schema = components.schemas['WebhookChallengeMessage']!;
        schema.properties!['note'] = { type: 'string' };
        schema.required!.push('note');
      };
      expect(follow(add)).toEqual(passed);
    });
  });

  test('the release 1.1.0 was a minor one', () => {
    const args = ['dist/openapi/compare.js', globalThis.TEST_OASDIFF, RELEASED, RELEASED.replace('1.0.0', '1.1.0')];
    for (const least of [['--least'], []]) {
      const { stdout, stderr } = spawnSync(process.execPath, [...args, 'CHANGELOG.md', ...least], { encoding: 'utf8' });
      expect(stdout).toMatch(least.length > 0 ? /^1\.1\.0$/m : / 0 reasons /);
      expect(stderr).toBe('');
    }
  });

  test('oasdiff decides on the kinds that it knows, and only there', () => {
    const own = { operation: 'game.list', expected: 'maxLength 5', came: '9', breaks: true, node: '' };
    const known = {
      id: 'response-property-max-length-increased',
      text: "the `result/data/json/items/items/title` response property's maxLength was increased from `5` to `9` for the response status `200`",
      level: 1,
      operationId: 'game.list',
    } as const;
    const where = '200 /result/data/json/items/*/title';
    const levels = (...differences: object[]) =>
      together([known], differences as Parameters<typeof together>[1], { info: { version: '1.2.0' } }).map(
        ({ level }) => level,
      );
    expect(levels({ ...own, where })).toEqual([1]);
    for (const other of [
      { where: '200 /result/data/json/items/*/titles' },
      { where: '201 /result/data/json/items/*/title' },
      { where: 'the request /result/data/json/items/*/title' },
      { where, operation: 'image.list' },
      { where, expected: 'minLength 5' },
    ]) {
      expect(levels({ ...own, ...other })).toEqual([1, 3]);
    }
  });
});
