import { z } from 'zod';
import {
  Author,
  contentInput,
  contentMembers,
  Count,
  DELETES,
  DownloadUrl,
  HttpUrl,
  Id,
  listInput,
  page,
  ReactionType,
  Tag,
  wholeNumber,
} from './common.ts';
import {
  exampleGame,
  exampleGameInput,
  exampleGameSummary,
  plainGame,
  plainGameInput,
  singlePage,
  untouchedViewer,
} from './examples.ts';
import {
  DEFAULT_RELATED,
  lengths,
  MAX_BATCH_RECORDS,
  MAX_COUNTED_TYPES,
  MAX_DOWNLOADS,
  MAX_PLATFORMS,
  MAX_RELATED,
  MAX_SCREENSHOTS,
  timeRangeDays,
} from './limits.ts';
import { noInput, procedure, router } from './procedure.ts';
import { form, label, labelOrNone, line, text, words } from './text.ts';

const GameType = text(1, lengths.gameType, words).describe(
  'The type, such as ADV, SLG, RPG or ACT. Any type is accepted; ASCII letters are stored in upper case',
);

const Download = z.strictObject({
  name: label(lengths.downloadName).describe('The name of the link'),
  url: DownloadUrl.describe('http, https or magnet URL'),
  password: line(0, lengths.password).optional().describe('Password of the archive'),
});

const extraInfoMembers = {
  originalName: labelOrNone(lengths.originalName).describe('Name of the original work'),
  originalAuthor: labelOrNone(lengths.originalAuthor).describe('Author of the original work'),
  fileSize: text(
    1,
    lengths.fileSize,
    form('^[0-9]+(\\.[0-9]+)? ?(B|KB|MB|GB|TB)$', 'must be a number with a unit: B, KB, MB, GB or TB'),
  ).describe('Size with unit, for example 1.5GB'),
  platforms: z.array(label(lengths.platform)).max(MAX_PLATFORMS).describe('Platforms, for example Windows or Android'),
  screenshots: z.array(HttpUrl).max(MAX_SCREENSHOTS).describe('URLs of screenshots'),
  downloads: z
    .array(Download.meta({ id: 'DownloadInput', description: 'A download link.' }))
    .max(MAX_DOWNLOADS)
    .describe('Download links'),
};

const ExtraInfoInput = z.strictObject(extraInfoMembers).partial().meta({
  id: 'ExtraInfoInput',
  description: 'More about a game: where it comes from, its size, platforms and downloads.',
});

const ExtraInfoChange = z
  .strictObject({
    ...extraInfoMembers,
    originalName: extraInfoMembers.originalName.nullable(),
    originalAuthor: extraInfoMembers.originalAuthor.nullable(),
    fileSize: extraInfoMembers.fileSize.nullable(),
  })
  .partial()
  .meta({ id: 'ExtraInfoUpdateInput', description: 'The members of `extraInfo` to change; `null` clears.' });

const gameMembers = {
  title: contentInput.title,
  description: contentInput.description,
  coverUrl: HttpUrl.describe('URL of the cover image'),
  gameType: GameType,
  isFree: z.boolean().describe('Whether the game is free'),
  version: text(
    1,
    lengths.version,
    form('^Ver[0-9]+(\\.[0-9]+)*$', 'must be "Ver" and a number, for example Ver1.2'),
  ).describe('Version label, for example Ver1.2'),
  tagNames: contentInput.tagNames,
};

const GameInput = z
  .strictObject({ ...gameMembers, extraInfo: ExtraInfoInput })
  .partial()
  .extend({ title: gameMembers.title, isFree: gameMembers.isFree.default(true) })
  .meta({ id: 'GameInput', description: 'A game to publish.' });

const summaryMembers = {
  id: z.string().describe('The id; treat it as opaque'),
  title: z.string().describe('The title'),
  coverUrl: z.string().nullable().describe('URL of the cover image'),
  gameType: z.string().nullable().describe('The type, such as RPG'),
  isFree: z.boolean().describe('Whether the game is free'),
  version: z.string().nullable().describe('Version label'),
  tags: z.array(Tag).describe('Its tags'),
  author: Author.describe('The user who published it'),
  ...contentMembers,
};

export const GameSummary = z
  .object(summaryMembers)
  .meta({ id: 'GameSummary', description: 'A game as it appears in lists.' });

const ExtraInfo = z
  .object({
    originalName: z.string().nullable().describe('Name of the original work'),
    originalAuthor: z.string().nullable().describe('Author of the original work'),
    fileSize: z.string().nullable().describe('Size with unit'),
    platforms: z.array(z.string()).describe('Platforms'),
    screenshots: z.array(z.string()).describe('URLs of screenshots'),
    downloads: z
      .array(
        z
          .object({
            name: z.string().describe('The name of the link'),
            url: z.string().describe('http, https or magnet URL'),
            password: z.string().nullable().describe('Password of the archive'),
          })
          .meta({ id: 'Download', description: 'A download link.' }),
      )
      .describe('Download links'),
  })
  .meta({ id: 'ExtraInfo', description: 'More about a game: where it comes from, its size, platforms and downloads.' });

const Game = z
  .object({
    ...summaryMembers,
    description: z.string().nullable().describe('A longer description'),
    extraInfo: ExtraInfo,
  })
  .meta({ id: 'Game', description: 'A game in full.' });

const GameSort = z.enum(['latest', 'oldest', 'views', 'likes', 'favorites']).meta({
  id: 'GameSort',
  description: 'The sort order of games: newest, oldest, most viewed, most liked or most favorited first.',
});

const { day, week, month, year } = timeRangeDays;
/** `24 hours, 7, 30 or 365 days` */
const spans = `${day * 24} hours, ${week}, ${month} or ${year} days`;

const TimeRange = z
  .enum(['day', 'week', 'month', 'year', 'all'])
  .meta({ id: 'TimeRange', description: `A time span that ends now: the last ${spans}, or all time.` });

const gameId = Id.describe('The id of the game');

export const game = router('game', {
  list: procedure({
    summary: 'List games',
    description:
      'Lists, filters and searches games, by page or by cursor. Filters combine with AND. A walk by cursor neither misses nor repeats a record that exists throughout. If you sort by a counter, records whose counter changes during the walk may move.',
    access: 'public',
    effect: 'read',
    input: listInput({
      gameType: GameType.optional(),
      sortBy: GameSort.default('latest').describe(
        'Newest, oldest, most viewed, most liked or most favorited first. Ties are broken by date, then by id',
      ),
      timeRange: TimeRange.default('all').describe(`Only games published in the last ${spans}`),
    }),
    output: page(GameSummary),
    searchMember: 'search',
    laws: ['pages', 'viewer', 'filters'],
    errors: ['PAGE_TOO_DEEP', 'CURSOR_INVALID'],
    example: {
      input: { limit: 20, page: 1, search: '伝説', gameType: 'RPG', tagSlugs: ['dragons'], sortBy: 'latest' },
      output: singlePage(exampleGameSummary),
    },
  }),

  getById: procedure({
    summary: 'Read one game',
    description: 'Reads a game with its description and download links, and counts one view.',
    access: 'public',
    effect: 'read',
    input: z.strictObject({ id: gameId }),
    output: Game,
    laws: ['agrees', 'viewer', 'views'],
    errors: ['GAME_NOT_FOUND'],
    example: { input: { id: exampleGame.id }, output: exampleGame },
  }),

  create: procedure({
    summary: 'Publish a game',
    description: 'Publishes one game as the user of the API key.',
    access: 'content:write',
    effect: 'write',
    input: GameInput,
    output: Game,
    laws: ['publishes'],
    errors: ['QUOTA_EXCEEDED', 'IDEMPOTENCY_GONE'],
    example: { input: exampleGameInput, output: { ...exampleGame, viewer: untouchedViewer } },
  }),

  batchCreate: procedure({
    summary: `Publish up to ${MAX_BATCH_RECORDS} games`,
    description:
      'Publishes all the games, or none if any of them is invalid; the error then lists every fault of every item.',
    access: 'content:write',
    effect: 'write',
    input: z.strictObject({
      games: z.array(GameInput).min(1).max(MAX_BATCH_RECORDS).describe(`The games, 1 to ${MAX_BATCH_RECORDS}`),
    }),
    output: z.object({
      items: z.array(Game).meta({ description: 'The games, in the order of the input', 'x-order': 'input' }),
    }),
    laws: ['publishesAll'],
    errors: ['QUOTA_EXCEEDED', 'IDEMPOTENCY_GONE'],
    recordsMember: 'games',
    example: {
      input: { games: [exampleGameInput, plainGameInput] },
      output: {
        items: [
          { ...exampleGame, viewer: untouchedViewer },
          { ...plainGame, viewer: untouchedViewer },
        ],
      },
    },
  }),

  update: procedure({
    summary: 'Change a game',
    description:
      'Changes the members that you send. Only the author may do this. `tagNames`, and each member of `extraInfo` that you send, replace the old ones; `null` clears a member.',
    access: 'content:write',
    effect: 'write',
    input: z
      .strictObject({
        ...gameMembers,
        description: gameMembers.description.nullable(),
        coverUrl: gameMembers.coverUrl.nullable(),
        gameType: gameMembers.gameType.nullable(),
        version: gameMembers.version.nullable(),
        extraInfo: ExtraInfoChange,
      })
      .partial()
      .extend({ id: gameId }),
    output: Game,
    laws: ['updates'],
    errors: ['GAME_NOT_FOUND', 'NOT_OWNER', 'QUOTA_EXCEEDED'],
    example: {
      input: { id: exampleGame.id, version: 'Ver1.3', extraInfo: { fileSize: '1.6GB' } },
      output: {
        ...exampleGame,
        version: 'Ver1.3',
        extraInfo: { ...exampleGame.extraInfo, fileSize: '1.6GB' },
        viewer: untouchedViewer,
      },
    },
  }),

  toggleFavorite: procedure({
    summary: 'Add or remove a favorite',
    description:
      'Adds the game to the caller’s favorites, or removes it if it is there already. Returns the new state.',
    access: 'content:write',
    effect: 'write',
    input: z.strictObject({ gameId }),
    output: z.object({
      gameId: z.string().describe('The id of the game'),
      favorited: z.boolean().describe('Whether it is a favorite now'),
      favoriteCount: Count.describe('The number of users who have it as a favorite'),
    }),
    laws: ['toggles'],
    errors: ['GAME_NOT_FOUND'],
    example: {
      input: { gameId: exampleGame.id },
      output: { gameId: exampleGame.id, favorited: true, favoriteCount: 1 },
    },
  }),

  toggleReaction: procedure({
    summary: 'Like or dislike a game',
    description:
      'Sets the caller’s reaction. Sending the same reaction again removes it; sending the other one switches to it. Returns the new state.',
    access: 'content:write',
    effect: 'write',
    input: z.strictObject({ gameId, type: ReactionType }),
    output: z.object({
      gameId: z.string().describe('The id of the game'),
      reaction: ReactionType.nullable().describe("The caller's reaction now, or null"),
      likeCount: Count.describe('The number of likes'),
      dislikeCount: Count.describe('The number of dislikes'),
    }),
    laws: ['toggles'],
    errors: ['GAME_NOT_FOUND'],
    example: {
      input: { gameId: exampleGame.id, type: 'like' },
      output: { gameId: exampleGame.id, reaction: 'like', likeCount: 1, dislikeCount: 0 },
    },
  }),

  getTypeStats: procedure({
    summary: 'Count the games of each type',
    description: `Counts the games of each type, most common first. Games without a type are counted under \`null\`. At most ${MAX_COUNTED_TYPES} types are listed; the games of all others are added up in \`otherCount\`.`,
    access: 'public',
    effect: 'read',
    input: noInput(),
    output: z.object({
      items: z
        .array(
          z
            .object({
              gameType: z.string().nullable().describe('The type, or null for games without one'),
              count: Count.describe('The number of games'),
            })
            .meta({ id: 'GameTypeCount', description: 'The number of games of one type.' }),
        )
        .describe(`The types, at most ${MAX_COUNTED_TYPES}`),
      otherCount: Count.describe('The number of games of all other types'),
      total: Count.describe('The number of all games'),
    }),
    laws: ['counts'],
    errors: [],
    example: {
      input: {},
      output: {
        items: [
          { gameType: 'RPG', count: 2 },
          { gameType: 'ADV', count: 1 },
        ],
        otherCount: 0,
        total: 3,
      },
    },
  }),

  getRelated: procedure({
    summary: 'List related games',
    description:
      'Lists games that share tags with this one. Rare shared tags count more than common ones; the same type and the same original author count too. If there are too few, games of the same type follow, then the latest games.',
    access: 'public',
    effect: 'read',
    cost: 'high',
    input: z.strictObject({
      gameId,
      limit: wholeNumber(1, MAX_RELATED).default(DEFAULT_RELATED).describe('The number of games'),
    }),
    output: z.object({ items: z.array(GameSummary).describe('The related games, the closest first') }),
    laws: ['relates'],
    errors: ['GAME_NOT_FOUND'],
    example: { input: { gameId: plainGame.id, limit: DEFAULT_RELATED }, output: { items: [exampleGameSummary] } },
  }),

  delete: procedure({
    summary: 'Delete a game',
    description: DELETES,
    access: 'content:write',
    effect: 'write',
    input: z.strictObject({ id: gameId }),
    output: z.object({ id: z.string().describe('The id of the deleted game') }),
    laws: ['deletes'],
    errors: ['GAME_NOT_FOUND', 'NOT_OWNER'],
    example: { input: { id: exampleGame.id }, output: { id: exampleGame.id } },
  }),
});
