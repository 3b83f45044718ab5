import { z } from 'zod';
import {
  Author,
  contentInput,
  contentMembers,
  Count,
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
import { form, line, text, words } from './text.ts';

const GameType = text(1, lengths.gameType, words).describe(
  'The type, such as ADV, SLG, RPG or ACT; an open list. ASCII letters are upper-cased',
);

const Download = z.strictObject({
  name: line(1, lengths.downloadName).describe('What the link is called'),
  url: DownloadUrl.describe('http, https or magnet URL'),
  password: line(0, lengths.password).optional().describe('Password of the archive'),
});

const ExtraInfoInput = z
  .strictObject({
    originalName: line(0, lengths.originalName).optional().describe('Name of the original work'),
    originalAuthor: line(0, lengths.originalAuthor).optional().describe('Author of the original work'),
    fileSize: text(
      1,
      lengths.fileSize,
      form('^[0-9]+(\\.[0-9]+)? ?(B|KB|MB|GB|TB)$', 'must be a number with a unit: B, KB, MB, GB or TB'),
    )
      .optional()
      .describe('Size with unit, for example 1.5GB'),
    platforms: z
      .array(line(1, lengths.platform))
      .max(MAX_PLATFORMS)
      .optional()
      .describe('Platforms, for example Windows or Android'),
    screenshots: z.array(HttpUrl).max(MAX_SCREENSHOTS).optional().describe('URLs of screenshots'),
    downloads: z
      .array(Download.meta({ id: 'DownloadInput', description: 'A download link.' }))
      .max(MAX_DOWNLOADS)
      .optional()
      .describe('Download links'),
  })
  .meta({ id: 'ExtraInfoInput', description: 'What else is known of a game.' });

const GameInput = z
  .strictObject({
    title: contentInput.title,
    description: contentInput.description.optional(),
    coverUrl: HttpUrl.optional().describe('URL of the cover image'),
    gameType: GameType.optional(),
    isFree: z.boolean().default(true).describe('Whether it costs nothing'),
    version: text(1, lengths.version, form('^Ver[0-9]+(\\.[0-9]+)*$', 'must be "Ver" and a number, for example Ver1.2'))
      .optional()
      .describe('Version label, for example Ver1.2'),
    tagNames: contentInput.tagNames.optional(),
    extraInfo: ExtraInfoInput.optional(),
  })
  .meta({ id: 'GameInput', description: 'A game to publish.' });

const summaryMembers = {
  id: z.string().describe('The id, opaque'),
  title: z.string().describe('The title'),
  coverUrl: z.string().nullable().describe('URL of the cover image'),
  gameType: z.string().nullable().describe('The type, such as RPG'),
  isFree: z.boolean().describe('Whether it costs nothing'),
  version: z.string().nullable().describe('Version label'),
  tags: z.array(Tag).describe('Its tags'),
  author: Author.describe('Who published it'),
  ...contentMembers,
};

const GameSummary = z.object(summaryMembers).meta({ id: 'GameSummary', description: 'A game as lists show it.' });

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
            name: z.string().describe('What the link is called'),
            url: z.string().describe('http, https or magnet URL'),
            password: z.string().nullable().describe('Password of the archive'),
          })
          .meta({ id: 'Download', description: 'A download link.' }),
      )
      .describe('Download links'),
  })
  .meta({ id: 'ExtraInfo', description: 'What else is known of a game.' });

const Game = z
  .object({
    ...summaryMembers,
    description: z.string().nullable().describe('A longer text about it'),
    extraInfo: ExtraInfo,
  })
  .meta({ id: 'Game', description: 'A game with all that is known of it.' });

const GameSort = z.enum(['latest', 'oldest', 'views', 'likes', 'favorites']).meta({
  id: 'GameSort',
  description: 'The order of games: newest or oldest first, or most viewed, liked or favorited first.',
});

const { day, week, month, year } = timeRangeDays;
/** `24 hours, 7, 30 or 365 days` */
const spans = `${day * 24} hours, ${week}, ${month} or ${year} days`;

const TimeRange = z
  .enum(['day', 'week', 'month', 'year', 'all'])
  .meta({ id: 'TimeRange', description: `A span that ends now: ${spans}; or all time.` });

const gameId = Id.describe('The id of the game');

export const game = router('game', {
  list: procedure({
    summary: 'List games',
    description:
      'Lists, filters and searches games, page by page or by cursor. Filters combine with AND. In a walk by cursor no record that was there throughout is missed or seen twice; sorted by a counter, records whose counter changes meanwhile may move.',
    access: 'public',
    effect: 'read',
    input: z.strictObject({
      ...listInput,
      gameType: GameType.optional(),
      sortBy: GameSort.default('latest').describe(
        'Newest or oldest first, or most viewed, liked or favorited first; ties by date, then id',
      ),
      timeRange: TimeRange.default('all').describe(`Only games published in the last ${spans}`),
    }),
    output: page(GameSummary),
    searchMember: 'search',
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
    errors: ['GAME_NOT_FOUND'],
    example: { input: { id: exampleGame.id }, output: exampleGame },
  }),

  create: procedure({
    summary: 'Publish a game',
    description: 'Publishes one game in the name of the key’s user.',
    access: 'content:write',
    effect: 'write',
    input: GameInput,
    output: Game,
    errors: [],
    example: { input: exampleGameInput, output: { ...exampleGame, viewer: untouchedViewer } },
  }),

  batchCreate: procedure({
    summary: `Publish up to ${MAX_BATCH_RECORDS} games`,
    description: 'Publishes all games or, if any is faulty, none; the reply then lists every fault of every item.',
    access: 'content:write',
    effect: 'write',
    input: z.strictObject({
      games: z.array(GameInput).min(1).max(MAX_BATCH_RECORDS).describe(`The games, 1 to ${MAX_BATCH_RECORDS}`),
    }),
    output: z.object({ items: z.array(Game).describe('The games, in the order of the input') }),
    errors: [],
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

  toggleFavorite: procedure({
    summary: 'Add or remove a favorite',
    description: 'Makes the game a favorite of the caller or, if it is one, takes that back. Returns the new state.',
    access: 'content:write',
    effect: 'write',
    input: z.strictObject({ gameId }),
    output: z.object({
      gameId: z.string().describe('The id of the game'),
      favorited: z.boolean().describe('Whether it is a favorite now'),
      favoriteCount: Count.describe('The number of users who hold it as a favorite'),
    }),
    errors: ['GAME_NOT_FOUND'],
    example: {
      input: { gameId: exampleGame.id },
      output: { gameId: exampleGame.id, favorited: true, favoriteCount: 1 },
    },
  }),

  toggleReaction: procedure({
    summary: 'Like or dislike a game',
    description:
      'Sets the caller’s reaction. The same reaction again removes it, the other one switches it. Returns the new state.',
    access: 'content:write',
    effect: 'write',
    input: z.strictObject({ gameId, type: ReactionType }),
    output: z.object({
      gameId: z.string().describe('The id of the game'),
      reaction: ReactionType.nullable().describe("The caller's reaction now, or null"),
      likeCount: Count.describe('The number of likes'),
      dislikeCount: Count.describe('The number of dislikes'),
    }),
    errors: ['GAME_NOT_FOUND'],
    example: {
      input: { gameId: exampleGame.id, type: 'like' },
      output: { gameId: exampleGame.id, reaction: 'like', likeCount: 1, dislikeCount: 0 },
    },
  }),

  getTypeStats: procedure({
    summary: 'Count the games of each type',
    description: `Counts the games of each type, most frequent first. Games without a type count under null. Beyond ${MAX_COUNTED_TYPES} types, the games of all others are counted together.`,
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
            .meta({ id: 'GameTypeCount', description: 'How many games there are of a type.' }),
        )
        .describe(`The types, at most ${MAX_COUNTED_TYPES}`),
      otherCount: Count.describe('The number of games of all types that are not among these'),
      total: Count.describe('The number of all games'),
    }),
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
      'Lists games that share tags with this one, the rarer the shared tags the higher, with credit for the same type and the same original author. Filled up from the same type, then from the latest games.',
    access: 'public',
    effect: 'read',
    input: z.strictObject({
      gameId,
      limit: wholeNumber(1, MAX_RELATED).default(DEFAULT_RELATED).describe('The number of games'),
    }),
    output: z.object({ items: z.array(GameSummary).describe('The related games, closest first') }),
    errors: ['GAME_NOT_FOUND'],
    example: { input: { gameId: plainGame.id, limit: DEFAULT_RELATED }, output: { items: [exampleGameSummary] } },
  }),
});
