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
import { isSamePattern } from '../../openapi/compatibility.ts';

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
  const check = (change: (document: Document) => void, entries = ''): { status: number | null; stderr: string } => {
    const document = JSON.parse(readFileSync(RELEASED, 'utf8')) as Document;
    document.info.version = '1.1.0';
    change(document);
    const [current, changelog] = [join(folder, 'openapi.json'), join(folder, 'CHANGELOG.md')];
    writeFileSync(current, JSON.stringify(document));
    writeFileSync(
      changelog,
      `# Changelog\n\n${entries}\n\n## 1.0.0\n\n- \`language\`, \`region\` and \`game.random\`.\n`,
    );
    const args = ['dist/openapi/compare.js', globalThis.TEST_OASDIFF, RELEASED, current, changelog];
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
});
