import { V7Generator } from 'uuidv7';

/** A binary column as the drivers return it. */
export type Bytes = Uint8Array;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** An id never holds another instant than its record's `created_at`, even when the clock went back. */
const ROLLBACK_ALLOWANCE_MS = 0;
const generator = new V7Generator();

/** A new id (UUIDv7, RFC 9562) whose timestamp is `now`, so that ids and `created_at` sort alike. */
export const newId = (now: Date): string =>
  generator.generateOrResetCore(now.getTime(), ROLLBACK_ALLOWANCE_MS).toString();

/** The 16 bytes of an id, or undefined for a text that no id of ours can be. */
export const idToBytes = (id: string): Buffer | undefined =>
  UUID.test(id) ? Buffer.from(id.replaceAll('-', ''), 'hex') : undefined;

/** The 16 bytes of an id that came from the database. */
export const storedIdToBytes = (id: string): Buffer => {
  const bytes = idToBytes(id);
  if (!bytes) throw new TypeError(`not an id: ${id}`);
  return bytes;
};

/** The id of 16 bytes. */
export const idFromBytes = (bytes: Bytes): string => {
  const hex = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
};

/** An instant as both engines store it: `2026-04-01 09:30:00.000`, UTC. */
export const timeToDb = (time: Date): string => time.toISOString().slice(0, -1).replace('T', ' ');

/**
 * A stored instant as ISO 8601: `2026-04-01T09:30:00.000Z`. The prepared statements of mysql2 leave out the milliseconds
 * of a whole second.
 */
export const timeFromDb = (stored: string): string => new Date(`${stored.replace(' ', 'T')}Z`).toISOString();
