import type { Watch } from '../servers/proxy.ts';

// The protocol between the service and its database, as far as it takes to know a COMMIT when it passes.

export const QUERY = 0x03;
const PREPARE = 0x16;
const EXECUTE = 0x17;
const HEADER_BYTES = 4;

/** The whole packets of a stream: each call gets the next piece, and hands the bodies of those that are complete now on. */
export const packets = (onPacket: (body: Buffer, sequence: number) => void) => {
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

/** Which of the COMMITs that pass lose their answers. */
export interface LostCommits {
  /** For each new connection of a proxy: `proxy.watch(commits.watch)`. */
  watch: () => Watch;
  /** Drops the answers to the next `count` COMMITs of calls and breaks their connections; the server has committed by then. */
  lose(count: number): void;
  /** How many were lost so far. */
  lost(): number;
}

/** Where a transaction begins or ends. */
const BOUNDARY = /^(START TRANSACTION|COMMIT|ROLLBACK)$/;
/** What each call stores that changes something: an event, or a key. The relay of events, uses of keys and the list of instances do not. */
const EVENT = /\bINSERT INTO (?:event_(?:outbox|reactions)|`?api_keys)\b/;

/** Looks for COMMITs of calls, be they sent as text or prepared. */
export const lostCommits = (): LostCommits => {
  let left = 0;
  let lost = 0;

  const watch = (): Watch => {
    let preparing: string | undefined;
    let isCall = false;
    let isCommitting = false;
    const prepared = new Map<number, string>();
    const onRequest = packets((body, sequence) => {
      if (sequence !== 0) return;
      const text = body.subarray(1).toString('latin1');
      preparing = body[0] === PREPARE ? text : undefined;
      const run = body[0] === QUERY ? text : body[0] === EXECUTE ? prepared.get(body.readUInt32LE(1)) : undefined;
      isCommitting = run === 'COMMIT' && isCall;
      if (run === undefined) return;
      if (BOUNDARY.test(run)) isCall = false;
      else if (EVENT.test(run)) isCall = true;
    });
    const onReply = packets((body) => {
      if (preparing === undefined) return;
      if (body[0] === 0) prepared.set(body.readUInt32LE(1), preparing);
      preparing = undefined;
    });
    return {
      request: onRequest,
      reply: (chunk, lose) => {
        onReply(chunk);
        if (!isCommitting || left === 0) return;
        left -= 1;
        lost += 1;
        lose();
      },
    };
  };

  return {
    watch,
    lose: (count) => {
      left = count;
    },
    lost: () => lost,
  };
};
