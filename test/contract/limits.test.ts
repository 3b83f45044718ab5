/**
 * @engines none
 * @tier fast
 */
import { describe, expect, test } from '@jest/globals';
import { exampleGameSummary, exampleImagePostSummary, exampleUser, singlePage } from '../../contract/examples.ts';
import {
  ANSWER_LIMIT,
  lengths,
  MAX_COUNTED_TYPES,
  MAX_FOUND_USERS,
  MAX_PAGE_SIZE,
  MAX_SUMMARY_IMAGES,
  MAX_TAGS,
} from '../../contract/index.ts';

// Only batches are held against ANSWER_LIMIT: no page alone may be as large, whatever is in its records.

const many = <T>(n: number, value: T): T[] => Array.from({ length: n }, () => value);

/** A text of so many code points that takes the most bytes in JSON, which escapes control characters. */
const text = (length: number): string => '\u0001'.repeat(length);
/** A URL or a slug, which has no control characters. */
const visible = (length: number): string => '𠮷'.repeat(length);

const author = { ...exampleUser, nickname: text(lengths.nickname), avatar: visible(lengths.url) };
const content = {
  title: text(lengths.title),
  tags: many(MAX_TAGS, { name: text(lengths.tagName), slug: visible(lengths.tagSlug) }),
  author,
  viewer: { favorited: false, reaction: 'dislike' },
  viewCount: Number.MAX_SAFE_INTEGER,
  likeCount: Number.MAX_SAFE_INTEGER,
  dislikeCount: Number.MAX_SAFE_INTEGER,
  favoriteCount: Number.MAX_SAFE_INTEGER,
};
const post = { ...exampleImagePostSummary, ...content, images: many(MAX_SUMMARY_IMAGES, visible(lengths.url)) };
const game = {
  ...exampleGameSummary,
  ...content,
  coverUrl: visible(lengths.url),
  gameType: text(lengths.gameType),
  version: text(lengths.version),
};
const page = (item: object) => ({ ...singlePage(item), items: many(MAX_PAGE_SIZE, item), nextCursor: text(1000) });

describe('limits of the contract', () => {
  test.each([
    ['image posts', page(post)],
    ['games', page(game)],
    ['users', { items: many(MAX_FOUND_USERS, author) }],
    ['types', { items: many(MAX_COUNTED_TYPES, { gameType: text(lengths.gameType), count: Number.MAX_SAFE_INTEGER }) }],
  ])('the largest page of %s is smaller than a batch may be', (_, json) => {
    expect(Buffer.byteLength(JSON.stringify({ result: { data: { json } } }))).toBeLessThan(ANSWER_LIMIT);
  });
});
