import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { lengths } from '../../../contract/index.ts';
import { atMost } from '../../base/cache.ts';
import { foldCase, visible } from '../../search/text.ts';

/** Marks that follow no letter or number, such as those of emoji, and marks that enclose a character. */
const LONE_MARKS = /(?<![\p{L}\p{M}\p{N}])\p{M}+|\p{Me}+/gu;
/** A word, with the signs that distinguish the names C++ and C# from C, or the characters between words. */
const PARTS = /([\p{L}\p{M}\p{N}]+[+#]*)|[^\p{L}\p{M}\p{N}]+/gu;

const REMEMBERED_NAMES = 10_000;
const known = new LRUCache<string, string>(atMost(REMEMBERED_NAMES));

/**
 * The slug of a tag name: NFKC without invisible characters and lone marks, trimmed, case folded, with `-` for each run
 * of characters that are neither letters, marks nor numbers, except `+` and `#` right after a word. If the result is
 * empty (only emoji) or too long, it is `t-` and 8 hex digits of the SHA-256 of the trimmed name.
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
  // A name that consists of marks only is hashed with its marks.
  return `t-${createHash('sha256')
    .update(trimmed || seen.trim())
    .digest('hex')
    .slice(0, 8)}`;
};
