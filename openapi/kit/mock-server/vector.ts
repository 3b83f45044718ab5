import { z } from 'zod';
import { operations as described } from '../../../contract/index.ts';

const operations: ReadonlySet<string> = new Set(described.map(({ id }) => id));

const Failure = z.looseObject({ reason: z.string(), message: z.string().optional() });

/** A message of a stream. */
const Message = z.strictObject({
  /** The id of an event, which is otherwise the example of `event.list`. */
  item: z.string().optional(),
  /** Its type: of `ping` and others, the data is empty. */
  event: z.string().optional(),
  /** The cursor. */
  id: z.string().optional(),
  /** A failure, as of a reply; its `httpStatus` is the status. */
  failure: Failure.extend({ httpStatus: z.int() }).optional(),
  /** In how many milliseconds to connect again. */
  retry: z.int().optional(),
  /** Any other lines, sent as they are in place of the message. */
  text: z.string().optional(),
});
export type ScriptedMessage = z.output<typeof Message>;

/** The server's reply to one request. */
const Reply = z
  .strictObject({
    status: z.int().min(200).max(599).default(200),
    /** In texts, `{date+30}` is the HTTP date in 30 seconds, and `{origin}` another origin of this server. */
    headers: z.record(z.string(), z.string()).default({}),
    /** The output of the example of the operation, with these members in place of its own; `items` of a list are ids. */
    output: z.record(z.string(), z.unknown()).optional(),
    /** Members of the example that the output lacks. */
    without: z.array(z.string()).default([]),
    /** A failure for a reason of the contract, or for one that it doesn't have, with these members of its own. */
    failure: Failure.optional(),
    /** The messages of a stream, which stays open unless it has an `end`. */
    stream: z.array(Message).optional(),
    /** Any other body: a text, sent as it is. */
    text: z.string().optional(),
    /** How often the text is sent, one after the other, for bodies that are too long or too deep to write down. */
    repeat: z.int().min(1).default(1),
    contentType: z.string().nullable().default('application/json'),
    /** Whether it has a `Date`. */
    dated: z.boolean().default(true),
    /** How long until its first byte, in milliseconds. */
    delayMs: z.int().min(0).default(0),
    /** How long between the halves of its body, or between a stream and its end, in milliseconds. */
    pauseMs: z.int().min(0).default(0),
    /**
     * How the connection ends: `reset` before any byte, `reset-body` after half of the body, `short` after half of what
     * `Content-Length` says, `cut` after half of a chunked body; else it stays open. A stream is sent whole before it is `cut` or
     * `reset-body`; `close` is its proper end.
     */
    end: z.enum(['reset', 'reset-body', 'short', 'cut', 'close']).optional(),
  })
  .describe('A reply');
export type ScriptedReply = z.output<typeof Reply>;

const Call = z.strictObject({
  /** One of the contract; with the form `generic`, any. */
  operation: z.string(),
  /** The value of `json`. */
  input: z.record(z.string(), z.unknown()).default({}),
  /**
   * `call`: the operation alone. `pages`: page after page until there is none. `page-iterator`: the iterator over pages. `all`: the
   * iterator over all records. `generic`: the call of any operation by its name. `tail`: the iterator over a stream. `follow`: that
   * over a feed.
   */
  form: z.enum(['call', 'pages', 'page-iterator', 'all', 'generic', 'tail', 'follow']).default('call'),
  /** How often the same call is made, all at once. */
  times: z.int().optional(),
  /** Whether the method is given the value of the only member of the input, instead of the input. */
  scalar: z.literal(true).optional(),
  /**
   * `withOptions`: a client is made with the key `cgk_other`, no retries and the header `X-First: 1`, and the one to call with
   * is derived from it by the key and the options of this vector.
   */
  via: z.literal('withOptions').optional(),
  /** After how many records the iterator is left. */
  take: z.int().optional(),
  options: z
    .strictObject({
      maxRetries: z.int().optional(),
      timeoutMs: z.int().optional(),
      connectTimeoutMs: z.int().optional(),
      idempotencyKey: z.string().optional(),
      headers: z.record(z.string(), z.string()).optional(),
      /** After how many records the iterator ends by itself. */
      maxRecords: z.int().optional(),
      /** How many calls may be under way, an option of the client. */
      maxConnections: z.int().optional(),
      /** How long a stream may be silent. */
      silenceMs: z.int().optional(),
      /** The name of the app, an option of the client. */
      appName: z.string().optional(),
    })
    .default({}),
  /** When the caller loses interest: as it begins to wait, or 300 ms after the call. */
  cancel: z.enum(['during-wait', 'during-reply']).optional(),
});

/** One wait in seconds, exact or from the least to the longest. */
const Wait = z.union([z.number(), z.tuple([z.number(), z.number()])]);

/** The expected behavior of a client. Members that follow from the replies, such as those of an error, are not repeated. */
const Expected = z.strictObject({
  /** The requests that arrive; with none to connect to, those that are tried. */
  attempts: z.int(),
  waits: z.array(Wait).default([]),
  /** Members of what the call returns. */
  ok: z.record(z.string(), z.unknown()).optional(),
  /** Members of what is known of the reply. */
  meta: z.record(z.string(), z.unknown()).optional(),
  /** The ids of the records that come, before the error if there is one. */
  items: z.array(z.string()).optional(),
  error: z
    .looseObject({
      type: z.string(),
      /** The whole text of the error; `{base}` is the origin that was called. */
      text: z.string().optional(),
      /** How the text begins, where its end is the platform's. */
      textStart: z.string().optional(),
      /** A part of the text. */
      textPart: z.string().optional(),
    })
    .optional(),
  cancelled: z.literal(true).optional(),
  /** The `json` of each request, where it isn't the input. */
  inputs: z.array(z.record(z.string(), z.unknown())).optional(),
  /** The operation of each request, where it isn't that of the call. */
  operations: z.array(z.string()).optional(),
  /** The most requests that are under way at once. */
  atOnce: z.int().optional(),
  /** Headers of every request. */
  headers: z.record(z.string(), z.string()).optional(),
  /** How the `User-Agent` of every request ends. */
  userAgentEnd: z.string().optional(),
});

/** A scripted exchange: what a client is told to do, what it is answered, and what it has to make of it. */
const AnyVector = z.strictObject({
  name: z.string().regex(/^[a-z0-9-]+$/),
  /** Its purpose, in a sentence. */
  about: z.string(),
  call: Call,
  /** Whether the client has a key. */
  keyed: z.boolean().default(false),
  /** How far the clock of the client is off. */
  clockOffsetSeconds: z.int().optional(),
  /**
   * An address where nothing listens (`refused`); where connections are never accepted (`silent`); that only this server knows,
   * as the proxy that `HTTP_PROXY` names (`proxy`); or that does not exist, and that `NO_PROXY` names (`no-proxy`).
   */
  connect: z.enum(['refused', 'silent', 'proxy', 'no-proxy']).optional(),
  /** Whether only those clients play it that check the types of members. */
  typed: z.literal(true).optional(),
  /** The replies to the requests, in turn. A request beyond them is a failure. */
  replies: z.array(Reply).default([]),
  expect: Expected,
});

const Vector = AnyVector.refine(({ call }) => call.form === 'generic' || operations.has(call.operation), {
  error: 'is no operation of the contract',
  path: ['call', 'operation'],
});
export type Vector = z.output<typeof Vector>;

/** The exchanges of a file. @throws ZodError if it has another form, Error if two have one name */
export const parseVectors = (file: unknown): Vector[] => {
  const { vectors } = z.strictObject({ $comment: z.string().optional(), vectors: z.array(Vector) }).parse(file);
  const names = vectors.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined) throw new Error(`Two vectors have the name ${twice}.`);
  return vectors;
};
