import { z } from 'zod';
import { lengths, MAX_FILTER_TAGS, MAX_PAGE, MAX_PAGE_DEPTH, MAX_PAGE_SIZE, MAX_TAGS } from './limits.ts';
import { form, label, line, NOT_IN_LINK, prose, text } from './text.ts';

// A host is a name or an IPv4 address; user info is refused, since a link with a password in it is a trap.
const hostLabel = '[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?';
const linkCharacter = `[^${NOT_IN_LINK}]`;
const httpUrl = `[Hh][Tt][Tt][Pp][Ss]?://${hostLabel}(\\.${hostLabel})*\\.?(:[0-9]{1,5})?([/?#]${linkCharacter}*)?`;

// `%` and the two digits of anything but a control character, a dot, a slash or a backslash: whoever decodes a path before
// looking for `..` must find none.
const escaped = '%(2[0-9A-Da-d]|5[0-9ABD-Fabd-f]|[346-9A-Fa-f][0-9A-Fa-f])';
const pathCharacter = `([^/.%?#${NOT_IN_LINK}]|${escaped})`;
/** A segment that is not `..`: at most two dots and something else, more dots, or one alone. */
const segment = `((\\.{0,2}${pathCharacter}|\\.{3})(\\.|${pathCharacter})*|\\.)`;
const path = `(/|(/${segment})+/?)([?#]${linkCharacter}*)?`;

const LINK_RULE = 'without spaces, quotation marks, "<", ">" and "\\"';

/** An absolute http(s) URL; the service never fetches it. */
export const HttpUrl = text(1, lengths.url, form(`^${httpUrl}$`, `must be an absolute http or https URL ${LINK_RULE}`));
/** A download link: http(s) or magnet. */
export const DownloadUrl = text(
  1,
  lengths.downloadUrl,
  form(
    `^(${httpUrl}|[Mm][Aa][Gg][Nn][Ee][Tt]:\\?${linkCharacter}+)$`,
    `must be an http, https or magnet URL ${LINK_RULE}`,
  ),
);
/** An avatar: an http(s) URL, or an absolute path on the reader's own site. */
export const AvatarUrl = text(
  1,
  lengths.url,
  form(
    `^(${httpUrl}|${path})$`,
    `must be an http or https URL, or a path that starts with one "/", has no ".." segment and no escaped ".", "/" or "\\"; ${LINK_RULE}`,
  ),
);
/** A social link: an http(s) URL, or a handle such as `@nickname`, which no browser takes for the name of a host. */
export const SocialLink = text(
  1,
  lengths.socialLink,
  form(
    `^(${httpUrl}|[^/:${NOT_IN_LINK}][^:${NOT_IN_LINK}]*)$`,
    `must be an http or https URL, or a handle that has no ":" and does not start with "/"; ${LINK_RULE}`,
  ),
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
    name: z.string().describe('The tag as it was first spelled, or as the operator spelled it since'),
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
  title: label(lengths.title).describe('The title'),
  description: prose(0, lengths.description).describe('A longer text about it'),
  tagNames: z
    .array(line(1, lengths.tagName))
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
