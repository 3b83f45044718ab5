import { z } from 'zod';
import { gameKind } from '../../game/kind.ts';
import { imageKind } from '../../image/kind.ts';
import { idToBytes } from '../../db/values.ts';

/** The first line names the format and its version. A version that older programs cannot read has another number. */
export const FORMAT = 'content-gateway-export';
export const VERSION = 1;

/** The parts of an export, in the order of a file: records follow the users they name. */
export const parts = ['users', 'games', 'images'] as const;
export type Part = (typeof parts)[number];

/** The `kind` of the lines of a part. */
export const kindOfPart = { users: 'user', games: 'game', images: 'image' } as const;
export type RecordKind = 'game' | 'image';
export const contentKinds = { game: gameKind, image: imageKind } as const;

/** The table of a kind of line: the ids of the lines are ids of its rows. */
export const tableOf = { user: 'users', game: gameKind.table, image: imageKind.table } as const;

/** The most favorites, and the most likes and dislikes, of a line; further lines contain the rest of a record's. */
export const MAX_LISTED = 1000;

export const Id = z.string().refine((id) => idToBytes(id) !== undefined, 'must be a UUID in lower case');

/** The first line of a file. */
export const HeaderLine = z.strictObject({
  format: z.literal(FORMAT),
  version: z.literal(VERSION),
  parts: z.array(z.enum(parts)).min(1),
  /** Limits the export to data that its author made or changed since this time: ISO 8601. */
  since: z.iso.datetime({ offset: true }).nullable(),
  /** The newest user at the start of the export; later users and their data are left out. Null without users. */
  lastUser: Id.nullable(),
});
export type Header = z.output<typeof HeaderLine>;

/** The last line of a complete file. */
export const END = { kind: 'end' } as const;

/** The error for a line that cannot be imported: the message says why. */
export class BadLine extends Error {}

/** The error for a file that cannot be written or read further: the message says why, and how to solve it. */
export class TransferError extends Error {}
