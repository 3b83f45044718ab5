import { z } from 'zod';
import { Timestamp, wholeNumber } from '../../../contract/common.ts';
import { contract, type Issue, issuesOf } from '../../../contract/index.ts';
import { label } from '../../../contract/text.ts';
import { HIDDEN_REASON_LENGTH } from '../../content/entity.ts';
import type { StoredContent } from '../../content/records.ts';
import type { Publication } from '../../content/write/publish.ts';
import { rowOf } from '../../db/sql/table.ts';
import { countFromDb, idFromBytes, timeFromDb, timeOfId } from '../../db/values.ts';
import { gameColumns, type StoredGame } from '../../game/kind.ts';
import { gameDraft } from '../../game/service.ts';
import { imagesOf, type StoredImagePost } from '../../image/kind.ts';
import { imagePostDraft } from '../../image/service.ts';
import type { UserRow } from '../../user/entity.ts';
import type { NewUser } from '../../user/service.ts';
import type { HideCause } from '../moderation/hidden/snapshot.ts';
import { BadLine, Id, MAX_LISTED, type RecordKind } from './format.ts';

// The lines of users, records and audiences: their schemas, and conversions between rows and lines.

const EARLIEST = '1970-01-01T00:00:00.000Z';
const MAX_VIEWS = 2 ** 32 - 1;

const Instant = Timestamp.refine((time) => time >= EARLIEST, 'must be 1970 or later');

const UserIds = z
  .array(Id)
  .max(MAX_LISTED, `must hold at most ${MAX_LISTED} ids`)
  .refine((ids) => new Set(ids).size === ids.length, 'must not hold an id twice')
  .optional();

const reactionsMembers = { favorites: UserIds, likes: UserIds, dislikes: UserIds };

const hasOneReactionEach = ({ likes = [], dislikes = [] }: { likes?: string[]; dislikes?: string[] }): boolean => {
  if (dislikes.length === 0) return true;
  const liking = new Set(likes);
  return !dislikes.some((id) => liking.has(id));
};
const ONE_EACH = { path: ['dislikes'], error: 'must not hold an id that is among the likes' };

const holdsItsTime = ({ id, createdAt }: { id: string; createdAt: string }): boolean =>
  timeOfId(id) === Date.parse(createdAt);
const OWN_TIME = {
  path: ['id'],
  error: 'must be a UUID of version 7 that holds the time of createdAt, by which lists are sorted and filtered',
};

const recordMembers = {
  id: Id,
  authorId: Id,
  createdAt: Instant,
  updatedAt: Instant,
  /** Whether the API does not show it. */
  isHidden: z.literal(true).optional(),
  /** The time since when it is hidden by itself, and the reason. */
  hiddenAt: Instant.optional(),
  hiddenReason: label(HIDDEN_REASON_LENGTH).optional(),
  viewCount: wholeNumber(0, MAX_VIEWS),
  ...reactionsMembers,
};

const profile = contract.user.updateProfile.body.shape.json.shape;

/** The members of a user's line, in their order: the columns have the same names. */
const userMembers = {
  id: Id,
  ...profile,
  nickname: profile.nickname.unwrap(),
  avatar: contract.user.updateAvatar.body.shape.json.shape.avatar.optional(),
  createdAt: Instant,
  updatedAt: Instant,
  suspendedAt: Instant.optional(),
  hiddenAt: Instant.optional(),
};
const userNames = Object.keys(userMembers) as (keyof typeof userMembers)[];

/** The lines of a file between the first and the last: data from callers, and data that only the service has. */
const lineSchemas = {
  user: z.strictObject({ kind: z.literal('user'), ...userMembers }),
  game: contract.game.create.body.shape.json
    .extend({ kind: z.literal('game'), ...recordMembers })
    .refine(holdsItsTime, OWN_TIME)
    .refine(hasOneReactionEach, ONE_EACH),
  image: contract.image.create.body.shape.json
    .extend({ kind: z.literal('image'), ...recordMembers })
    .refine(holdsItsTime, OWN_TIME)
    .refine(hasOneReactionEach, ONE_EACH),
  audience: z
    .strictObject({ kind: z.literal('audience'), of: z.enum(['game', 'image']), id: Id, ...reactionsMembers })
    .refine(hasOneReactionEach, ONE_EACH),
};

export type LineKind = keyof typeof lineSchemas;
export type LineOf<Kind extends LineKind> = z.output<(typeof lineSchemas)[Kind]>;

/** The users in a line who favorited a record or reacted to it. */
export type Reactions = Pick<LineOf<'audience'>, 'favorites' | 'likes' | 'dislikes'>;

const MOST_TOLD = 3;

const tell = (issues: readonly Issue[]): string => {
  const told = issues.slice(0, MOST_TOLD).map(({ path, message }) => `${path} ${message}`.trim());
  const rest = issues.length - told.length;
  return [...told, ...(rest > 0 ? [`and ${rest} faults more`] : [])].join('; ');
};

/** Parses a value as a line of its kind. @throws BadLine */
export const parseAs = <Kind extends LineKind>(kind: Kind, value: object): LineOf<Kind> => {
  const { data, error } = lineSchemas[kind].safeParse(value);
  // A line has its members at the top level, an input in its envelope.
  if (error)
    throw new BadLine(tell(issuesOf(error.issues.map((issue) => ({ ...issue, path: ['json', ...issue.path] })))));
  return data as LineOf<Kind>;
};

export const isLineKind = (kind: unknown): kind is LineKind =>
  typeof kind === 'string' && Object.hasOwn(lineSchemas, kind);

/** A stored record without its author. */
export interface ExportedRecord extends StoredContent {
  /** Set for a hidden record; the other two as well if it is hidden by itself. */
  isHidden?: true;
  hiddenAt?: Date | null;
  reason?: string | null;
}

// Rows as lines, with members in a fixed order. `JSON.stringify` leaves undefined members out.

export const userLine = (row: UserRow): LineOf<'user'> => {
  const members = userNames.map((name) => {
    const value = row[name];
    return [name, value instanceof Date ? value.toISOString() : (value ?? undefined)];
  });
  return { kind: 'user', ...(Object.fromEntries(members) as Omit<LineOf<'user'>, 'kind'>) };
};

export const orNone = <T>(list: readonly T[] | undefined): T[] | undefined =>
  list === undefined || list.length === 0 ? undefined : [...list];

/** The members of every record, which follow those of its kind. */
const recordEnd = (row: ExportedRecord, tagNames: string[], { favorites, likes, dislikes }: Reactions) => ({
  tagNames,
  isHidden: row.isHidden,
  hiddenAt: row.hiddenAt?.toISOString(),
  hiddenReason: row.reason ?? undefined,
  viewCount: countFromDb(row.viewCount),
  createdAt: timeFromDb(row.createdAt),
  updatedAt: timeFromDb(row.updatedAt),
  favorites: orNone(favorites),
  likes: orNone(likes),
  dislikes: orNone(dislikes),
});

const withoutNulls = <Row extends object>(row: Row) =>
  Object.fromEntries(Object.entries(row).map(([member, value]) => [member, value ?? undefined])) as {
    [Member in keyof Row]: NonNullable<Row[Member]> | (null extends Row[Member] ? undefined : never);
  };

export const gameLine = (row: StoredGame & ExportedRecord, tagNames: string[], audience: Reactions): LineOf<'game'> => {
  const { extraInfo, originalAuthor, ...own } = rowOf({ ...gameColumns.detail, ...gameColumns.summary }, row);
  const { originalName, fileSize, platforms, screenshots, downloads } = extraInfo;
  return {
    kind: 'game',
    id: idFromBytes(row.id),
    authorId: idFromBytes(row.authorId),
    title: row.title,
    ...withoutNulls(own),
    extraInfo: {
      originalName,
      originalAuthor: originalAuthor ?? undefined,
      fileSize,
      platforms,
      screenshots,
      downloads: downloads?.map(({ name, url, password }) => ({ name, url, password })),
    },
    ...recordEnd(row, tagNames, audience),
  };
};

export const imageLine = (
  row: StoredImagePost & ExportedRecord,
  tagNames: string[],
  audience: Reactions,
): LineOf<'image'> => ({
  kind: 'image',
  id: idFromBytes(row.id),
  authorId: idFromBytes(row.authorId),
  title: row.title,
  images: imagesOf(row),
  description: row.description ?? undefined,
  ...recordEnd(row, tagNames, audience),
});

// Conversion of lines to rows.

/** A record to publish, with its favorites and reactions. */
export type ImportedRecord = Publication & Reactions & { isHidden: boolean; cause?: HideCause | undefined };

const userOf = (line: LineOf<'user'>): NewUser => {
  const columns = userNames.map((name) => {
    const value = line[name] ?? null;
    return [name, name.endsWith('At') && typeof value === 'string' ? new Date(value) : value];
  });
  return { ...(Object.fromEntries(columns) as UserRow), socialLinks: line.socialLinks ?? {} };
};

const recordOf = (line: LineOf<RecordKind>, draft: Publication['draft']): ImportedRecord => {
  const { id, authorId, favorites, likes, dislikes, hiddenReason, hiddenAt, updatedAt } = line;
  return {
    id,
    authorId,
    favorites,
    likes,
    dislikes,
    isHidden: line.isHidden === true,
    cause: hiddenReason === undefined ? undefined : { reason: hiddenReason, at: new Date(hiddenAt ?? updatedAt) },
    createdAt: new Date(line.createdAt),
    updatedAt: new Date(updatedAt),
    draft,
    counts: {
      viewCount: line.viewCount,
      favoriteCount: favorites?.length ?? 0,
      likeCount: likes?.length ?? 0,
      dislikeCount: dislikes?.length ?? 0,
    },
  };
};

/** The lines of a batch in the form to store, by their kinds. All records are of one kind. */
export interface Checked {
  users: NewUser[];
  games: ImportedRecord[];
  images: ImportedRecord[];
  audiences: LineOf<'audience'>[];
}

const addTo = <T extends object>(list: T[], item: T): T => {
  list.push(item);
  return item;
};

/** Prepares a line for storing, as far as that needs no database. @throws BadLine */
export const addReady = (checked: Checked, kind: LineKind, value: object): object => {
  if (kind === 'user') return addTo(checked.users, userOf(parseAs(kind, value)));
  if (kind === 'audience') return addTo(checked.audiences, parseAs(kind, value));
  if (kind === 'image') {
    const line = parseAs(kind, value);
    return addTo(checked.images, recordOf(line, imagePostDraft(line)));
  }
  const line = parseAs(kind, value);
  return addTo(checked.games, recordOf(line, gameDraft(line)));
};

/** The users that a line names. */
export const namedUsers = (line: Reactions & { authorId?: string }): string[] => [
  ...(line.authorId === undefined ? [] : [line.authorId]),
  ...(line.favorites ?? []),
  ...(line.likes ?? []),
  ...(line.dislikes ?? []),
];
