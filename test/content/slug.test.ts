/**
 * @engines none
 * @tier fast
 */
import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { slugOf } from '../../src/content/tag/slug.ts';
import { anyCharacter, assertProperty } from '../harness/documents/property.ts';

const hashed = (name: string) => `t-${createHash('sha256').update(name).digest('hex').slice(0, 8)}`;

describe('slugs', () => {
  test.each([
    ['RPG', 'rpg'],
    ['Open World', 'open-world'],
    ['  Open   World  ', 'open-world'],
    ['C++ & C#', 'c-c'],
    ['--a--', 'a'],
    ['ｆｕｌｌ　ｗｉｄｔｈ', 'full-width'],
    ['ファンタジー', 'ファンタジー'],
    ['ﾌｧﾝﾀｼﾞｰ', 'ファンタジー'],
    ['伝説・騎士', '伝説-騎士'],
    ['e\u0301té', 'été'],
    ['हिन्दी', 'हिन्दी'],
    ['Ⅳ', 'iv'],
    ['Straße', 'straße'],
    ['🐉 dragon 🐉', 'dragon'],
  ])('%j has the slug %j', (name, slug) => {
    expect(slugOf(name)).toBe(slug);
  });

  test.each(['🐉', '🎮🎮', '!!!', ' - '])('%j, which holds no letter or number, is known by its hash', (name) => {
    expect(slugOf(name)).toBe(hashed(name));
  });

  test('names of symbols only differ by their slugs', () => {
    expect(slugOf('🐉')).not.toBe(slugOf('🎮'));
  });

  test('a name that normalises to more than the column holds is known by its hash', () => {
    // One character that NFKC spells out in 18.
    const name = '\uFDFA'.repeat(50);
    expect(slugOf(name)).toBe(hashed(name));
  });

  test('the longest slug has 200 code points', () => {
    expect(slugOf('𠮷'.repeat(200))).toBe('𠮷'.repeat(200));
    expect(slugOf('𠮷'.repeat(201))).toBe(hashed('𠮷'.repeat(201)));
  });

  test('a slug is its own slug', () => {
    for (const name of ['Open World', 'ﾌｧﾝﾀｼﾞｰ', 'C++ & C#', 'İstanbul', '🐉', 'ΣΑΣ', '①②']) {
      expect(slugOf(slugOf(name))).toBe(slugOf(name));
    }
  });

  test('whatever a name is, its slug is its own slug, and of words joined by single hyphens', () => {
    const unit = fc.oneof(anyCharacter, fc.constantFrom(...'aİΣςẞﬁǅK\u0307\u0323\u0301\u0345ﾊ\uFF9E\uFDFA \u00A8-#🐉'));
    assertProperty(
      fc.property(fc.string({ unit, maxLength: 20 }), (name) => {
        const slug = slugOf(name);
        const isOfWords = /^[\p{L}\p{M}\p{N}]+(-[\p{L}\p{M}\p{N}]+)*$/u.test(slug);
        return isOfWords && Array.from(slug).length <= 200 && slugOf(slug) === slug;
      }),
      2000,
    );
  });
});
