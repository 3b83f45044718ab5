import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { lengths } from '../../../contract/index.ts';

const SEPARATORS = /[^\p{L}\p{M}\p{N}]+/gu;

const REMEMBERED_NAMES = 10_000;
const known = new LRUCache<string, string>({ max: REMEMBERED_NAMES });

/**
 * The slug of a tag name: NFKC, trimmed, lower case, each run of what is neither letter, mark nor number as `-`. A name
 * that leaves nothing (only emoji) or too much is known by `t-` and 8 hex digits of its SHA-256.
 */
export const slugOf = (name: string): string => {
  const remembered = known.get(name);
  if (remembered !== undefined) return remembered;
  const slug = makeSlug(name);
  known.set(name, slug);
  return slug;
};

const makeSlug = (name: string): string => {
  // Once more, since a lower case can be a letter and a mark, which has its order among others.
  const normalised = name.normalize('NFKC').trim().toLowerCase().normalize('NFKC');
  const slug = normalised.replaceAll(SEPARATORS, '-').replaceAll(/^-|-$/g, '');
  if (slug !== '' && Array.from(slug).length <= lengths.tagSlug) return slug;
  return `t-${createHash('sha256').update(name).digest('hex').slice(0, 8)}`;
};
