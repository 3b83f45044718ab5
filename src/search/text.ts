const KATAKANA = /[\u30A1-\u30F6\u30FD\u30FE]/g;
const KATAKANA_TO_HIRAGANA = 0x60;

/**
 * A text as search compares it: NFKC, lower case, katakana as hiragana. NFKC once more, since a lower case can be a letter
 * and a mark, which has its order among others.
 */
export const normalise = (text: string): string =>
  text.normalize('NFKC').toLowerCase().normalize('NFKC').replaceAll(KATAKANA, toHiragana);

const toHiragana = (character: string): string => String.fromCodePoint(character.charCodeAt(0) - KATAKANA_TO_HIRAGANA);

/** The searchable text of a record. No search term holds a line break, so none matches across two parts. */
export const searchText = (parts: readonly (string | null | undefined)[]): string =>
  parts
    .filter((part) => part !== null && part !== undefined)
    .map(normalise)
    .join('\n');

/** The terms of a search, all of which must occur; none for a blank one. */
export const searchTerms = (search: string | undefined): string[] => [
  ...new Set(
    normalise(search ?? '')
      .split(/\s+/)
      .filter((term) => term !== ''),
  ),
];
