import { z } from 'zod';
import { lengths, MAX_FILTER_TAGS, MAX_PAGE, MAX_PAGE_DEPTH, MAX_PAGE_SIZE, MAX_TAGS } from './limits.ts';

const LONE_SURROGATE = 'must be well-formed Unicode: it holds a lone surrogate';
const NULL_CHARACTER = 'must not hold the character U+0000';
const WITHOUT_NULL_CHARACTER = '^[^\\x00]*$';

/** The number of Unicode code points of a well-formed string. */
const codePoints = (value: string): number => {
  let count = 0;
  for (const _ of value) count += 1;
  return count;
};

/**
 * A text of `min` to `max` Unicode code points, as JSON Schema and MySQL's `VARCHAR(n)` count them; zod's own
 * `.max()` counts UTF-16 units. Lone surrogates are refused, which UTF-8 cannot hold, and U+0000, which many databases
 * and their drivers take for the end of a text. A `pattern` is published as it stands, so it has to refuse U+0000 too and
 * to mean the same in every regular-expression dialect: no look-around, no `\d`, no `\s`.
 */
export const text = (min: number, max: number, pattern?: RegExp, patternMessage?: string) =>
  z
    .string()
    .check((ctx) => {
      const { value } = ctx;
      if (!value.isWellFormed()) {
        ctx.issues.push({ code: 'custom', input: value, message: LONE_SURROGATE, params: { code: 'lone_surrogate' } });
        return;
      }
      if (value.includes('\0')) {
        ctx.issues.push({ code: 'custom', input: value, message: NULL_CHARACTER, params: { code: 'null_character' } });
        return;
      }
      // There are at least half as many code points as UTF-16 units, and at most as many.
      const surelyFits = value.length >= 2 * min && value.length <= max;
      const count = surelyFits ? value.length : codePoints(value);
      if (count < min) {
        ctx.issues.push({
          code: 'too_small',
          origin: 'string',
          minimum: min,
          inclusive: true,
          input: value,
          message: `must have at least ${min} character${min === 1 ? '' : 's'}, has ${count}`,
        });
      } else if (count > max) {
        ctx.issues.push({
          code: 'too_big',
          origin: 'string',
          maximum: max,
          inclusive: true,
          input: value,
          message: `must have at most ${max} characters, has ${count}`,
        });
      } else if (pattern && !pattern.test(value)) {
        ctx.issues.push({
          code: 'invalid_format',
          format: 'regex',
          pattern: pattern.source,
          input: value,
          message: patternMessage ?? `must match ${pattern.source}`,
        });
      }
    })
    .meta({ minLength: min, maxLength: max, pattern: pattern?.source ?? WITHOUT_NULL_CHARACTER });

// A host is a name or an IPv4 address; user info is refused, since a link with a password in it is a trap.
const label = '[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?';
const httpUrl = `[Hh][Tt][Tt][Pp][Ss]?://${label}(\\.${label})*\\.?(:[0-9]{1,5})?([/?#][^\\x00-\\x20\\x7f]*)?`;
// A segment that is not `..`; a backslash is refused because browsers read it as a slash.
const segment =
  '([^/.\\x00-\\x20\\x7f\\\\][^/\\x00-\\x20\\x7f\\\\]*|\\.|\\.[^/.\\x00-\\x20\\x7f\\\\][^/\\x00-\\x20\\x7f\\\\]*|\\.\\.[^/\\x00-\\x20\\x7f\\\\]+)';

const URL_RULE = 'must be an absolute http or https URL without spaces';

/** An absolute http(s) URL; the service never fetches it. */
export const HttpUrl = text(1, lengths.url, new RegExp(`^${httpUrl}$`), URL_RULE);
/** A download link: http(s) or magnet. */
export const DownloadUrl = text(
  1,
  lengths.downloadUrl,
  new RegExp(`^(${httpUrl}|[Mm][Aa][Gg][Nn][Ee][Tt]:\\?[^\\x00-\\x20\\x7f]+)$`),
  'must be an http, https or magnet URL without spaces',
);
/** An avatar: an http(s) URL, or an absolute path on the reader's own site. */
export const AvatarUrl = text(
  1,
  lengths.url,
  new RegExp(`^(${httpUrl}|/|(/${segment})+/?)$`),
  'must be an http or https URL, or a path that starts with one "/" and has no ".." segment',
);
/** A social link: an http(s) URL, or a handle such as `@nickname`. */
export const SocialLink = text(
  1,
  lengths.socialLink,
  new RegExp(`^(${httpUrl}|[^\\x00-\\x20\\x7f:]+)$`),
  'must be an http or https URL, or a handle without spaces or ":"',
);

/** A whole number from `min` to `max`; a fault names the range. */
export const wholeNumber = (min: number, max: number) => {
  const range = `must be a whole number from ${min} to ${max}`;
  const error = ({ input }: { input?: unknown }) => (input === undefined ? 'is required' : range);
  return z.int({ error, abort: true }).min(min, range).max(max, range);
};

/** An identifier, opaque to callers: any text that is not too long is accepted and looked up. */
export const Id = text(1, lengths.id);

/** An instant in UTC with milliseconds: `2026-04-01T09:30:00.000Z`. */
export const Timestamp = z.iso.datetime({ precision: 3 });

export const Count = z.int().min(0);

export const Tag = z
  .object({
    name: z.string().describe('The tag as it was first spelled'),
    slug: z.string().describe('The form of the name to filter by (`tagSlugs`)'),
  })
  .meta({ id: 'Tag', description: 'A label of a game or an image post.' });

export const Author = z
  .object({
    id: z.string().describe('The id of the user'),
    nickname: z.string().describe('The display name'),
    avatar: z.string().nullable().describe('URL or path of the avatar'),
  })
  .meta({ id: 'UserSummary', description: 'A user in short: as author of a record or as search result.' });

export const ReactionType = z
  .enum(['like', 'dislike'])
  .meta({ id: 'ReactionType', description: 'The kind of a reaction.' });

export const Viewer = z
  .object({
    favorited: z.boolean().describe('Whether the caller holds it as a favorite'),
    reaction: ReactionType.nullable().describe("The caller's reaction, or null"),
  })
  .meta({ id: 'Viewer', description: "The caller's own relation to a record." });

/** Members that games and image posts share, in lists and alone. */
export const contentMembers = {
  viewCount: Count.describe('How often it was read by getById; grows with a delay of about a second'),
  likeCount: Count.describe('The number of likes'),
  dislikeCount: Count.describe('The number of dislikes'),
  favoriteCount: Count.describe('The number of users who hold it as a favorite'),
  viewer: Viewer.nullable().describe('The relation of the caller whose key came along; null without a key'),
  createdAt: Timestamp.describe('When it was published'),
  updatedAt: Timestamp.describe('When it was last changed by its author'),
};

/** Input members that games and image posts share. */
export const contentInput = {
  title: text(1, lengths.title).describe('The title'),
  description: text(0, lengths.description).describe('A longer text about it'),
  tagNames: z
    .array(text(1, lengths.tagName))
    .max(MAX_TAGS)
    .describe('Names of tags; unknown ones are made, duplicates merge'),
};

const pageNumber = wholeNumber(1, MAX_PAGE);

/** Input members that every list shares. */
export const listInput = {
  limit: wholeNumber(1, MAX_PAGE_SIZE).describe('Items per page'),
  page: pageNumber.describe(
    `The page, from 1. page × limit reaches to ${MAX_PAGE_DEPTH}, deeper pages need \`cursor\`; ignored beside a \`cursor\``,
  ),
  cursor: text(1, lengths.cursor)
    .optional()
    .describe('The `nextCursor` of the previous page, with the same filters and sort mode. Reaches any depth'),
  search: text(1, lengths.search)
    .optional()
    .describe(
      'Words that must all occur, each anywhere in the title, the tags or, on games, the original name or author. ' +
        'Width, case and kana form do not matter. Blank means no filter',
    ),
  tagSlugs: z
    .array(text(1, lengths.tagSlug))
    .max(MAX_FILTER_TAGS)
    .optional()
    .describe('Slugs of tags that must all be there'),
};

const TotalRelation = z
  .enum(['eq', 'gte'])
  .meta({ id: 'TotalRelation', description: 'Whether a total is exact, `eq`, or the least there may be, `gte`.' });

/** A page of items, as every list answers it. */
export const page = <T extends z.ZodType>(item: T) =>
  z.object({
    items: z.array(item).describe('The records of this page'),
    page: pageNumber.describe('The page asked for'),
    limit: z.int().min(1).max(MAX_PAGE_SIZE).describe('The page size asked for'),
    total: Count.describe('How many records match; see totalRelation'),
    totalRelation: TotalRelation.describe(
      `\`eq\`: total is exact. \`gte\`: there are at least so many; counting stops at ${MAX_PAGE_DEPTH}`,
    ),
    hasMore: z.boolean().describe('Whether more records follow this page'),
    nextCursor: z.string().nullable().describe('Pass it as `cursor` for the records that follow; null at the end'),
  });
