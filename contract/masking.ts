import { KEY_PREFIX } from './limits.ts';

/** A character as it stands, or percent-encoded, as often as that was done. */
const encoded = (plain: string, digits: string): string => `(?:${plain}|%(?:25)*${digits})`;

const digitsOf = (character: string): string =>
  `(?:${character.charCodeAt(0).toString(16)}|${character.toUpperCase().charCodeAt(0).toString(16)})`;

/** The beginning of an API key, in whatever case and encoding, and all that may belong to it. */
const KEYS = new RegExp(
  `${Array.from(KEY_PREFIX, (character) => encoded(character, digitsOf(character))).join('')}${encoded('[0-9a-z]', '(?:3[0-9]|[46][1-9a-f]|[57][0-9a])')}+`,
  'gi',
);

/** Whether a text has an API key in it, or a part of one that can be told. */
export const holdsKey = (text: string): boolean => text.search(KEYS) !== -1;

/** A text with the API keys in it masked. All that is kept or logged goes through here. */
export const withoutKeys = (text: string): string => text.replaceAll(KEYS, `${KEY_PREFIX}…`);
