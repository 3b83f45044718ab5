import { z } from 'zod';
import { operations as described } from '../../../contract/index.ts';

const operations: ReadonlySet<string> = new Set(described.map(({ id }) => id));

const Failure = z.looseObject({ reason: z.string(), message: z.string().optional() });

/** A message of a stream. */
const Message = z.strictObject({
  /** The id of the event, in place of that in the example of `event.list`. */
  item: z.string().optional(),
  /** Its type: `ping` and other types have no data. */
  event: z.string().optional(),
  /** The cursor. */
  id: z.string().optional(),
  /** A failure, as in a reply; its `httpStatus` is the status. */
  failure: Failure.extend({ httpStatus: z.int() }).optional(),
  /** The milliseconds before the client connects again. */
  retry: z.int().optional(),
  /** Any other lines, sent unchanged in place of the message. */
  text: z.string().optional(),
});
export type ScriptedMessage = z.output<typeof Message>;

/** The server's reply to one request. */
const Reply = z
  .strictObject({
    status: z.int().min(200).max(599).default(200),
    /** In texts, `{date+30}` is the HTTP date in 30 seconds, and `{origin}` another origin of this server. */
    headers: z.record(z.string(), z.string()).default({}),
    /** The output of the operation's example, with these members in place of its own; `items` of a list are ids. */
    output: z.record(z.string(), z.unknown()).optional(),
    /** Members of the example that the output lacks. */
    without: z.array(z.string()).default([]),
    /** A failure for a reason of the contract, or for an unknown one, with these members of its own. */
    failure: Failure.optional(),
    /** The messages of a stream, which stays open unless it has an `end`. */
    stream: z.array(Message).optional(),
    /** Any other body: a text, sent unchanged. */
    text: z.string().optional(),
    /** The number of times to send the text, for bodies that are too long or too deep to write down. */
    repeat: z.int().min(1).default(1),
    contentType: z.string().nullable().default('application/json'),
    /** Whether it has a `Date`. */
    dated: z.boolean().default(true),
    /** The milliseconds until its first byte. */
    delayMs: z.int().min(0).default(0),
    /** The milliseconds between the halves of its body, or between a stream and its end. */
    pauseMs: z.int().min(0).default(0),
    /**
     * The end of the connection: `reset` before any byte, `reset-body` after half of the body, `short` after half of
     * the `Content-Length`, `cut` after half of a chunked body; without it the connection stays open. A stream is sent
     * whole before it is `cut` or `reset-body`; `close` is its proper end.
     */
    end: z.enum(['reset', 'reset-body', 'short', 'cut', 'close']).optional(),
  })
  .describe('A reply');
export type ScriptedReply = z.output<typeof Reply>;

const Call = z.strictObject({
  /** An operation of the contract; with the form `generic`, any. */
  operation: z.string(),
  /** The value of `json`. */
  input: z.record(z.string(), z.unknown()).default({}),
  /**
   * `call`: the operation alone. `pages`: all pages, one by one. `page-iterator`: the iterator over pages. `all`: the
   * iterator over all records. `generic`: the call of any operation by its name. `tail`: the iterator over a stream.
   * `follow`: the iterator over a feed.
   */
  form: z.enum(['call', 'pages', 'page-iterator', 'all', 'generic', 'tail', 'follow']).default('call'),
  /** The number of times to make the same call, all at once. */
  times: z.int().optional(),
  /** Whether the method gets the value of the only member of the input, instead of the input. */
  scalar: z.literal(true).optional(),
  /**
   * `withOptions`: make a client with the key `cgk_other`, no retries and the header `X-First: 1`. Derive the client
   * that makes the call from it, by the key and the options of this vector.
   */
  via: z.literal('withOptions').optional(),
  /** The number of records after which the caller leaves the iterator. */
  take: z.int().optional(),
  options: z
    .strictObject({
      maxRetries: z.int().optional(),
      timeoutMs: z.int().optional(),
      connectTimeoutMs: z.int().optional(),
      idempotencyKey: z.string().optional(),
      headers: z.record(z.string(), z.string()).optional(),
      /** The number of records after which the iterator ends by itself. */
      maxRecords: z.int().optional(),
      /** The maximum number of calls in progress, an option of the client. */
      maxConnections: z.int().optional(),
      /** The longest silence of a stream. */
      silenceMs: z.int().optional(),
      /** The name of the app, an option of the client. */
      appName: z.string().optional(),
    })
    .default({}),
  /** When the caller cancels: at the start of a wait, or 300 ms after the call. */
  cancel: z.enum(['during-wait', 'during-reply']).optional(),
});

/** One wait in seconds, exact or from the least to the longest. */
const Wait = z.union([z.number(), z.tuple([z.number(), z.number()])]);

/** The expected behavior of a client, without members that follow from the replies, such as those of an error. */
const Expected = z.strictObject({
  /** The number of requests that arrive, or of attempts if none can connect. */
  attempts: z.int(),
  waits: z.array(Wait).default([]),
  /** Members of the call's result. */
  ok: z.record(z.string(), z.unknown()).optional(),
  /** Members of the metadata of the reply. */
  meta: z.record(z.string(), z.unknown()).optional(),
  /** The ids of the returned records, before the error, if any. */
  items: z.array(z.string()).optional(),
  error: z
    .looseObject({
      type: z.string(),
      /** The whole text of the error; `{base}` is the origin that was called. */
      text: z.string().optional(),
      /** The start of the text, if its end depends on the platform. */
      textStart: z.string().optional(),
      /** A part of the text. */
      textPart: z.string().optional(),
    })
    .optional(),
  cancelled: z.literal(true).optional(),
  /** The `json` of each request, if it isn't the input. */
  inputs: z.array(z.record(z.string(), z.unknown())).optional(),
  /** The operation of each request, if it isn't that of the call. */
  operations: z.array(z.string()).optional(),
  /** The most requests in progress at once. */
  atOnce: z.int().optional(),
  /** Headers of every request. */
  headers: z.record(z.string(), z.string()).optional(),
  /** The end of the `User-Agent` of all requests. */
  userAgentEnd: z.string().optional(),
});

/** A scripted exchange: the task of a client, the replies to it, and the expected behavior. */
const AnyVector = z.strictObject({
  name: z.string().regex(/^[a-z0-9-]+$/),
  /** Its purpose, in a sentence. */
  about: z.string(),
  call: Call,
  /** Whether the client has a key. */
  keyed: z.boolean().default(false),
  /** The offset of the client's clock. */
  clockOffsetSeconds: z.int().optional(),
  /**
   * An address without a listener (`refused`); one that never accepts connections (`silent`); one that only this server
   * knows, as the proxy that `HTTP_PROXY` names (`proxy`); or one that does not exist, and that `NO_PROXY` names
   * (`no-proxy`).
   */
  connect: z.enum(['refused', 'silent', 'proxy', 'no-proxy']).optional(),
  /** Whether it is only for clients that check the types of members. */
  typed: z.literal(true).optional(),
  /** The replies to the requests, in turn. Any further request is a failure. */
  replies: z.array(Reply).default([]),
  expect: Expected,
});

const Vector = AnyVector.refine(({ call }) => call.form === 'generic' || operations.has(call.operation), {
  error: 'is no operation of the contract',
  path: ['call', 'operation'],
});
export type Vector = z.output<typeof Vector>;

/** The exchanges of a file. @throws ZodError if it has another form, Error if two have the same name */
export const parseVectors = (file: unknown): Vector[] => {
  const { vectors } = z.strictObject({ $comment: z.string().optional(), vectors: z.array(Vector) }).parse(file);
  const names = vectors.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined) throw new Error(`Two vectors have the name ${twice}.`);
  return vectors;
};
