import type { Watch } from '../servers/proxy.ts';

/** Breaks the connection that migrates at one statement after the other. */
export interface Interruptions {
  /** For each new connection of a proxy: `proxy.watch(interruptions.watch)`. */
  watch: () => Watch;
  /** The statements after which it was broken, in order. */
  readonly places: readonly string[];
}

// The protocol between the service and its database, as far as it takes to know a statement when it passes.

const QUERY = 0x03;
const HEADER_BYTES = 4;

/** Collects the pieces of a stream, and hands on the body of each packet that is complete. */
const packets = (onPacket: (body: Buffer, sequence: number) => void) => {
  let rest = Buffer.alloc(0);
  return (chunk: Buffer): void => {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      if (rest.length < HEADER_BYTES) return;
      const end = HEADER_BYTES + rest.readUIntLE(0, 3);
      if (rest.length < end) return;
      onPacket(rest.subarray(HEADER_BYTES, end), rest[3] ?? 0);
      rest = rest.subarray(end);
    }
  };
};

/** Statements that change nothing. */
const READS = /^\s*(?:SELECT|SHOW|SET|DO)\b/i;
const TRANSACTION = /^(?:START TRANSACTION|COMMIT|ROLLBACK)$/;

/**
 * Breaks the connection that holds the lock of migrations at the first statement at which it was not broken yet, when the server
 * has done it. That the server never gets a statement leaves what is left when it has done the one before.
 */
export const interruptions = (): Interruptions => {
  const places = new Set<string>();
  const isNew = (place: string): boolean => !places.has(place) && places.add(place).size > 0;

  const watch = (): Watch => {
    let isMigrating = false;
    let before = '';
    let current: string | undefined;
    const onRequest = packets((body, sequence) => {
      if (sequence !== 0 || body[0] !== QUERY) return;
      // The driver may write flags between the command and the text.
      const sql = body
        .subarray(1)
        .toString('latin1')
        .replace(/^[^A-Z]*/, '');
      isMigrating ||= /GET_LOCK/.test(sql);
      current = undefined;
      if (!isMigrating || READS.test(sql)) return;
      current = TRANSACTION.test(sql) ? `${sql} after: ${before}` : sql;
      if (!TRANSACTION.test(sql)) before = sql;
    });
    return {
      request: (chunk) => onRequest(chunk),
      reply: (_chunk, lose) => {
        if (current !== undefined && isNew(current)) lose();
        current = undefined;
      },
    };
  };

  return {
    watch,
    get places() {
      return [...places];
    },
  };
};
