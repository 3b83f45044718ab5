import { z } from 'zod';
import { kindOf } from './issues.ts';
import { lengths, MAX_FILTER_TAGS, MAX_PAGE, MAX_PAGE_DEPTH, MAX_PAGE_SIZE, MAX_TAGS } from './limits.ts';
import { label, noneOf, NOT_IN_LINK, prose, text } from './text.ts';

// A host is a name in any script, an IPv4 address, or an IPv6 address in brackets. User info is refused: a link that
// holds a password is a trap. `SCRIPTS` lists the blocks of the scripts without blanks, invisible characters and signs
// that browsers read as `/`, `:` or `@`. East Asian full stops separate labels, too. All beyond U+FFFF counts as
// letters or emoji.
const SCRIPTS =
  '\u00b7\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02af\u0300-\u034e\u0350-\u0373\u0376\u0377\u037b-\u037d\u037f\u0386\u0388-\u05f2' +
  '\u0610-\u061a\u0620-\u06ff\u0710-\u115e\u1161-\u167f\u1681-\u17b3\u17b6-\u180a\u1810-\u1fbc\u1fc2-\u1fcc\u1fd0-\u1fdb' +
  '\u1fe0-\u1fec\u1ff2-\u1ffc\u2600-\u27bf\u2c00-\u2dff\u3005-\u3007\u3021-\u3035\u3041-\u3096\u3099\u309a\u309d-\u3163' +
  '\u3165-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\ud7fb\uf900-\ufad9\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff66-\uff9f';
const hostEnd = `([A-Za-z0-9_${SCRIPTS}]|[^\\x00-\ufffd])`;
const hostMiddle = `([A-Za-z0-9_${SCRIPTS}-]|[^\\x00-\ufffd])`;
const hostLabel = `${hostEnd}(${hostMiddle}*${hostEnd})?`;
const DOT = '[.\u3002\uff0e\uff61]';
const group = '[0-9A-Fa-f]{1,4}';
const byte = '(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])';
const ipv4 = `${byte}(\\.${byte}){3}`;
/** The forms of an IPv6 address, one for each position of `::`. */
const ipv6 = [
  `(${group}:){7}${group}`,
  `(${group}:){1,7}:`,
  ...[1, 2, 3, 4, 5, 6].map((after) => `(${group}:){1,${7 - after}}(:${group}){1,${after}}`),
  `:((:${group}){1,7}|:)`,
  `::([Ff]{4}:)?${ipv4}`,
].join('|');
const host = `(\\[(${ipv6})\\]|${hostLabel}(${DOT}${hostLabel})*${DOT}?)`;
const port = '(6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[0-5]?[0-9]{1,4})';
const linkCharacter = noneOf(NOT_IN_LINK);
const scheme = '[Hh][Tt][Tt][Pp][Ss]?:[/][/]';
const httpUrl = `${scheme}${host}(:${port})?([/?#]${linkCharacter}*)?`;

// `%` and the two digits of anything but a control character, a dot, a slash or a backslash: a program that decodes a
// path before it looks for `..` must not find one.
const escaped = '%(2[0-9A-Da-d]|5[0-9ABD-Fabd-f]|[346-9A-Fa-f][0-9A-Fa-f])';
const pathCharacter = `(${noneOf(`/.%?#${NOT_IN_LINK}`)}|${escaped})`;
/** A segment that is not `..`: at most two dots and something else, more dots, or one alone. */
const segment = `((\\.{0,2}${pathCharacter}|\\.{3})(\\.|${pathCharacter})*|\\.)`;
const path = `([/]|([/]${segment})+[/]?)([?#]${linkCharacter}*)?`;

const LINK_RULE = 'without spaces, quotation marks, "<", ">" and "\\"';

const BEGINS_WITH_HTTP = new RegExp(`^${scheme}`);
const HOST = new RegExp(`^${scheme}${host}(:[0-9]+)?([/?#]|$)`, 'u');
const PORT = new RegExp(`^${scheme}[^/?#]*:${port}([/?#]|$)`);

/** The fault of a URL of the right scheme, in words. */
const faultOfUrl = (url: string): string | undefined => {
  if (!BEGINS_WITH_HTTP.test(url)) return undefined;
  const authority = url.replace(BEGINS_WITH_HTTP, '').replace(/[/?#].*$/s, '');
  if (authority.includes('@')) return 'must be a URL without a user name or password before its host';
  if (!HOST.test(url)) {
    return 'must have a host after "//": a name in any script, such as example.com, an IPv4 address, or an IPv6 address in brackets, and after it at most ":" and a port';
  }
  if (/:[0-9]+$/.test(authority) && !PORT.test(url)) return 'must have a port from 0 to 65535';
  return undefined;
};

/** A text of http(s) URLs that match a pattern. */
const link = (max: number, pattern: string, message: string) =>
  text(1, max, {
    pattern,
    faultOf: (value) => ({ code: 'invalid_format', message: faultOfUrl(value) ?? `${message} ${LINK_RULE}` }),
  });

/** An absolute http(s) URL; the service never fetches it. */
export const HttpUrl = link(lengths.url, `^${httpUrl}$`, 'must be an absolute http or https URL');
/** A download link: http(s) or magnet. */
export const DownloadUrl = link(
  lengths.downloadUrl,
  `^(${httpUrl}|[Mm][Aa][Gg][Nn][Ee][Tt]:\\?${linkCharacter}+)$`,
  'must be an http, https or magnet URL',
);
/** An avatar: an http(s) URL, or an absolute path on the reader's own site. */
export const AvatarUrl = link(
  lengths.url,
  `^(${httpUrl}|${path})$`,
  'must be an http or https URL, or a path that starts with one "/", has no ".." segment and no escaped ".", "/" or "\\";',
);
/** A social link: an http(s) URL, or a handle such as `@nickname`, which no browser takes for the name of a host. */
export const SocialLink = link(
  lengths.socialLink,
  `^(${httpUrl}|${noneOf(`/:${NOT_IN_LINK}`)}${noneOf(`:${NOT_IN_LINK}`)}*)$`,
  'must be an http or https URL, or a handle that has no ":" and does not start with "/";',
);

/** A whole number from `min` to `max`; a fault names the range. */
export const wholeNumber = (min: number, max: number) => {
  const range = `must be a whole number from ${min} to ${max}`;
  const error = ({ input }: { input?: unknown }) => {
    if (input === undefined) return 'is required';
    return typeof input === 'number' ? range : `${range}, not ${kindOf(input)}`;
  };
  return z.int({ error, abort: true }).min(min, range).max(max, range);
};

/** An identifier, opaque to callers: any text that is not too long is accepted and looked up. */
export const Id = text(1, lengths.id);

/** An instant in UTC with milliseconds: `2026-04-01T09:30:00.000Z`. */
export const Timestamp = z.iso.datetime({ precision: 3 });

export const Count = z.int().min(0);

export const Tag = z
  .object({
    name: z.string().describe('The display name: as first spelled, or as the operator has changed it since'),
    slug: z.string().describe('The normalised name, to filter by (`tagSlugs`)'),
  })
  .meta({ id: 'Tag', description: 'A label of a game or an image post.' });

export const Author = z
  .object({
    id: z.string().describe('The id of the user'),
    nickname: z.string().describe('The display name'),
    avatar: z.string().nullable().describe('URL or path of the avatar'),
  })
  .meta({ id: 'UserSummary', description: 'A user in brief: the author of a record, or a search result.' });

export const ReactionType = z
  .enum(['like', 'dislike'])
  .meta({ id: 'ReactionType', description: 'The kind of a reaction.' });

export const Viewer = z
  .object({
    favorited: z.boolean().describe('Whether it is one of the caller’s favorites'),
    reaction: ReactionType.nullable().describe("The caller's reaction, or null"),
  })
  .meta({ id: 'Viewer', description: 'What the caller has done with a record.' });

/** The members that games and image posts share, in lists and alone. */
export const contentMembers = {
  viewCount: Count.describe('How often it was read with getById; updated about once a second'),
  likeCount: Count.describe('The number of likes'),
  dislikeCount: Count.describe('The number of dislikes'),
  favoriteCount: Count.describe('The number of users who have it as a favorite'),
  viewer: Viewer.nullable().describe('What the caller has done with it; null without an API key'),
  createdAt: Timestamp.describe('When it was published'),
  updatedAt: Timestamp.describe('When it was last changed by its author'),
};

/** The input members that games and image posts share. */
export const contentInput = {
  title: label(lengths.title).describe('The title'),
  description: prose(0, lengths.description).describe('A longer description'),
  tagNames: z
    .array(label(lengths.tagName))
    .max(MAX_TAGS)
    .describe('Names of tags. New tags are created; duplicates merge'),
};

/** The description of an operation that deletes a record. */
export const DELETES =
  'Deletes it with its favorites and reactions, also if an operator has hidden it. Only the author may do this. The feed and webhooks report it, and its id is never used again.';

const pageNumber = wholeNumber(1, MAX_PAGE);

/** The input members that all lists share. */
const listMembers = {
  limit: wholeNumber(1, MAX_PAGE_SIZE).describe('Items per page'),
  page: pageNumber
    .optional()
    .describe(
      `The page number, from 1. page × limit goes up to ${MAX_PAGE_DEPTH}; deeper pages need a \`cursor\`. Required without a \`cursor\`, ignored with one`,
    ),
  cursor: text(1, lengths.cursor)
    .optional()
    .describe('The `nextCursor` of the previous page, sent with the same filters and sort order. Works at any depth'),
  search: text(1, lengths.search)
    .optional()
    .describe(
      'Words that must all occur, each anywhere in the title, in a tag or, for games, in the original name or author. ' +
        'Width, letter case, kana form and invisible characters do not matter. Blank means no filter',
    ),
  tagSlugs: z
    .array(text(1, lengths.tagSlug))
    .max(MAX_FILTER_TAGS)
    .optional()
    .describe('Slugs of tags that a record must all have'),
  authorId: Id.optional().describe('The id of the user who published the records'),
};

const isRecord = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);

/** A list needs a page or a cursor to start at. */
const hasBeginning = z.refine<unknown>(
  (input) => {
    const { page: number, cursor } = input as { page?: number; cursor?: string };
    return number !== undefined || cursor !== undefined;
  },
  {
    path: ['page'],
    error: 'is required without a cursor',
    params: { code: 'invalid_type' },
    // zod reports this fault together with all others.
    when: ({ value }) => isRecord(value),
  },
);
/**
 * The same rule in JSON Schema, which zod does not write. For `anyOf` in an object, generators make a union or nothing.
 */
const hasBeginningInJsonSchema = {
  if: { required: ['cursor'] },
  else: { required: ['page'] },
  'x-required-any-of': ['page', 'cursor'],
};

/** The input of a list: the members that all lists take, and members of its own. */
export const listInput = <S extends z.core.$ZodLooseShape>(members: S) =>
  z
    .strictObject({ ...listMembers, ...members })
    .check(hasBeginning)
    .meta(hasBeginningInJsonSchema);

const TotalRelation = z
  .enum(['eq', 'gte'])
  .meta({ id: 'TotalRelation', description: 'Whether a total is exact (`eq`) or a lower bound (`gte`).' });

/** A page of items, as all lists return it. */
export const page = <T extends z.ZodType>(item: T) =>
  z.object({
    items: z.array(item).describe('The records of this page'),
    page: pageNumber.describe('The page you asked for; 1 if you sent only a cursor'),
    limit: z.int().min(1).max(MAX_PAGE_SIZE).describe('The page size you asked for'),
    total: Count.describe('How many records match; see totalRelation'),
    totalRelation: TotalRelation.describe(
      `\`eq\`: total is exact. \`gte\`: there are at least that many, since counting stops at ${MAX_PAGE_DEPTH}`,
    ),
    hasMore: z.boolean().describe('Whether more records follow'),
    nextCursor: z.string().nullable().describe('Send it as `cursor` to get the records that follow; null at the end'),
  });

/** zod ignores a member of this name, so that its sender would believe that it was stored. */
const refuseProto = (value: unknown, ctx: z.RefinementCtx): unknown => {
  if (typeof value === 'object' && value !== null && Object.hasOwn(value, '__proto__')) {
    ctx.addIssue({
      code: 'custom',
      path: ['__proto__'],
      message: 'is not a usable name: no member may have it',
      params: { code: 'invalid_key' },
    });
  }
  return value;
};

/** An input object whose member names the caller chooses: `max` members at most. */
export const mapOf = <K extends z.ZodString, V extends z.ZodType>(name: K, value: V, max: number) =>
  z
    .preprocess(refuseProto, z.record(name, value))
    .check((ctx) => {
      const count = Object.keys(ctx.value).length;
      if (count > max) {
        ctx.issues.push({
          code: 'custom',
          input: ctx.value,
          message: `must hold at most ${max} members, holds ${count}`,
          params: { code: 'too_big' },
        });
      }
    })
    .meta({ maxProperties: max });
