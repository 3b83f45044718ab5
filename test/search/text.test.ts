/**
 * @engines none
 * @tier fast
 */
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { foldCase, normalise, searchTerms, searchText } from '../../src/search/text.ts';
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
    ['ΟΔΥΣΣΕΥΣ', 'οδυσσευσ'],
    ['Οδυσσεύς', 'οδυσσεύσ'],
    ['STRAẞE Straße', 'strasse strasse'],
    ['DİYAR ışık', 'di̇yar ışık'],
    ['Eﬃcient ŉ', 'efficient ʼn'],
    ['ᾼδης', 'αιδησ'],
    ['王〜女～~', '王~女~~'],
    ['☺\uFE0F葛\u{E0100}', '☺葛'],
    ['so\u00ADft\u200B\u2060', 'soft'],
    ['か\u034F\u3099', 'が'],
    ['ᄀ\u3164', 'ᄀ'],
    ['①', '1'],
  ])('%j is searched as %j', (text, normalised) => {
    expect(normalise(text)).toBe(normalised);
  });

  const everyCharacter = Array.from({ length: 0x11_0000 }, (_, point) => String.fromCodePoint(point)).filter((one) =>
    /[^\p{Cn}\p{Co}\p{Cs}]|\p{Default_Ignorable_Code_Point}/u.test(one),
  );
  const nameOf = (character: string): string => `U+${character.codePointAt(0)!.toString(16)}`;
  /** As versions before full case folding stored texts. */
  const normalisedBefore = (text: string): string =>
    text
      .normalize('NFKC')
      .toLowerCase()
      .normalize('NFKC')
      .replaceAll(/[\u30A1-\u30F6\u30FD\u30FE]/g, (kana) => String.fromCharCode(kana.charCodeAt(0) - 0x60));

  test('normalising twice changes nothing more, and what earlier versions stored becomes the same', () => {
    for (const character of everyCharacter) {
      const once = normalise(character);
      if (normalise(once) !== once) throw new Error(`${nameOf(character)} needs more than one round`);
      if (normalise(normalisedBefore(character)) !== once) throw new Error(`${nameOf(character)} was stored otherwise`);
    }
  });

  test('cases of a letter fold alike, and to nothing that Unicode holds for another letter', () => {
    for (const character of everyCharacter) {
      const cases = [character.toLowerCase(), character.toUpperCase(), character.toUpperCase().toLowerCase()];
      if (character === 'ı' || cases.every((one) => one === character)) continue;
      const folded = foldCase(character);
      for (const other of cases) {
        if (foldCase(other) !== folded) throw new Error(`${nameOf(character)} folds otherwise than ${other}`);
      }
      const composed = character.normalize('NFKC');
      // Regular expressions fold by one character; what folds to more is in the table above.
      if (folded === composed || Array.from(folded).length > 1 || composed !== character) continue;
      if (!new RegExp(`^\\u{${folded.codePointAt(0)!.toString(16)}}$`, 'iu').test(character)) {
        throw new Error(`${nameOf(character)} folds to ${nameOf(folded)}`);
      }
    }
    expect(['ı', 'I', 'i', 'İ'].map(foldCase)).toEqual(['ı', 'i', 'i', 'i̇']);
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
    const unit = fc.oneof(
      anyCharacter,
      fc.constantFrom(...'İıΣςẞﬁǅK\u0307\u0323\u0301\u0345\u034F\u00AD\uFE0Fヴﾊ\u3099\uFF9E\u3000 \n¨〜'),
    );
    const texts = fc.string({ unit, maxLength: 30 });

    test('is normalised in one round', () => {
      assertProperty(
        fc.property(texts, (text) => normalise(normalise(text)) === normalise(text)),
        2000,
      );
    });

    test('becomes the same if an earlier version stored it', () => {
      assertProperty(
        fc.property(texts, (text) => normalise(normalisedBefore(text)) === normalise(text)),
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
