const KATAKANA = /[\u30A1-\u30F6\u30FD\u30FE]/g;
const KATAKANA_TO_HIRAGANA = 0x60;
/** Soft hyphens, joiners, variation selectors and fillers: they change nothing of what a text says. */
const IGNORABLE = /\p{Default_Ignorable_Code_Point}+/gu;
/** Some keyboards write U+301C where others write U+FF5E, which NFKC makes a tilde. */
const WAVE_DASH = /\u301C/g;

/** NFKC without invisible characters. NFKC once more, since a letter and a mark may have met. */
export const visible = (text: string): string => text.normalize('NFKC').replaceAll(IGNORABLE, '').normalize('NFKC');

/**
 * Unicode's full case folding: texts that differ in case only fold to the same text. The detour by the upper case unites
 * letters with one upper case, such as σ and ς, and spells out others, such as ß; ẞ has to become ß first. Only ı shares its
 * upper case with a letter that Unicode tells apart. NFKC once more, since a fold can be a letter and a mark, which has its
 * order among others.
 */
export const foldCase = (text: string): string =>
  text
    .split('ı')
    .map((part) => part.toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ'))
    .join('ı')
    .normalize('NFKC');

/**
 * A text as search compares it: NFKC without invisible characters, case folded, wave dashes as tildes, katakana as
 * hiragana. Texts that earlier versions normalised become the same.
 */
export const normalise = (text: string): string =>
  foldCase(visible(text)).replaceAll(WAVE_DASH, '~').replaceAll(KATAKANA, toHiragana);

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
