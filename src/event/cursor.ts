import { eventCursorHint } from '../../contract/index.ts';
import { AppError } from '../base/errors.ts';
import { isId } from '../db/values.ts';

/**
 * A place between two events: after the one at this position, with its id. The id tells it from another event that got the
 * position after the database was restored.
 */
export interface EventCursor {
  position: number;
  id: string;
}

/** The text for callers to hand back that leads to what follows the event at a position, with this id. */
export const cursorAfter = (position: number, id: string): string =>
  Buffer.from(JSON.stringify([position, id])).toString('base64url');

/** A cursor as a text for callers to hand back. */
export const encodeEventCursor = ({ position, id }: EventCursor): string => cursorAfter(position, id);

/** @throws AppError CURSOR_INVALID for a text that we did not make */
export const decodeEventCursor = (text: string): EventCursor => {
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    parts = undefined;
  }
  const [position, id] = Array.isArray(parts) && parts.length === 2 ? (parts as unknown[]) : [];
  if (!Number.isSafeInteger(position) || (position as number) < 0 || typeof id !== 'string' || !isId(id)) {
    throw new AppError('CURSOR_INVALID', { hint: eventCursorHint });
  }
  return { position: position as number, id };
};
