import { eventCursorHint } from '../../contract/index.ts';
import { packCursor, unpackCursor } from '../base/cursor.ts';
import { isId } from '../db/values.ts';

/**
 * A place in the feed: right after the event with this position and id. The id distinguishes it from another event that
 * got the position after the database was restored.
 */
export interface EventCursor {
  position: number;
  id: string;
}

/** Encodes a cursor as a text for callers to pass back. */
export const encodeEventCursor = ({ position, id }: EventCursor): string => packCursor([position, id]);

const isPosition = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;
const isEventId = (value: unknown): boolean => typeof value === 'string' && isId(value);

/** @throws AppError CURSOR_INVALID for a text that we did not make */
export const decodeEventCursor = (text: string): EventCursor => {
  const [position, id] = unpackCursor(text, [isPosition, isEventId], eventCursorHint) as [number, string];
  return { position, id };
};
