/**
 * @engines none
 * @tier fast
 */
import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { slugOf } from '../../src/content/tag/slug.ts';
import { anyCharacter, assertProperty } from '../harness/documents/property.ts';

/** The slug of a name by its hash: spaces around it do not count. */
const hashed = (name: string) =>
  `t-${createHash('sha256').update(name.normalize('NFKC').trim()).digest('hex').slice(0, 8)}`;

describe('slugs', () => {
  test.each([
    ['RPG', 'rpg'],
    ['Open World', 'open-world'],
    ['  Open   World  ', 'open-world'],
    ['C', 'c'],
    ['C++', 'c++'],
    ['ｃ＃', 'c#'],
    ['F# 101', 'f#-101'],
    ['Objective-C++ & C#', 'objective-c++-c#'],
    ['C ++', 'c'],
    ['#1 + 1', '1-1'],
    ['A+B', 'a+b'],
    ['9++', '9++'],
    ['c+-', 'c+'],
    ['--a--', 'a'],
    ['ｆｕｌｌ　ｗｉｄｔｈ', 'full-width'],
    ['ファンタジー', 'ファンタジー'],
    ['ﾌｧﾝﾀｼﾞｰ', 'ファンタジー'],
    ['伝説・騎士', '伝説-騎士'],
    ['e\u0301té', 'été'],
    ['हिन्दी', 'हिन्दी'],
    ['Ⅳ', 'iv'],
    ['Straße', 'strasse'],
    ['STRAẞE', 'strasse'],
    ['ΟΔΥΣΣΕΥΣ', 'οδυσσευσ'],
    ['Οδυσσεύς', 'οδυσσεύσ'],
    ['İzmir', 'i̇zmir'],
    ['ﬀﬁ', 'fffi'],
    ['puz\u00ADzle', 'puzzle'],
    ['co\u200B-op', 'co-op'],
    ['e\u034F\u0301t\u2060é', 'été'],
    ['\u{1F5FA}\uFE0F map', 'map'],
    ['1\uFE0F\u20E3', '1'],
    ['a\u20DD', 'a'],
    ['\u0301a', 'a'],
    ['می\u200Cخواهم', 'میخواهم'],
    ['🐉 dragon 🐉', 'dragon'],
  ])('%j has the slug %j', (name, slug) => {
    expect(slugOf(name)).toBe(slug);
  });

  test.each(['🐉', '🎮🎮', '!!!', ' - '])('%j, which holds no letter or number, is known by its hash', (name) => {
    expect(slugOf(name)).toBe(hashed(name));
  });

  test.each([
    ['❤', '❤\uFE0F', ' ❤\uFE0E ', '\u2060❤\u20DD'],
    ['🐉', '🐉 ', '\u200D🐉\u{E0061}'],
    ['👩🚀', '👩\u200D🚀'],
  ])('%j is one tag however it is sent', (name, ...others) => {
    for (const other of others) expect(slugOf(other)).toBe(hashed(name));
  });

  test('names of symbols or marks only differ by their slugs', () => {
    const names = ['🐉', '🎮', '❤️', '☠️', '⚠️', '✈️', '´', '¨', '+', '#'];
    expect(new Set(names.map(slugOf)).size).toBe(names.length);
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
    for (const name of ['Open World', 'ﾌｧﾝﾀｼﾞｰ', 'C++ & C#', 'İstanbul', '🐉', 'ΣΑΣ', '①②', '❤️', '´']) {
      expect(slugOf(slugOf(name))).toBe(slugOf(name));
    }
  });

  test('whatever a name is, its slug is its own slug, and of words joined by single hyphens, plus and number signs', () => {
    const unit = fc.oneof(
      anyCharacter,
      fc.constantFrom(...'aİΣςẞﬁǅK\u0307\u0323\u0301\u0345\u034F\u00AD\u20DD\uFE0Fﾊ\uFF9E\uFDFA \u00A8-+#🐉'),
    );
    assertProperty(
      fc.property(fc.string({ unit, maxLength: 20 }), (name) => {
        const slug = slugOf(name);
        const isOfWords = /^[\p{L}\p{M}\p{N}]+[+#]*(-?[\p{L}\p{M}\p{N}]+[+#]*)*$/u.test(slug);
        return isOfWords && Array.from(slug).length <= 200 && slugOf(slug) === slug;
      }),
      2000,
    );
  });
});
