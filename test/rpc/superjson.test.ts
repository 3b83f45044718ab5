/**
 * @engines none
 * @tier fast
 */
import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { stringify } from 'superjson';
import { removeUndefined } from '../../src/rpc/payload.ts';
import { anyCharacter, assertProperty } from '../harness/documents/property.ts';

/** What a body becomes. Written as JSON, since that is what arrives. */
const received = (body: string): unknown => removeUndefined(JSON.parse(body));
const json = (body: string): unknown => (received(body) as { json: unknown }).json;

describe('undefined members', () => {
  test('are removed', () => {
    expect(json('{"json":{"a":null,"b":null,"c":1},"meta":{"values":{"a":["undefined"]},"v":1}}')).toEqual({
      b: null,
      c: 1,
    });
  });

  test('are removed at any depth, in arrays too', () => {
    const body = '{"json":{"a":{"b":[{"c":null,"d":1}]}},"meta":{"values":{"a.b.0.c":["undefined"]},"v":1}}';
    expect(json(body)).toEqual({ a: { b: [{ d: 1 }] } });
  });

  test('leave their place in an array, as null', () => {
    expect(json('{"json":{"a":[1,null,3]},"meta":{"values":{"a.1":["undefined"]}}}')).toEqual({ a: [1, null, 3] });
  });

  test('can be the whole input', () => {
    expect(received('{"json":null,"meta":{"values":["undefined"],"v":1}}')).toEqual({
      meta: { values: ['undefined'], v: 1 },
    });
  });

  test('are found below other annotations', () => {
    const body = '{"json":{"m":{"a":null}},"meta":{"values":{"m":["map",{"a":["undefined"]}]}}}';
    expect(json(body)).toEqual({ m: {} });
    expect(json('{"json":{"a":null},"meta":{"values":["set",{"a":["undefined"]}]}}')).toEqual({});
  });
});

describe('names', () => {
  // As superjson 1.13 and 2.2 write them.
  test.each([
    ['a.b', String.raw`a\.b`, undefined],
    ['a.b', String.raw`a\.b`, 1],
    [String.raw`a\b`, String.raw`a\b`, undefined],
    [String.raw`a\b`, String.raw`a\\b`, 1],
    [String.raw`a\\b`, String.raw`a\\b`, undefined],
    [String.raw`a\.b`, String.raw`a\\\.b`, 1],
    [String.raw`a\.`, String.raw`a\\\.`, 1],
    ['', '', 1],
  ])('%j is meant by the path %j of version %j', (name, path, v) => {
    const members = { [name]: null, other: null };
    const envelope = { json: members, meta: { values: { [path]: ['undefined'] }, v } };
    expect(json(JSON.stringify(envelope))).toEqual({ other: null });
  });

  test('that end in a backslash do not hide the next dot', () => {
    const envelope = { json: { 'a\\': { b: null } }, meta: { values: { 'a\\\\.b': ['undefined'] }, v: 1 } };
    expect(json(JSON.stringify(envelope))).toEqual({ 'a\\': {} });
  });
});

describe('everything else is left alone', () => {
  test.each([
    '{"json":{"a":"2026-01-01T00:00:00.000Z"},"meta":{"values":{"a":["Date"]}}}',
    '{"json":{"a":1},"meta":{"values":{"a":["undefined"]}}}',
    '{"json":{"a":null},"meta":{"values":{"b":["undefined"],"a.b":["undefined"],"a.b.c":["undefined"]}}}',
    '{"json":{"a":null},"meta":{"values":{"a":"undefined"}}}',
    '{"json":{"a":null},"meta":{"values":{"a":[["undefined"]]}}}',
    '{"json":{"a":null,"b":null},"meta":{"referentialEqualities":{"a":["b"]}}}',
    '{"json":{"a":null},"meta":{"values":null}}',
    '{"json":{"a":null},"meta":{"values":"a"}}',
    '{"json":{"a":null},"meta":null}',
    '{"json":{"a":null}}',
    '{"meta":{"values":["undefined"]}}',
    '{"json":"text","meta":{"values":{"0":["undefined"],"length":["undefined"]}}}',
    '[]',
    'null',
    '"text"',
    '1',
  ])('%s', (body) => {
    expect(received(body)).toEqual(JSON.parse(body));
  });

  test('changes to prototypes are ignored', () => {
    const names = ['__proto__.toString', 'constructor.prototype.toString', 'toString', '__proto__', 'hasOwnProperty'];
    for (const name of names) {
      for (const input of ['{"a":null}', '{"__proto__":{"toString":null}}', '[]']) {
        json(`{"json":${input},"meta":{"values":{"${name}":["undefined"]}}}`);
      }
    }
    expect(Object.prototype.toString.call({})).toBe('[object Object]');
    expect(Object.prototype).toHaveProperty('hasOwnProperty');
  });

  test('a member named __proto__ is a member like any other', () => {
    expect(
      Object.keys(json('{"json":{"__proto__":null},"meta":{"values":{"__proto__":["undefined"]}}}') as object),
    ).toEqual([]);
  });
});

describe('any input', () => {
  const names = fc.oneof(fc.constantFrom('a', 'b', '0', '__proto__', 'toString'), fc.string({ unit: anyCharacter }));
  const { value: inputs } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom(null, undefined, 1, 'text', true),
      fc.array(tie('value'), { maxLength: 3 }),
      // superjson refuses these names, which would be an attack on its decoder.
      fc.dictionary(
        names.filter((name) => !['__proto__', 'constructor', 'prototype'].includes(name)),
        tie('value'),
        { maxKeys: 4, noNullPrototype: true },
      ),
    ),
  }));

  test('that superjson writes is read as JSON would have it', () => {
    assertProperty(
      fc.property(inputs, (input) => {
        const { json: read } = received(stringify(input)) as { json?: unknown };
        return JSON.stringify(read) === JSON.stringify(input);
      }),
      500,
    );
  });

  /** Whether `less` is `whole`, but for members that are null there. */
  const isWithoutNulls = (less: unknown, whole: unknown): boolean => {
    if (typeof whole !== 'object' || whole === null) return less === whole;
    if (typeof less !== 'object' || less === null) return false;
    return Object.entries(whole).every(([name, value]) =>
      Object.hasOwn(less, name)
        ? isWithoutNulls((less as Record<string, unknown>)[name], value)
        : value === null && !Array.isArray(whole),
    );
  };

  test('loses nothing but nulls, whatever its annotations say', () => {
    const { node: nodes } = fc.letrec<{ node: unknown }>((tie) => ({
      node: fc.oneof(
        { depthSize: 'small' },
        fc.constant(['undefined']),
        fc.tuple(fc.constantFrom('map', 'undefined'), fc.dictionary(names, tie('node'), { maxKeys: 3 })),
        fc.jsonValue(),
      ),
    }));
    const paths = fc.array(names, { maxLength: 3 }).map((parts) => parts.join('.'));
    const envelopes = fc.record(
      {
        json: fc.jsonValue({ maxDepth: 3 }),
        meta: fc.record({
          values: fc.oneof(nodes, fc.dictionary(paths, nodes)),
          v: fc.constantFrom(undefined, 1, 'x'),
        }),
      },
      { requiredKeys: [] },
    );
    const prototypes = () => [Object, Array, String].map(({ prototype }) => Object.getOwnPropertyNames(prototype));
    const before = prototypes();
    assertProperty(
      fc.property(envelopes, (envelope) => {
        const body = JSON.stringify(envelope);
        return isWithoutNulls(received(body), JSON.parse(body));
      }),
      1000,
    );
    expect(prototypes()).toEqual(before);
  });
});

describe('hostile annotations', () => {
  const LIMIT_MS = 2000;

  const timed = (body: string): unknown => {
    // Processor time: other work on the machine does not count.
    const start = process.cpuUsage();
    const result = json(body);
    const { user, system } = process.cpuUsage(start);
    expect((user + system) / 1000).toBeLessThan(LIMIT_MS);
    return result;
  };

  test('of many names cost no more than their length', () => {
    const names = Array.from({ length: 100_000 }, (_, index) => `"a.${index}":["undefined"]`);
    expect(timed(`{"json":{"a":[null]},"meta":{"values":{${names.join()}}}}`)).toEqual({ a: [null] });
  });

  test('of one long name cost no more than its length', () => {
    for (const part of ['a.', String.raw`\\`, String.raw`\\.`, '.']) {
      expect(timed(`{"json":{"a":{}},"meta":{"values":{"${part.repeat(1_000_000)}":["undefined"]},"v":1}}`)).toEqual({
        a: {},
      });
    }
  });

  test('of deep nesting cost no more than their length', () => {
    const depth = 100_000;
    const value = `${'{"a":'.repeat(depth)}null${'}'.repeat(depth)}`;
    const nodes = `${'["x",{"a":'.repeat(depth)}["undefined"]${'}]'.repeat(depth)}`;
    timed(`{"json":${value},"meta":{"values":${nodes}}}`);
  });

  test('that repeat each other multiply nothing', () => {
    const same = Array.from({ length: 20_000 }, (_, index) => `"b${index}":["a"]`).join();
    timed(
      `{"json":{"a":[1]},"meta":{"referentialEqualities":{${same}},"values":{"a":["undefined",{"0":["undefined"]}]}}}`,
    );
  });
});
