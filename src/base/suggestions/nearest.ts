import { createRequire } from 'node:module';
import { closestMatch } from 'leven';

/** Longer words are not compared: they are no typos, and comparing takes time. */
const MAX_WORD = 50;
/** From this length on a part of a word stands for it: `sort` for `sortBy`. */
const LEAST_PART = 4;

/** Words that mean a candidate without being similar. All are in the form of `plain`. */
type Aliases = Readonly<Record<string, readonly string[]>>;

type Named = 'members' | 'values' | 'routers' | 'procedures' | 'paths' | 'settings';

const written = createRequire(import.meta.url)('#aliases') as Record<Named, Record<string, string>>;

/** How other APIs and programs name our members, values and so on; of paths, the words by which people look for them. */
export const aliasesOf = (named: Named): Aliases =>
  Object.fromEntries(Object.entries(written[named]).map(([name, words]) => [name, words.split(' ')]));

/** A word without case, and without what separates its parts: `page_size` and `pageSize` are the same. */
export const plain = (word: string): string => word.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');

/** The letters of a word that may be wrong. */
const slips = ({ length }: string): number => (length < 3 ? 0 : length < 5 ? 1 : length < 10 ? 2 : 3);

/** Whether a word is a part of a candidate, or the other way round, at the beginning or the end. */
const isPart = (word: string, candidate: string): boolean => {
  const singular = word.replace(/s$/, '');
  if (candidate.length >= LEAST_PART && (word.startsWith(candidate) || word.endsWith(candidate))) return true;
  if (word === 'id') return candidate.endsWith('id');
  return singular.length >= 3 && (candidate.startsWith(singular) || candidate.endsWith(word));
};

/** The characters of a word in order: two words with the same ones differ by transpositions only. */
export const sorted = (word: string): string => Array.from(word).toSorted().join('');

/** The one element of a list that has no other. */
const sole = <T>(items: readonly T[]): T | undefined => (items.length === 1 ? items[0] : undefined);

/** The candidate that a word most likely means; undefined where none is near. */
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
