import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { lengths } from '../../../contract/index.ts';
import { atMost } from '../../base/cache.ts';
import { foldCase, visible } from '../../search/text.ts';

/** Marks without a letter or number to stand on, such as those of emoji, and marks around a character. */
const LONE_MARKS = /(?<![\p{L}\p{M}\p{N}])\p{M}+|\p{Me}+/gu;
/** A word, with the signs that make C++ and C# other names than C, or what separates words. */
const PARTS = /([\p{L}\p{M}\p{N}]+[+#]*)|[^\p{L}\p{M}\p{N}]+/gu;

const REMEMBERED_NAMES = 10_000;
const known = new LRUCache<string, string>(atMost(REMEMBERED_NAMES));

/**
 * The slug of a tag name: NFKC without invisible characters and lone marks, trimmed, case folded, each run of characters
 * that are neither letter, mark nor number as `-`, save `+` and `#` right after a word. A name that leaves nothing (only
 * emoji) or too much is known by `t-` and 8 hex digits of the SHA-256 of the trimmed name.
 */
export const slugOf = (name: string): string => {
  const remembered = known.get(name);
  if (remembered !== undefined) return remembered;
  const slug = makeSlug(name);
  known.set(name, slug);
  return slug;
};

const makeSlug = (name: string): string => {
  const seen = visible(name);
  const trimmed = seen.replaceAll(LONE_MARKS, '').normalize('NFKC').trim();
  const slug = foldCase(trimmed)
    .replaceAll(PARTS, (_, word?: string) => word ?? '-')
    .replaceAll(/^-|-$/g, '');
  if (slug !== '' && Array.from(slug).length <= lengths.tagSlug) return slug;
  // A name of marks alone is known by them.
  return `t-${createHash('sha256')
    .update(trimmed || seen.trim())
    .digest('hex')
    .slice(0, 8)}`;
};
