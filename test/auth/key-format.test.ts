/**
 * @engines none
 * @tier fast
 */
import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { displayPrefix, generateKey, hashKey, isWellFormedKey, keyOf } from '../../src/auth/format.ts';
import { anyCharacter, assertProperty } from '../harness/documents/property.ts';

const ALPHABET = [...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'];
const KEY = /^cgk_[0-9A-Za-z]{38}$/;

const keys = Array.from({ length: 20 }, generateKey);

describe('format of API keys', () => {
  test('a new key is well-formed, and no two are alike', () => {
    for (const key of keys) {
      expect(key).toMatch(KEY);
      expect(isWellFormedKey(key)).toBe(true);
    }
    expect(new Set(keys).size).toBe(keys.length);
  });

  test('every character of the alphabet is used about as often', () => {
    const counts = new Map<string, number>();
    const sample = Array.from({ length: 2000 }, generateKey);
    for (const key of sample) {
      for (const character of key.slice(4, -6)) counts.set(character, (counts.get(character) ?? 0) + 1);
    }
    const expected = (2000 * 32) / ALPHABET.length;
    // Nine standard deviations: a fair choice strays so far once in 10^18 runs.
    for (const character of ALPHABET) {
      expect(Math.abs((counts.get(character) ?? 0) - expected)).toBeLessThan(9 * Math.sqrt(expected));
    }
  });

  /** Those of the changed keys that still pass. */
  const unnoticed = (changed: readonly string[]): string[] => changed.filter(isWellFormedKey);

  test('one wrong character is noticed, whichever it is', () => {
    for (const key of keys) {
      const changed = [...key].flatMap((right, index) =>
        [...ALPHABET, '_', '-', ' ', 'é']
          .filter((wrong) => wrong !== right)
          .map((wrong) => key.slice(0, index) + wrong + key.slice(index + 1)),
      );
      expect(unnoticed(changed)).toEqual([]);
    }
  });

  test('two neighbours in each other’s place are noticed', () => {
    for (const key of keys) {
      const changed = Array.from(key.slice(1))
        .map((second, index) => key.slice(0, index) + second + key.charAt(index) + key.slice(index + 2))
        .filter((other) => other !== key);
      expect(unnoticed(changed)).toEqual([]);
    }
  });

  test.each([
    ['nothing', () => ''],
    ['one character less', (key: string) => key.slice(0, -1)],
    ['one character more', (key: string) => `${key}0`],
    ['a line break at its end', (key: string) => `${key}\n`],
    ['spaces around it', (key: string) => ` ${key} `],
    ['another prefix', (key: string) => `sk__${key.slice(4)}`],
    ['two keys', (key: string) => key + key],
  ])('%s is no key', (_, change) => {
    expect(isWellFormedKey(change(generateKey()))).toBe(false);
  });

  // So that keys once issued work for ever.
  test('the format does not change', () => {
    const key = 'cgk_0123456789ABCDEFGHIJKLMNOPQRSTUV3GKOVr';
    expect(isWellFormedKey(key)).toBe(true);
    expect(displayPrefix(key)).toBe('cgk_01234567');
    expect(hashKey(key).toString('hex')).toBe('0633a85f281832a02e12deea756645c35df7c7de05c889311944ad0bf8461670');
  });

  test('a text is a key exactly when it is what its characters make', () => {
    const characters = fc.string({ unit: fc.constantFrom(...ALPHABET), minLength: 32, maxLength: 32 });
    const texts = fc.oneof(
      fc.string({ unit: anyCharacter }),
      characters.map((random) => `cgk_${random}000000`),
      fc.tuple(characters, fc.string({ unit: anyCharacter, maxLength: 8 })).map(([random, end]) => keyOf(random) + end),
    );
    assertProperty(
      fc.property(texts, (text) => {
        const isKey = KEY.test(text) && keyOf(text.slice(4, -6)) === text;
        return isWellFormedKey(text) === isKey;
      }),
      300,
    );
    assertProperty(fc.property(characters, (random) => isWellFormedKey(keyOf(random))));
  });
});
