import { Random } from '../../../src/sandbox/seed/random.ts';
import { mangled, wellFramed } from './bytes.ts';
import { aRequest, type Request } from './corpus.ts';

/** A request that must be answered, by its id. */
export interface Asked {
  id: string;
  request: Request;
  bytes: Buffer;
}

/** What goes over one connection, all of it at once unless told otherwise. */
export interface Conversation {
  number: number;
  /** Each must be answered, in this order. */
  asked: readonly Asked[];
  /** What comes after them and is no HTTP, or not what it seems. */
  wild: Buffer | undefined;
  /** Whether that waits for the answers. */
  isPatient: boolean;
  /** Into how many pieces the bytes are cut, at any place. */
  cuts: readonly number[];
  /** Whether the caller resets the connection as soon as all is written. */
  isReset: boolean;
}

/** Has a server that got so far say something, and close. */
const LAST_WORDS = Buffer.from('\r\n\r\nGET /healthz HTTP/1.1\r\nHost: last.test\r\nConnection: close\r\n\r\n');

const LONGEST = 10;

const ask = (random: Random, id: string, realCursor: string): Asked => {
  const request = aRequest(random, realCursor);
  request.headers.splice(random.between(0, request.headers.length), 0, ['X-Request-Id', id]);
  return { id, request, bytes: wellFramed(random, request) };
};

/** The conversation of this number, the same for the same seed. `realCursor` is one that the service gave. */
export const aConversation = (seed: string, number: number, realCursor: string): Conversation => {
  const random = new Random(`${seed}/${number}`);
  const isWild = random.chance(0.7);
  const asked = Array.from({ length: random.between(isWild ? 0 : 1, LONGEST) }, (_, index) =>
    ask(random, `fuzz-${number}-${index}`, realCursor),
  );
  const last = asked.at(-1);
  if (!isWild && last && random.chance(0.3)) {
    last.request.headers.push(['Connection', 'close']);
    asked[asked.length - 1] = { ...last, bytes: wellFramed(random, last.request) };
  }
  const wild = isWild ? mangled(random, ask(random, `wild-${number}`, realCursor).bytes) : undefined;
  const length = asked.reduce((sum, { bytes }) => sum + bytes.length, wild?.length ?? 0);
  return {
    number,
    asked,
    wild: wild && random.chance(0.7) ? Buffer.concat([wild, LAST_WORDS]) : wild,
    // At a CONNECT, which is for proxies, Node closes the connection under whatever came before.
    isPatient: random.chance(0.4) || wild?.includes('CONNECT') === true,
    cuts: random.chance(0.1)
      ? Array.from({ length: random.between(1, 20) }, () => random.between(0, length)).toSorted((a, b) => a - b)
      : [],
    isReset: random.chance(0.03),
  };
};

/** How many requests a conversation counts for. */
export const lengthOf = ({ asked, wild }: Conversation): number => asked.length + (wild ? 1 : 0);
