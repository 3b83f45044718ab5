/**
 * @engines none
 * @tier fast
 */
import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { text } from '../../../contract/text.ts';
import { contract, issuesOf, procedures, proceduresOf, type Reason } from '../../../contract/index.ts';
import { procedure, router } from '../../../contract/procedure.ts';
import type { Check } from '../../../openapi/kit/conformance/check.ts';
import { canBeProvoked } from '../../../openapi/kit/conformance/checks/refusals.ts';
import { Client } from '../../../openapi/kit/conformance/http/client.ts';
import { faultsOf, faultyBody, roundsOf } from '../../../openapi/kit/conformance/contract/faults.ts';
import { differences, sentenceOf, show } from '../../../openapi/kit/conformance/findings/finding.ts';
import { junitOf } from '../../../openapi/kit/conformance/report/junit.ts';
import { type Operation, operationOf } from '../../../openapi/kit/conformance/contract/operation.ts';
import { placesOf, withValue } from '../../../openapi/kit/conformance/contract/places.ts';
import { type CheckResult, planChecks } from '../../../openapi/kit/conformance/verify.ts';
import {
  changeLines,
  failureLines,
  rowsOf,
  skipLines,
  summaryOf,
} from '../../../openapi/kit/conformance/report/text.ts';
import { VerifySession } from '../../../openapi/kit/conformance/session.ts';
import { SeededRandom } from '../../../openapi/kit/conformance/seed.ts';
import { strict } from '../../../openapi/kit/conformance/contract/strict.ts';
import { runCommand } from '../../harness/app/command.ts';

// What the conformance kit derives from the contract, and how it reports; test/kit/conformance/http.test.ts lets it run.

const ORIGIN = 'https://app.example.com';

/** The checks of a contract, none of which is made. */
const planOf = (operations: readonly Operation[]): Check[] => {
  const options = { baseUrl: 'http://127.0.0.1', origin: ORIGIN, run: 'x', timeoutMs: 1, onWait: () => undefined };
  const caller = { key: undefined, scopes: new Set<never>(), unknownKey: '' };
  const client = new Client(options);
  const choices = { random: new SeededRandom(1), strict: false, document: {}, clientDocument: undefined };
  return planChecks(new VerifySession({ operations, client, caller, readOnly: false, ...choices }, undefined));
};

/** What a plan leaves unproved, with what to do about it. */
const gapsOf = (operations: readonly Operation[]): string[] => {
  const plan = planOf(operations);
  return operations.flatMap((operation) => {
    const { id, effect, reasons } = operation;
    const proved = new Set(plan.filter(({ subject }) => subject === id).map(({ proves }) => proves));
    const provoked = reasons.filter((reason) => canBeProvoked(operation, reason) && !proved.has(reason));
    return [
      ...provoked.map(
        (reason) => `${id} is never made to answer ${reason}: see openapi/kit/conformance/checks/refusals.ts.`,
      ),
      ...(proved.has('output')
        ? []
        : [`${id} is never made to succeed: see openapi/kit/conformance/checks/success.ts.`]),
      ...(effect === 'read' || proved.has('effect')
        ? []
        : [`nobody looks at what ${id} does: name the laws that hold of it (contract/laws.ts).`]),
      ...(effect === 'read' || proved.has('repetition') ? [] : [`${id} is never repeated.`]),
    ];
  });
};

const operations = procedures.map(operationOf);

describe('conformance checks', () => {
  describe('the plan', () => {
    test('proves of each operation its success, its refusals and, if it writes, its effect', () => {
      expect(gapsOf(operations)).toEqual([]);
    });

    test('provokes what belongs to no operation', () => {
      const reasons: Reason[] = ['ROUTE_NOT_FOUND', 'PROCEDURE_NOT_FOUND', 'BATCH_TOO_LARGE'];
      const proved = planOf(operations).flatMap(({ subject, proves }) => (subject === 'service' ? [proves] : []));
      expect(proved).toEqual(expect.arrayContaining(reasons));
    });

    test('walks through each list in each of its orders', () => {
      const walks = planOf(operations).filter(({ name }) => name.startsWith('has each record once'));
      expect(walks.map(({ subject, name }) => `${subject} ${name.split(' ').at(-1)}`)).toEqual([
        ...['latest', 'oldest', 'views', 'likes', 'favorites'].map((sortBy) => `game.list ${sortBy}`),
        ...['latest', 'views'].map((sortBy) => `image.list ${sortBy}`),
      ]);
    });

    test('names each check of an operation differently', () => {
      const names = planOf(operations).map(({ subject, name }) => `${subject}: ${name}`);
      expect(names.filter((name, index) => names.indexOf(name) < index)).toEqual([]);
    });

    test('covers an operation that it has never seen, and says what it cannot know of it', () => {
      const comment = router('comment', {
        add: procedure({
          summary: 'Comment on a game',
          description: 'Comments on a game.',
          access: 'content:write',
          effect: 'write',
          input: z.strictObject({ gameId: text(1, 64), words: text(1, 500), stars: z.int().min(1).max(5).optional() }),
          output: z.object({ id: z.string() }),
          errors: ['GAME_NOT_FOUND'],
          example: { input: { gameId: 'x', words: 'Well done' }, output: { id: 'y' } },
        }),
      });
      const all = proceduresOf({ ...contract, comment }).map(operationOf);
      const names = planOf(all).flatMap(({ subject, name }) => (subject === 'comment.add' ? [name] : []));
      expect(names).toEqual(
        expect.arrayContaining([
          'answers its example as the contract says',
          'refuses a call without a key',
          'refuses an id that nothing has',
          'refuses /words: 501 characters',
          'refuses /stars: 6',
          'refuses /gameId: missing',
        ]),
      );
      expect(gapsOf(all)).toEqual([
        'nobody looks at what comment.add does: name the laws that hold of it (contract/laws.ts).',
      ]);
    });
  });

  describe('strict', () => {
    const Reply = z.object({
      items: z.array(
        z.object({ name: z.string().nullable(), links: z.record(z.string(), z.object({ url: z.string() })) }),
      ),
      note: z.object({ text: z.string() }).optional(),
    });
    const good = { items: [{ name: null, links: { home: { url: 'x' } } }], note: { text: 'x' } };

    test('accepts what the schema describes', () => {
      expect(strict(Reply).safeParse(good).success).toBe(true);
      expect(strict(Reply).safeParse({ items: [] }).success).toBe(true);
    });

    test.each([
      [{ ...good, more: 1 }, []],
      [{ items: [{ ...good.items[0], more: 1 }] }, ['items', 0]],
      [{ items: [{ name: null, links: { home: { url: 'x', more: 1 } } }] }, ['items', 0, 'links', 'home']],
      [{ ...good, note: { text: 'x', more: 1 } }, ['note']],
    ])('refuses a member that is not described: %j', (value, path) => {
      expect(Reply.safeParse(value).success).toBe(true);
      const { error } = strict(Reply).safeParse(value);
      expect(error?.issues).toEqual([expect.objectContaining({ code: 'unrecognized_keys', keys: ['more'], path })]);
    });

    test('says what it does not know how to close', () => {
      expect(() => strict(z.object({ pair: z.tuple([z.string()]) }))).toThrow(
        'A reply has a schema of type tuple: teach strict() in openapi/kit/conformance/strict.ts how to close it.',
      );
    });
  });

  describe.each(operations)('the faults of $id', (operation) => {
    const body = { json: operation.example.input };
    const faults = faultsOf(operation);
    const issuesIn = (value: unknown) => issuesOf(operation.body.safeParse(value).error?.issues ?? []);

    test('break every rule of the input', () => {
      const required = placesOf(operation).filter((place) => place.required);
      const broken = faults.filter(({ value }) => value === undefined).map(({ at }) => at.join('/'));
      expect(broken).toEqual(required.map(({ at }) => at.join('/')));
      const limits = placesOf(operation).flatMap(({ at, schema: { maxLength, maxItems, minimum } }) =>
        [maxLength, maxItems, minimum].flatMap((limit) => (limit === undefined ? [] : [at.join('/')])),
      );
      const ranges = faults.filter(({ issues }) => issues.some(({ code }) => /^too_(big|small)$/.test(code)));
      expect(ranges.map(({ at }) => at.join('/'))).toEqual(expect.arrayContaining(limits));
    });

    test('are found together as they are alone', () => {
      const rounds = roundsOf(faults);
      expect(rounds.length).toBeLessThan(30);
      expect(rounds.flat().length).toBe(faults.length);
      const sorted = (issues: readonly { path: string; code: string }[]): string[] =>
        issues.map(({ path, code }) => `${path} ${code}`).toSorted();
      for (const round of rounds) {
        expect(sorted(issuesIn(faultyBody(body, round)))).toEqual(sorted(round.flatMap(({ issues }) => issues)));
      }
    });
  });

  test('the faults of game.list are those that callers make', () => {
    const list = operations.filter(({ id }) => id === 'game.list').flatMap(faultsOf);
    expect(list.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        'the body: null',
        '`json`: missing',
        '`unknownMember`: not known',
        '/unknownMember: not known',
        '/limit: missing',
        '/limit: 0',
        '/limit: 1.5',
        '/limit: 101',
        '/limit: a text',
        '/page: 0',
        '/search: 101 characters',
        '/search: a lone surrogate',
        '/search: U+0000',
        '/sortBy: another word',
        '/tagSlugs: 11 items',
        '/tagSlugs/0: no characters',
      ]),
    );
  });

  test('withValue makes the holders that are missing', () => {
    expect(withValue({ a: [{ b: 1 }, 2] }, ['a', '0', 'c'], 3)).toEqual({ a: [{ b: 1, c: 3 }, 2] });
    expect(withValue({}, ['a', '0', 'b'], 1)).toEqual({ a: [{ b: 1 }] });
    expect(withValue({ a: 1 }, [], 2)).toBe(2);
  });

  describe('a finding', () => {
    test.each([
      [{ a: 1 }, { a: 1 }, []],
      [{ a: { b: [1, 2] } }, { a: { b: [1, 3] } }, [{ at: '/x/a/b/1', expected: '2', came: '3' }]],
      [{ a: 1 }, {}, [{ at: '/x/a', expected: '1', came: 'nothing' }]],
      [{}, { 'a/b~': 1 }, [{ at: '/x/a~1b~0', expected: 'nothing', came: '1' }]],
      [[1], [1, 2], [{ at: '/x/1', expected: 'nothing', came: '2' }]],
      [[], {}, [{ at: '/x', expected: '[]', came: '{}' }]],
      [null, {}, [{ at: '/x', expected: 'null', came: '{}' }]],
    ])('tells %j from %j', (expected, came, found) => {
      expect(differences(expected, came, '/x')).toEqual(found);
    });

    test('may pass over further members, but not over further items', () => {
      expect(differences({ a: [1] }, { a: [1], b: 2 }, '', { more: 'allowed' })).toEqual([]);
      expect(differences({ a: [1] }, { a: [1, 2] }, '', { more: 'allowed' })).toHaveLength(1);
    });

    test('is one line, with the operation that was asked where it is another one', () => {
      const request = { method: 'POST', url: 'http://127.0.0.1/x', headers: {}, body: '{}' };
      const finding = {
        expected: '1',
        came: '2',
        at: '/x',
        exchange: { subject: 'game.list', requestId: 'id', request },
      };
      expect(sentenceOf(finding, 'game.list')).toBe('/x: expected 1, came 2 (request id)');
      expect(sentenceOf(finding, 'game.create')).toBe('/x: expected 1, came 2 (request id to game.list)');
      expect(sentenceOf({ expected: '1', came: '2', at: '' }, '')).toBe('the body: expected 1, came 2');
      expect(sentenceOf({ expected: '1', came: '2' }, '')).toBe('expected 1, came 2');
    });

    test('shows at most 100 characters of a value, and no half ones', () => {
      expect(show({ a: 'x' })).toBe('{"a":"x"}');
      expect(show('𠮷'.repeat(100))).toBe(`"${'𠮷'.repeat(49)}\u{FFFD}…`);
    });
  });

  const result = (more: Partial<CheckResult>): CheckResult => ({
    subject: 'game.list',
    name: 'answers',
    outcome: 'passed',
    findings: [],
    ms: 4,
    ...more,
  });
  const finding = (requestId: string, came = '<b>\u0007"') => ({
    expected: '1',
    came,
    at: '/x',
    exchange: {
      subject: 'game.list',
      requestId,
      request: {
        method: 'POST',
        url: 'http://127.0.0.1/api',
        headers: { Authorization: 'Bearer cgk_x' },
        body: "it's",
      },
    },
  });
  const results = [
    result({}),
    result({ name: 'pages', outcome: 'failed', findings: [finding('r1')] }),
    result({ name: 'sorts', outcome: 'failed', findings: [finding('r2'), finding('r2', 'a\nb')] }),
    result({ name: 'waits', outcome: 'skipped', reason: 'it needs a key' }),
    result({ subject: 'user.me', outcome: 'skipped', reason: 'it needs a key' }),
  ];

  describe('a report', () => {
    test('counts the checks of each operation', () => {
      expect(rowsOf(results)).toEqual([
        ['game.list', '1', '2', '1'],
        ['user.me', '0', '0', '1'],
      ]);
      expect(summaryOf(results, 1.25)).toBe('5 checks: 1 passed, 2 failed for 2 faults, 2 skipped, in 1.3 s.');
    });

    test('tells each fault once, with the checks that show it and a command that repeats it', () => {
      const curl =
        "curl -sS -i --path-as-is -g -X POST http://127.0.0.1/api -H 'Authorization: Bearer '\"$GATEWAY_KEY\" --data-binary 'it'\\''s'";
      expect(failureLines(results, 'cgk_x')).toEqual([
        'FAILED /x: expected 1, came <b>\u0007" (request r1 to game.list)',
        '  shown by 2 checks of 1 operation: game.list pages; game.list sorts',
        `  ${curl}`,
        'FAILED /x: expected 1, came a\nb (request r2 to game.list)',
        '  shown by 1 check of 1 operation: game.list sorts',
        `  ${curl}`,
      ]);
    });

    test('tells why checks were skipped, and of which operations', () => {
      expect(skipLines(results)).toEqual(['SKIPPED 2 of game.list, user.me: it needs a key']);
    });

    test('is JUnit XML, whatever came', () => {
      const curl =
        'curl -sS -i --path-as-is -g -X POST http://127.0.0.1/api -H &#39;Authorization: Bearer &#39;' +
        '&#34;$GATEWAY_KEY&#34; --data-binary &#39;it&#39;\\&#39;&#39;s&#39;';
      expect(junitOf(results, 'https://example.com/?a&b', 'cgk_x')).toBe(
        [
          '<?xml version="1.0" encoding="UTF-8"?>',
          '<testsuites name="verify https://example.com/?a&#38;b" tests="5" failures="2" errors="0" skipped="2" time="0.020">',
          '  <testsuite name="game.list" tests="4" failures="2" errors="0" skipped="1" time="0.016">',
          '    <testcase classname="game.list" name="answers" time="0.004"></testcase>',
          '    <testcase classname="game.list" name="pages" time="0.004">' +
            '<failure message="/x: expected 1, came &#60;b&#62;\u{FFFD}&#34; (request r1)">' +
            `/x: expected 1, came &#60;b&#62;\u{FFFD}&#34; (request r1)&#10;${curl}</failure></testcase>`,
          '    <testcase classname="game.list" name="sorts" time="0.004">' +
            '<failure message="/x: expected 1, came &#60;b&#62;\u{FFFD}&#34; (request r2)">' +
            '/x: expected 1, came &#60;b&#62;\u{FFFD}&#34; (request r2)&#10;/x: expected 1, came a&#10;b (request r2)&#10;' +
            `${curl}</failure></testcase>`,
          '    <testcase classname="game.list" name="waits" time="0.004"><skipped message="it needs a key"/></testcase>',
          '  </testsuite>',
          '  <testsuite name="user.me" tests="1" failures="0" errors="0" skipped="1" time="0.004">',
          '    <testcase classname="user.me" name="answers" time="0.004"><skipped message="it needs a key"/></testcase>',
          '  </testsuite>',
          '</testsuites>',
          '',
        ].join('\n'),
      );
    });

    test('holds nothing that XML cannot', () => {
      const xml = junitOf([result({ name: '\ud800 \uffff \u0000 \u001b 𠮷 \u0085' })], '');
      expect(xml).toContain('name="\u{FFFD} \u{FFFD} \u{FFFD} \u{FFFD} 𠮷 \u0085"');
    });
  });

  test('a change that cannot be judged is told apart from those that break nobody', () => {
    const change = { operation: 'game.list', node: '', expected: 'nothing', breaks: false };
    expect(
      changeLines([
        { ...change, where: '200 /a', came: 'a member' },
        { ...change, where: '/b', came: 'a pattern', unsure: true },
        { ...change, where: '/c', came: 'a type', breaks: true },
      ]),
    ).toEqual([
      'CANNOT TELL /b: expected nothing, came a pattern',
      '  in 1 place of 1 operation: game.list /b',
      'NOTE 200 /a: expected nothing, came a member',
      '  in 1 place of 1 operation: game.list 200 /a',
    ]);
  });

  test.each([
    [[], "missing required argument 'base-url'"],
    [['gateway'], 'It must be an http or https URL.'],
    [['ftp://127.0.0.1'], 'It must be an http or https URL.'],
    [['http://user:password@127.0.0.1'], 'It must have no user, query or fragment.'],
    [['http://127.0.0.1/?x'], 'It must have no user, query or fragment.'],
    [['http://127.0.0.1', '--key', 'two words'], 'It must be an API key.'],
    [['http://127.0.0.1', '--only', 'game.steal'], '"game.steal" is none of service, game.list,'],
    [['http://127.0.0.1', '--origin', 'app.example.com'], 'It must be an origin such as https://app.example.com.'],
    [['http://127.0.0.1', '--junit', 'no/folder/verify.xml'], 'no/folder/verify.xml cannot be written: ENOENT'],
    [['http://127.0.0.1', '--junit'], "option '--junit <file>' argument missing"],
  ])('the command line refuses %j', async (args, fault) => {
    const { code, stdout, stderr } = await runCommand(['verify', ...args]);
    expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining(fault) });
  });
});
