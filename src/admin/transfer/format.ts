import { z } from 'zod';
import { gameKind } from '../../game/kind.ts';
import { imageKind } from '../../image/kind.ts';
import { idToBytes } from '../../db/values.ts';

/** The first line names the format and its version. A version that older programs cannot read gets another number. */
export const FORMAT = 'content-gateway-export';
export const VERSION = 1;

/** The parts of an export, in the order of a file: records come after the users they name. */
export const parts = ['users', 'games', 'images'] as const;
export type Part = (typeof parts)[number];

/** The `kind` of the lines of a part. */
export const kindOfPart = { users: 'user', games: 'game', images: 'image' } as const;
export type RecordKind = 'game' | 'image';
export const contentKinds = { game: gameKind, image: imageKind } as const;

/** The table of a kind of line, whose rows its ids are. */
export const tableOf = { user: 'users', game: gameKind.table, image: imageKind.table } as const;

/** How many favorites, and how many likes and dislikes, a line holds at most; those of a record that has more follow it. */
export const MAX_LISTED = 1000;

export const Id = z.string().refine((id) => idToBytes(id) !== undefined, 'must be a UUID in lower case');

/** The first line of a file. */
export const HeaderLine = z.strictObject({
  format: z.literal(FORMAT),
  version: z.literal(VERSION),
  parts: z.array(z.enum(parts)).min(1),
  /** Only what was made or changed since then, by its author: ISO 8601. */
  since: z.iso.datetime({ offset: true }).nullable(),
  /** The newest user when the export began: later ones are left out, with all they did. Null without users. */
  lastUser: Id.nullable(),
});
export type Header = z.output<typeof HeaderLine>;

/** The last line of a complete file. */
export const END = { kind: 'end' } as const;

/** A line that cannot be imported: the message says why. */
export class BadLine extends Error {}

/** A file that cannot be written or read on: the message says why, and what to do about it. */
export class TransferError extends Error {}
