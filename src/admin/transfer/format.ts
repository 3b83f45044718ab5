import { z } from 'zod';
import { Timestamp, wholeNumber } from '../../../contract/common.ts';
import { contract, type Issue, issuesOf } from '../../../contract/index.ts';
import { label } from '../../../contract/text.ts';
import { HIDDEN_REASON_LENGTH } from '../../content/entity.ts';
import { idToBytes, timeOfId } from '../../db/values.ts';

/** The first line names the format and its version. A version that older programs cannot read gets another number. */
export const FORMAT = 'content-gateway-export';
export const VERSION = 1;

/** The parts of an export, in the order of a file: records come after the users they name. */
export const parts = ['users', 'games', 'images'] as const;
export type Part = (typeof parts)[number];

/** The `kind` of the lines of a part. */
export const kindOfPart = { users: 'user', games: 'game', images: 'image' } as const;
export type RecordKind = 'game' | 'image';

/** How many favorites, and how many likes and dislikes, a line holds at most; those of a record that has more follow it. */
export const MAX_LISTED = 1000;

/** The first line of a file. */
export interface Header {
  format: typeof FORMAT;
  version: typeof VERSION;
  parts: readonly Part[];
  /** Only what was made or changed since then, by its author: ISO 8601. */
  since: string | null;
  /** The newest user when the export began: later ones are left out, with all they did. Null without users. */
  lastUser: string | null;
}

/** The last line of a complete file. */
export const END = { kind: 'end' } as const;

const EARLIEST = '1970-01-01T00:00:00.000Z';
const MAX_VIEWS = 2 ** 32 - 1;

const Id = z.string().refine((id) => idToBytes(id) !== undefined, 'must be a UUID in lower case');
const Instant = Timestamp.refine((time) => time >= EARLIEST, 'must be 1970 or later');

export const HeaderLine = z.strictObject({
  format: z.literal(FORMAT),
  version: z.literal(VERSION),
  parts: z.array(z.enum(parts)).min(1),
  since: z.iso.datetime({ offset: true }).nullable(),
  lastUser: Id.nullable(),
});

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
  /** Since when it is hidden by itself, and why. */
  hiddenAt: Instant.optional(),
  hiddenReason: label(HIDDEN_REASON_LENGTH).optional(),
  viewCount: wholeNumber(0, MAX_VIEWS),
  ...reactionsMembers,
};

const profile = contract.user.updateProfile.body.shape.json.shape;

/** The lines of a file but the first and the last: what callers may store, and what only the service knows of it. */
const lineSchemas = {
  user: z.strictObject({
    kind: z.literal('user'),
    id: Id,
    ...profile,
    nickname: profile.nickname.unwrap(),
    avatar: contract.user.updateAvatar.body.shape.json.shape.avatar.optional(),
    createdAt: Instant,
    updatedAt: Instant,
    suspendedAt: Instant.optional(),
    hiddenAt: Instant.optional(),
  }),
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

/** The users who favorited a record or reacted to it, of whom a line tells. */
export type Reactions = Pick<LineOf<'audience'>, 'favorites' | 'likes' | 'dislikes'>;

const MOST_TOLD = 3;

const tell = (issues: readonly Issue[]): string => {
  const told = issues.slice(0, MOST_TOLD).map(({ path, message }) => `${path} ${message}`.trim());
  const rest = issues.length - told.length;
  return [...told, ...(rest > 0 ? [`and ${rest} faults more`] : [])].join('; ');
};

/** A value as a line of its kind. @throws BadLine */
export const parseAs = <Kind extends LineKind>(kind: Kind, value: object): LineOf<Kind> => {
  const { data, error } = lineSchemas[kind].safeParse(value);
  // The members of a line stand where those of an input do in its envelope.
  if (error)
    throw new BadLine(tell(issuesOf(error.issues.map((issue) => ({ ...issue, path: ['json', ...issue.path] })))));
  return data as LineOf<Kind>;
};

export const isLineKind = (kind: unknown): kind is LineKind =>
  typeof kind === 'string' && Object.hasOwn(lineSchemas, kind);

/** A line that cannot be imported: the message says why. */
export class BadLine extends Error {}

/** A file that cannot be written or read on: the message says why, and what to do about it. */
export class TransferError extends Error {}
