const KATAKANA = /[\u30A1-\u30F6\u30FD\u30FE]/g;
const KATAKANA_TO_HIRAGANA = 0x60;
/** Soft hyphens, joiners, variation selectors and fillers: they do not affect the meaning of a text. */
const IGNORABLE = /\p{Default_Ignorable_Code_Point}+/gu;
/** Some keyboards write U+301C where others write U+FF5E, which NFKC turns into a tilde. */
const WAVE_DASH = /\u301C/g;

/** NFKC without invisible characters. NFKC is applied again, since a letter and a mark may have become adjacent. */
export const visible = (text: string): string => text.normalize('NFKC').replaceAll(IGNORABLE, '').normalize('NFKC');

/**
 * Unicode's full case folding: texts that differ only in case fold to the same text. Converting to upper case first
 * unites letters with the same upper case, such as σ and ς, and expands others, such as ß; ẞ must become ß first. Only
 * ı shares its upper case with a letter that Unicode distinguishes. NFKC is applied again, since folding can yield a
 * letter and a mark, which must be ordered among other marks.
 */
export const foldCase = (text: string): string =>
  text
    .split('ı')
    .map((part) => part.toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ'))
    .join('ı')
    .normalize('NFKC');

/**
 * A text as search compares it: NFKC without invisible characters, case folded, wave dashes as tildes, katakana as
 * hiragana. Texts that earlier versions normalised yield the same result.
 */
export const normalise = (text: string): string =>
  foldCase(visible(text)).replaceAll(WAVE_DASH, '~').replaceAll(KATAKANA, toHiragana);

const toHiragana = (character: string): string => String.fromCodePoint(character.charCodeAt(0) - KATAKANA_TO_HIRAGANA);

/** The searchable text of a record. No search term contains a line break, so no match spans two parts. */
export const searchText = (parts: readonly (string | null | undefined)[]): string =>
  parts
    .filter((part) => part !== null && part !== undefined)
    .map(normalise)
    .join('\n');

/** The terms of a search, all of which must occur; empty for a blank search. */
export const searchTerms = (search: string | undefined): string[] => [
  ...new Set(
    normalise(search ?? '')
      .split(/\s+/)
      .filter((term) => term !== ''),
  ),
];
