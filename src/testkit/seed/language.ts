import { chinese } from './chinese.ts';
import { english } from './english.ts';
import { japanese } from './japanese.ts';
import { korean } from './korean.ts';
import type { Random } from './random.ts';

/**
 * A language: lists of phrases. A phrase may name other lists in braces, to be replaced by one of their phrases. Every language
 * has these lists, and others that only its own phrases name.
 */
export type Language = Record<Phrase, readonly string[]> & Record<string, readonly string[]>;

type Phrase =
  | 'gameTitle'
  | 'imageTitle'
  | 'description'
  | 'originalAuthor'
  | 'nickname'
  | 'bio'
  | 'location'
  | 'download'
  /** Tags that a site has from its beginning, the most usual first. */
  | 'tag'
  /** Thousands of more special tags. */
  | 'rareTag';

/** Each language, as often as its share of what is published. */
export const languages: readonly Language[] = [japanese, japanese, chinese, chinese, english, korean];

const SLOT = /\{(\w+)\}/g;

/** Makes up a text: one of the phrases of a list, with those that it names. */
export const compose = (language: Language, list: string, random: Random): string => {
  const phrases = language[list];
  if (!phrases) throw new TypeError(`no list "${list}"`);
  return random.pick(phrases).replaceAll(SLOT, (_, named: string) => compose(language, named, random));
};
