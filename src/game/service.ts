import { type Contract, type InputOf, MAX_COUNTED_TYPES, type OutputOf, timeRangeDays } from '../../contract/index.ts';
import type { ListPage } from '../content/read/list/list.ts';
import type { Draft } from '../content/write/publish.ts';
import { type ContentRecord, withTags } from '../content/records.ts';
import { type ContentContext, updateRecord } from '../content/service.ts';
import type { Call } from '../auth/procedure.ts';
import type { Caller } from '../auth/verifier.ts';
import { readCounters } from '../content/write/counters.ts';
import type { Reader } from '../db/connection.ts';
import { readRelated } from './related.ts';
import {
  type GameRow,
  gamesIn,
  type StoredExtraInfo,
  type StoredGame,
  type StoredGameSummary,
  typeCounter,
  TYPES,
} from './kind.ts';
import { gameView } from './view.ts';

/** The dependencies of the router `game`. */
export type GameContext = ContentContext<StoredGameSummary, StoredGame>;

type GameInput = InputOf<Contract['game']['create']>;
type GameUpdate = InputOf<Contract['game']['update']>;
type GameListInput = InputOf<Contract['game']['list']>;

const DAY_MS = 86_400_000;

/** Counts an author's games of each type. */
export const countGamesByType = (reader: Pick<Reader, 'manager'>, authorId: string) =>
  gamesIn(reader)
    .createQueryBuilder('g')
    .select('g.gameType', 'type')
    .addSelect('COUNT(*)', 'n')
    .where({ authorId })
    .groupBy('g.gameType')
    .getRawMany<{ type: string | null; n: number }>();

/** Game types are compared and stored with their ASCII letters in upper case. */
const upperCaseType = (gameType: string): string => gameType.replaceAll(/[a-z]/g, (letter) => letter.toUpperCase());

/** `extraInfo` after a change: null clears a member, and a missing list is the same as an empty one. */
const changedInfo = (stored: StoredExtraInfo, change: object): StoredExtraInfo => {
  const isStored = ([name, value]: [string, unknown]): boolean =>
    value !== null && (name in stored || !Array.isArray(value) || value.length > 0);
  return Object.fromEntries(Object.entries({ ...stored, ...change }).filter(isStored));
};

export const gameDraft = (input: GameInput): Draft<StoredGame> => {
  const { originalAuthor, ...extraInfo } = input.extraInfo ?? {};
  const gameType = input.gameType === undefined ? null : upperCaseType(input.gameType);
  return {
    title: input.title,
    tagNames: input.tagNames ?? [],
    searchable: [extraInfo.originalName, originalAuthor],
    type: gameType,
    own: {
      description: input.description ?? null,
      coverUrl: input.coverUrl ?? null,
      gameType,
      isFree: Number(input.isFree),
      version: input.version ?? null,
      originalAuthor: originalAuthor ?? null,
      extraInfo: JSON.stringify(extraInfo satisfies StoredExtraInfo),
    },
  };
};

/** Changes the given members of a game. @throws AppError GAME_NOT_FOUND, NOT_OWNER, QUOTA_EXCEEDED */
export const updateGame = (
  c: GameContext,
  { id, tagNames, extraInfo: { originalAuthor, ...extraInfo } = {}, ...members }: GameUpdate,
  call: Call<Caller>,
): Promise<OutputOf<Contract['game']['update']>> =>
  updateRecord(
    c,
    {
      id,
      tagNames,
      columnsOf: (row: GameRow) => ({
        ...members,
        gameType: members.gameType && upperCaseType(members.gameType),
        originalAuthor,
        extraInfo: changedInfo(row.extraInfo, extraInfo),
      }),
      searchableOf: (row) => [row.extraInfo.originalName, row.originalAuthor],
    },
    call,
    gameView,
  );

/** One page of games. @throws AppError PAGE_TOO_DEEP, CURSOR_INVALID */
export const listGames = (
  { reads, now }: GameContext,
  input: GameListInput,
  call: Call,
): Promise<ListPage<ContentRecord<StoredGameSummary>>> => {
  const { timeRange } = input;
  const type = input.gameType && upperCaseType(input.gameType);
  const filters = {
    type: type === undefined ? undefined : { value: type, counter: typeCounter(type) },
    since: timeRange === 'all' ? undefined : () => new Date(now().getTime() - timeRangeDays[timeRange] * DAY_MS),
  };
  return reads.list(Object.assign(filters, input), call);
};

/** The number of games of each of the most frequent types, and of all omitted types together. */
export const countTypes = async (
  { db }: GameContext,
  { caller, deadline }: Call,
): Promise<OutputOf<Contract['game']['getTypeStats']>> => {
  const reader = (caller ? db : db.anonymous).within(deadline);
  const { highest, total } = await readCounters(reader, TYPES, MAX_COUNTED_TYPES);
  const items = highest.map(({ name, n }) => ({ gameType: name.slice(TYPES.length) || null, count: n }));
  return { items, otherCount: items.reduce((rest, { count }) => rest - count, total), total };
};

/** Games related to one, closest first. @throws AppError GAME_NOT_FOUND */
export const relatedGames = async (
  { db, tags }: GameContext,
  gameId: string,
  limit: number,
  { caller, deadline }: Call,
): Promise<ContentRecord<StoredGameSummary>[]> => {
  const reader = (caller ? db : db.anonymous).within(deadline);
  return withTags(reader, tags, await readRelated(reader, gameId, limit, caller?.userId));
};
