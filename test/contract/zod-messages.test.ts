/**
 * @engines none
 * @tier long
 */
import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import type { z } from 'zod';
import { type Issue, MAX_EXCERPT, type Procedure, procedures } from '../../contract/index.ts';
import { invalidInput } from '../../src/base/suggestions/input.ts';
import { keyOfWord } from '../../src/auth/format.ts';
import { assertProperty } from '../harness/documents/property.ts';

// Every message that the contract can make: all read on after the path of their value, in the same few words, and none of
// them repeats much of what was sent, or anything of a key.

const VOICE =
  /^(is required|is not a member of this input|is not a usable name: it must |is not a usable name: no member may|must (be|have|hold|not hold) )/;
const FOREIGN = /invalid|expected|received|too (big|small)|unrecognized|undefined|NaN|\[object/i;
const MAX_MESSAGE = 300;

/** Stands for what was sent: no message has it of its own. */
const MARK = '\ue000';
const KEY = keyOfWord('voice');

const marksIn = (text: string): number => text.split(MARK).length - 1;

const expectVoice = ({ path, message }: Issue): void => {
  expect([path.slice(0, 50), message]).toEqual([expect.any(String), expect.stringMatching(VOICE)]);
  expect(message).not.toMatch(FOREIGN);
  expect(message).not.toMatch(/[.!]$/);
  expect(message.length).toBeLessThanOrEqual(MAX_MESSAGE);
  expect(marksIn(message)).toBeLessThanOrEqual(MAX_EXCERPT);
  expect(message + path).not.toContain(KEY.slice(4, 12));
};

/** The issues that an envelope gets. */
const issuesOf = (procedure: Procedure, envelope: unknown): readonly Issue[] => {
  const { error } = procedure.route.body.safeParse(envelope);
  return error ? (invalidInput(procedure, envelope, error.issues).details.issues ?? []) : [];
};

interface Definition {
  innerType?: z.ZodType;
  out?: z.ZodType;
  element?: z.ZodType;
  valueType?: z.ZodType;
  shape?: Record<string, z.ZodType>;
}

/** A value with everything in it that a schema has room for; its texts and numbers may be wrong. */
const fullOf = (schema: z.ZodType): unknown => {
  const { innerType, out, element, valueType, shape } = schema.def as Definition;
  if (shape) return Object.fromEntries(Object.entries(shape).map(([name, member]) => [name, fullOf(member)]));
  if (innerType ?? out) return fullOf((innerType ?? out) as z.ZodType);
  if (element) return [fullOf(element)];
  return valueType ? { github: fullOf(valueType) } : 'x';
};

type Path = readonly (string | number)[];

const pathsOf = (value: unknown): Path[] => [
  [],
  ...(typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([name, member]) => pathsOf(member).map((path) => [name, ...path]))
    : []),
];

/** A copy of a value with another one at a path; undefined removes what is there. */
const withAt = (value: unknown, [name, ...rest]: Path, other: unknown): unknown => {
  if (name === undefined) return other;
  const copy = structuredClone(value) as Record<string | number, unknown>;
  if (rest.length === 0 && other === undefined) delete copy[name];
  else copy[name] = withAt(copy[name], rest, other);
  return copy;
};

/** An object with a member of its own by this name, `__proto__` too. */
const named = (name: string): unknown => JSON.parse(`{${JSON.stringify(name)}:1}`);

const wrong: readonly unknown[] = [
  undefined,
  null,
  true,
  0,
  -1,
  1.5,
  1e300,
  '',
  ' ',
  '\u3000',
  '5',
  'true',
  '{}',
  MARK,
  MARK.repeat(10_000),
  `${KEY} ${KEY}`,
  '\0',
  '\ud800',
  'a\u202eb',
  'a\nb',
  'newest',
  [],
  [MARK],
  Array.from({ length: 200 }, () => 'x'),
  {},
  named('__proto__'),
  named('constructor'),
  named(MARK),
  named(MARK.repeat(10_000)),
  named(KEY),
  named('A NAME!'),
  Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`name-${n}`, 'x'])),
];

const seen = new Set<string>();

describe('zod messages', () => {
  describe.each(procedures)('$id', (procedure) => {
    test('says in the same voice what is wrong, whatever and wherever it is', () => {
      const full = fullOf(procedure.route.body);
      for (const path of pathsOf(full)) {
        for (const value of wrong) {
          for (const issue of issuesOf(procedure, withAt(full, path, value))) {
            expectVoice(issue);
            seen.add(issue.code);
          }
        }
      }
    });

    test('keeps its messages short, whatever is sent', () => {
      const unit = fc.constantFrom(MARK, MARK, 'a', '"', '\\', '\u0001', '/', '~');
      const string = fc.oneof(fc.string({ unit, maxLength: 300 }), fc.constantFrom(KEY, `x${KEY}`, 'json', 'titel'));
      const value = fc.letrec((tie) => ({
        any: fc.oneof({ maxDepth: 4 }, string, fc.integer(), fc.constant(null), tie('list'), tie('members')),
        list: fc.array(tie('any'), { maxLength: 4 }),
        members: fc.dictionary(string, tie('any'), { maxKeys: 4 }),
      })).any;
      assertProperty(
        fc.property(value, fc.boolean(), (sent, isWrapped) => {
          for (const issue of issuesOf(procedure, isWrapped ? { json: sent } : sent)) expectVoice(issue);
        }),
      );
    });
  });

  test('all kinds of faults were seen', () => {
    expect([...seen].toSorted()).toEqual([
      'blank',
      'control_character',
      'holds_key',
      'invalid_format',
      'invalid_key',
      'invalid_type',
      'invalid_value',
      'lone_surrogate',
      'null_character',
      'too_big',
      'too_small',
      'unrecognized_keys',
    ]);
  });
});
