import { createRequire } from 'node:module';
import { closestMatch } from 'leven';

/** Longer words are not compared: they are not typos, and comparing them takes time. */
const MAX_WORD = 50;
/** From this length on, a part of a word may stand for it: `sort` for `sortBy`. */
const LEAST_PART = 4;

/** Words that mean a candidate without being similar. All are in the form that `plain` returns. */
type Aliases = Readonly<Record<string, readonly string[]>>;

type Named = 'members' | 'values' | 'routers' | 'procedures' | 'paths' | 'settings';

const written = createRequire(import.meta.url)('#aliases') as Record<Named, Record<string, string>>;

/** Names of members, values and so on in other APIs and programs, and the words by which people look for paths. */
export const aliasesOf = (named: Named): Aliases =>
  Object.fromEntries(Object.entries(written[named]).map(([name, words]) => [name, words.split(' ')]));

/** A word in lower case, without separators: `page_size` and `pageSize` are the same. */
export const plain = (word: string): string => word.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');

/** The number of letters that may be wrong in a word. */
const slips = ({ length }: string): number => (length < 3 ? 0 : length < 5 ? 1 : length < 10 ? 2 : 3);

/** Whether a word is a part of a candidate, or the reverse, at the beginning or the end. */
const isPart = (word: string, candidate: string): boolean => {
  const singular = word.replace(/s$/, '');
  if (candidate.length >= LEAST_PART && (word.startsWith(candidate) || word.endsWith(candidate))) return true;
  if (word === 'id') return candidate.endsWith('id');
  return singular.length >= 3 && (candidate.startsWith(singular) || candidate.endsWith(word));
};

/** The characters of a word in order: two words with the same characters differ only by transpositions. */
export const sorted = (word: string): string => Array.from(word).toSorted().join('');

/** The only element of a list with one element. */
const sole = <T>(items: readonly T[]): T | undefined => (items.length === 1 ? items[0] : undefined);

/** The candidate that a word most likely means; undefined if none is similar. */
export const nearest = (word: string, candidates: readonly string[], aliases: Aliases = {}): string | undefined => {
  if (word.length > MAX_WORD) return undefined;
  const sought = plain(word);
  if (sought === '') return undefined;
  const byPlain = new Map(candidates.map((candidate) => [plain(candidate), candidate]));
  const same = byPlain.get(sought);
  if (same !== undefined) return same;
  const meant = candidates.find((candidate) => aliases[candidate]?.includes(sought));
  if (meant !== undefined) return meant;
  const names = [...byPlain.keys()];
  const maxDistance = slips(sought);
  const found =
    (maxDistance > 0 ? closestMatch(sought, names, { maxDistance }) : undefined) ??
    sole(names.filter((name) => sorted(name) === sorted(sought))) ??
    sole(names.filter((name) => isPart(sought, name)));
  return found === undefined ? undefined : byPlain.get(found);
};
