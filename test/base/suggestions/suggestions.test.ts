/**
 * @engines none
 * @tier fast
 */
import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { excerpt, excerptOf, MAX_EXCERPT, procedures } from '../../../contract/index.ts';
import { jsonFault, jsonHint } from '../../../src/base/suggestions/json.ts';
import { nearest } from '../../../src/base/suggestions/nearest.ts';
import { unknownPath } from '../../../src/base/suggestions/paths.ts';
import { unknownProcedure } from '../../../src/base/suggestions/procedures.ts';
import { keyOfWord } from '../../../src/auth/format.ts';
import { credentialMistake, keyMistake } from '../../../src/auth/credential-hints.ts';
import { anyCharacter, assertProperty } from '../../harness/documents/property.ts';

// What is said to whoever made a mistake: what was meant, never much of what was sent, and at little cost.

/** Seconds of the processor that a piece of work takes. */
const secondsOf = (work: () => void): number => {
  const start = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1e6;
};

describe('suggestions', () => {
  describe('the nearest name', () => {
    const names = ['limit', 'page', 'cursor', 'search', 'tagSlugs', 'gameType', 'sortBy', 'timeRange'];

    test.each([
      ['Limit', 'limit'],
      ['sort_by', 'sortBy'],
      ['tag-slugs', 'tagSlugs'],
      ['serach', 'search'],
      ['lmit', 'limit'],
      ['pgae', 'page'],
      ['type', 'gameType'],
      ['tags', 'tagSlugs'],
      ['sort', 'sortBy'],
    ])('of %s is %s', (word, name) => {
      expect(nearest(word, names)).toBe(name);
    });

    test.each([
      '',
      'x',
      '_',
      'colour',
      'price',
      'unknownMember',
      '伝説',
      '__proto__',
      'constructor',
      'toString',
      'limit'.repeat(20),
    ])('of %p is none', (word) => {
      expect(nearest(word, names)).toBeUndefined();
    });
  });

  describe('a procedure', () => {
    test.each(procedures)('$id is found by what it is nearly called', ({ id, router, name }) => {
      const tried = [
        id.toUpperCase(),
        id.replace('.', '/'),
        id.replace('.', '_'),
        id.replace('.', ''),
        `${id}/`,
        `/${id}`,
        `${router}s.${name}`,
        `${router}.${name}s`,
        `${router}.${name.slice(0, -1)}x`,
      ];
      // A name of two letters has no other that is near.
      for (const one of name.length > 2 ? tried : tried.slice(0, 7)) {
        expect([one, unknownProcedure(one)]).toEqual([one, expect.stringContaining(`Did you mean \`${id}\`?`)]);
      }
    });

    test('of 64 KiB is no name', () => {
      const name = 'game.list,'.repeat(6554);
      expect(secondsOf(() => unknownProcedure(name))).toBeLessThan(0.5);
      expect(unknownProcedure('x'.repeat(65_536))).not.toContain('xx');
    });
  });

  test('what is said of a name or a path repeats nothing of it', () => {
    const part = fc.constantFrom('api', 'trpc', 'game', 'list', 'docs', '/', '.', ',', '%2C', '%', '\ue000', 'v1', 'x');
    const path = fc.oneof(
      fc.array(part, { maxLength: 20 }).map((parts) => parts.join('')),
      fc.string({ unit: anyCharacter }),
    );
    assertProperty(
      fc.property(path, (sent) => {
        for (const text of [unknownProcedure(sent), unknownPath(`/${sent}`) ?? '']) {
          expect(text).not.toContain('\ue000');
          expect(text.length).toBeLessThan(400);
        }
      }),
      500,
    );
  });

  describe('a text that is no JSON', () => {
    /** Where V8 says that the fault is, if it does. */
    const positionOf = (text: string): number | undefined => {
      try {
        JSON.parse(text);
        return undefined;
      } catch (error) {
        const [, at] = / at position (\d+)/.exec((error as Error).message) ?? [];
        return at === undefined ? Number.NaN : Number(at);
      }
    };

    const expectFound = (text: string): void => {
      const [fault, known] = [jsonFault(text), positionOf(text)];
      expect([text, fault !== undefined]).toEqual([text, known !== undefined]);
      // Of a word or a number ours is the beginning.
      if (fault && known !== undefined && !Number.isNaN(known)) expect(fault.at).toBeLessThanOrEqual(known);
      expect(jsonHint(text) ?? 'Line 1, column 1: ').toMatch(/^Line \d+, column \d+: /);
    };

    test('is found to be none, and where', () => {
      const signs = [
        ...'{}[],:"\'\\a1-.e0/ ',
        '\n',
        '\r\n',
        '\t',
        '\u0001',
        '\ufeff',
        '\u00a0',
        '\u2028',
        '伝',
        '\ud800',
      ];
      const words = ['"a"', '"a":', 'true', 'null', 'NaN', '//', '\\u00', '\\n', '\\N', '\\u00fF', '1e5'];
      const piece = fc.constantFrom(...signs, ...words);
      const near = fc
        .tuple(fc.json(), fc.nat(60), fc.nat(3), piece)
        .map(([text, at, cut, added]) => text.slice(0, at) + added + text.slice(at + cut));
      const text = fc.oneof(
        fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('')),
        near,
        fc.json(),
        fc.string({ unit: anyCharacter }),
      );
      assertProperty(fc.property(text, expectFound), 3000);
    });

    test.each([
      ['{"a":1,\r\n"b":2,\r"伝👾":}', 'Line 3, column 6: '],
      ['{\n\n"a" 1}', 'Line 3, column 5: '],
      ['"👾👾\n"', 'Line 1, column 4: '],
    ])('has a line and a column: %j', (text, position) => {
      expect(jsonHint(text)?.slice(0, position.length)).toBe(position);
    });

    test('is not shown, but for a sign', () => {
      const secret = keyOfWord('json');
      for (const text of [
        `{"a":${secret}}`,
        `{${secret}:1}`,
        `"${secret}`,
        secret,
        `{"a":1 ${secret}}`,
        `'${secret}'`,
      ]) {
        for (let at = 0; at + 3 <= secret.length; at += 1)
          expect(jsonHint(text)).not.toContain(secret.slice(at, at + 3));
      }
    });

    test('of a MiB is read at once', () => {
      const size = 1024 * 1024;
      for (const [open, close] of [
        ['[', ''],
        ['{"a":', ''],
        ['"', ''],
        ['[1,', ''],
        ['1', 'x'],
        ['\\"', ''],
        ['\n', ''],
        [' ', 'x'],
      ] as const) {
        const text = open.repeat(size / open.length) + close;
        expect([open, secondsOf(() => jsonHint(text)) < 3]).toEqual([open, true]);
      }
    });
  });

  describe('an excerpt', () => {
    const key = keyOfWord('excerpt');

    test('is the beginning of what was sent, and shows nothing unseen', () => {
      expect(excerpt('text/plain')).toBe('text/plain');
      expect(excerpt('a\n\u0000\u202e\ud800b')).toBe('a\\n\\u0000\\u202e\ufffdb');
      expect(excerpt('x'.repeat(101))).toBe(`${'x'.repeat(99)}…`);
      expect(excerptOf({ a: ['x', 1, null, true], b: { c: '"' } })).toBe('{"a":["x",1,null,true],"b":{"c":"\\""}}');
    });

    test('is short, and holds nothing of a key', () => {
      const part = fc.oneof(
        fc.string({ unit: anyCharacter }),
        fc.constantFrom(key, key.slice(0, 20), key.toUpperCase()),
      );
      const text = fc.array(part, { maxLength: 12 }).map((parts) => parts.join(' '));
      assertProperty(
        fc.property(text, fc.jsonValue(), (sent, other) => {
          for (const shown of [excerpt(sent), excerptOf([other, sent, { [sent]: sent }])]) {
            expect(Array.from(shown).length).toBeLessThanOrEqual(MAX_EXCERPT);
            expect(shown.toLowerCase()).not.toContain(key.slice(4, 9).toLowerCase());
          }
        }),
        300,
      );
    });

    test('costs no more of a large value than of a small one', () => {
      const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`) as unknown;
      const wide = Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`m${n}`, 'x'.repeat(100)]));
      for (const value of [deep, wide, { [`x`.repeat(1e7)]: 1 }, 'x'.repeat(1e7)]) {
        expect(secondsOf(() => excerptOf(value))).toBeLessThan(0.5);
      }
    });
  });

  test('of a credential nothing is said but what kind of mistake it is', () => {
    const key = keyOfWord('credential');
    const partsOfKey = Array.from({ length: key.length - 8 }, (_, index) => key.slice(index + 4, index + 9));
    const words = ['Bearer', 'bearer', 'Basic', 'undefined', 'null', '[object Object]', 'YOUR_KEY', 'eyJ', 'cgk_'];
    const part = fc.constantFrom(key, key.slice(4), key.slice(0, 30), ...words, ...' "<>.*…\t:\ue000${}');
    assertProperty(
      fc.property(fc.array(part, { maxLength: 6 }), (parts) => {
        for (const text of [credentialMistake(parts.join('')), keyMistake(parts.join(''))]) {
          expect(text).toMatch(/^[`A-Z].*\.$/);
          expect(text).not.toContain('\ue000');
          expect(partsOfKey.filter((secret) => text.includes(secret))).toEqual([]);
        }
      }),
      1000,
    );
  });

  test('a credential of 16 KiB is judged at once', () => {
    for (const unit of ['x', '"', ' ', 'cgk_', '<', '*', 'bearer ', 'key_', '-']) {
      const text = unit.repeat(16_384 / unit.length);
      const work = (): void => {
        credentialMistake(text);
        credentialMistake(`Bearer ${text}`);
        credentialMistake(`Bearer cgk_${text}!`);
      };
      expect([unit, secondsOf(work) < 1]).toEqual([unit, true]);
    }
  });
});
