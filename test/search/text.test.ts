/**
 * @engines none
 * @tier fast
 */
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { normalise, searchTerms, searchText } from '../../src/search/text.ts';
import { anyCharacter, assertProperty } from '../harness/documents/property.ts';

describe('text', () => {
  test.each([
    ['Dragon', 'dragon'],
    ['ＤＲＡＧＯＮ', 'dragon'],
    ['ドラゴン', 'どらごん'],
    ['ﾄﾞﾗｺﾞﾝ', 'どらごん'],
    ['ト\u3099ラコ\u3099ン', 'どらごん'],
    ['ヴァイオリン', 'ゔぁいおりん'],
    ['ヽヾ', 'ゝゞ'],
    ['スーパー', 'すーぱー'],
    ['伝説', '伝説'],
    ['e\u0301', 'é'],
    ['ΟΔΥΣΣΕΥΣ', 'οδυσσευς'],
    ['①', '1'],
  ])('%j is searched as %j', (text, normalised) => {
    expect(normalise(text)).toBe(normalised);
  });

  test('normalising twice changes nothing more', () => {
    for (let point = 0; point <= 0x10_ff_ff; point += 1) {
      if (point >= 0xd8_00 && point <= 0xdf_ff) continue;
      const once = normalise(String.fromCodePoint(point));
      if (normalise(once) !== once) throw new Error(`U+${point.toString(16)} needs more than one round`);
    }
  });

  test('terms are what whitespace separates, each once', () => {
    expect(searchTerms('  Dragon\u3000quest \t ドラゴン dragon\n')).toEqual(['dragon', 'quest', 'どらごん']);
  });

  test('a blank search has no terms', () => {
    expect(searchTerms(undefined)).toEqual([]);
    expect(searchTerms('')).toEqual([]);
    expect(searchTerms(' \u3000\n ')).toEqual([]);
  });

  test('no term matches across two parts', () => {
    const stored = searchText(['Blue', null, undefined, 'ビル', '']);
    expect(stored).toBe('blue\nびる\n');
    for (const search of ['eび', 'blue びる']) {
      for (const term of searchTerms(search)) expect(term).not.toContain('\n');
    }
    expect(stored).not.toContain(searchTerms('eビ')[0]);
  });

  describe('any text', () => {
    // Marks, letters with two cases and kana are where rounds differ, if they do.
    const unit = fc.oneof(anyCharacter, fc.constantFrom(...'İΣςẞﬁǅK\u0307\u0323\u0301\u0345ヴﾊ\u3099\uFF9E\u3000 \n¨'));
    const texts = fc.string({ unit, maxLength: 30 });

    test('is normalised in one round', () => {
      assertProperty(
        fc.property(texts, (text) => normalise(normalise(text)) === normalise(text)),
        2000,
      );
    });

    test('is searched for by terms that are different, normalised, and nothing but words', () => {
      assertProperty(
        fc.property(texts, (text) => {
          const terms = searchTerms(text);
          return isDeepStrictEqual(searchTerms(terms.join(' ')), terms) && !terms.some((term) => /\s|^$/.test(term));
        }),
        1000,
      );
    });

    test('holds each of the terms that it is searched for by', () => {
      assertProperty(
        fc.property(texts, (text) => {
          const stored = searchText([text]);
          expect(searchTerms(text).filter((term) => !stored.includes(term))).toEqual([]);
        }),
      );
    });
  });
});
