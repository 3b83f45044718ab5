/** Batches of tRPC's clients, in one reply or as JSON lines: https://trpc.io/docs/rpc */
import type { Request, Response } from 'express';
import {
  BATCH_BODY_LIMIT,
  MAX_BATCH_CALLS,
  READ_BODY_LIMIT,
  ANSWER_LIMIT,
  type Reason,
} from '../../../contract/index.ts';
import { AppError } from '../../base/errors.ts';
import { type BodyReader, queryText } from '../../http/message/body.ts';
import { errorDocs, failureOf, toAppError } from '../../http/message/failures.ts';
import { jsonOf, NO_STORE, sendJson, sendToGet } from '../../http/message/reply.ts';
import { assertJson, assertMethod, assertMethodOf, assertNoContent } from '../../http/middleware/preconditions.ts';
import { refusalCost } from '../../limits/overload/retry-throttle.ts';
import type { AuthorizedCall, Calls } from '../call.ts';
import type { RpcContext, Procedure } from '../procedures.ts';
import { parseJson, valuePayload } from '../payload.ts';

/** The bytes that all batches together may hold: sixteen of the largest batches. */
const HELD_LIMIT = 16 * ANSWER_LIMIT;

/** Counts the bytes of the answers that wait in the batches of one process. */
export class ReplyBudget {
  bytes = 0;
}

/** The answers of one batch, which are held in memory and sent together. */
export class BatchReplies {
  readonly #held: ReplyBudget;
  #bytes = 0;
  #refusal: Reason | undefined;

  constructor(held: ReplyBudget) {
    this.#held = held;
    // The bracket before the first answer.
    this.#hold(1);
  }

  /**
   * Asserts that a further call may begin, since all answers so far were held.
   * @throws AppError ANSWER_TOO_LARGE, OVERLOADED
   */
  assertRoom(): void {
    if (this.#refusal) throw new AppError(this.#refusal);
  }

  /**
   * Holds the answer to a call. An answer to a write is always held, since the write has happened.
   * @throws AppError ANSWER_TOO_LARGE, OVERLOADED
   */
  add({ effect }: Pick<Procedure, 'effect'>, answer: Buffer): Buffer {
    // Including the comma or bracket after it.
    const bytes = answer.length + 1;
    const refusal = this.#refusalOf(bytes);
    this.#refusal ??= refusal;
    if (refusal && effect === 'read') throw new AppError(refusal);
    this.#hold(bytes);
    return answer;
  }

  /** Holds the failure of a call: `full`, which may list a thousand faults, or `brief` if `full` does not fit. */
  addFailure(full: Buffer, brief = () => full): Buffer {
    const answer = this.#refusalOf(full.length + 1) ? brief() : full;
    this.#hold(answer.length + 1);
    return answer;
  }

  /** Releases the bytes of the batch after it is sent. */
  release(): void {
    this.#hold(-this.#bytes);
  }

  #refusalOf(bytes: number): Reason | undefined {
    if (this.#bytes + bytes > ANSWER_LIMIT) return 'ANSWER_TOO_LARGE';
    return this.#held.bytes + bytes > HELD_LIMIT ? 'OVERLOADED' : undefined;
  }

  #hold(bytes: number): void {
    this.#bytes += bytes;
    this.#held.bytes += bytes;
  }
}

const MULTI_STATUS = 207;

/** The reply to one call of a batch. */
interface BatchReply {
  status: number;
  headers: Record<string, string>;
  json: Buffer;
}

/** Joins buffers and texts. */
const joined = (parts: readonly (string | Buffer)[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));

const comma = (index: number): string => (index === 0 ? '' : ',');

/** Writes a batch as a list. */
const asList = (replies: readonly BatchReply[]): Buffer =>
  joined(['[', ...replies.flatMap(({ json }, index) => [comma(index), json]), ']']);

// The beginning and the end of a reply. The part in between may be large, so it is cut out without parsing.
const SUCCESS = ['{"result":{"data":{"json":', '}}}'] as const;
const FAILURE = ['{"error":{"json":', '}}'] as const;

const between = (json: Buffer, [before, after]: readonly [string, string]): Buffer =>
  json.subarray(before.length, json.length - after.length);

/** A reply without superjson's envelope, which the line has once for all replies. */
const unwrapped = ({ status, json }: BatchReply): (string | Buffer)[] =>
  status === 200 ? ['{"result":{"data":', between(json, SUCCESS), '}}'] : ['{"error":', between(json, FAILURE), '}'];

/** Writes a batch as one line of JSON, which superjson and tRPC's stream decoder take apart. */
const asJsonLine = (replies: readonly BatchReply[]): Buffer => {
  const members = replies.flatMap((reply, index) => [`${comma(index)}"${index}":[[`, ...unwrapped(reply), ']]']);
  return joined(['{"json":{', ...members, '}}\n']);
};

/** The common status of all replies, or 207. */
const commonStatus = (replies: readonly BatchReply[]): number => {
  const [first, ...others] = replies.map(({ status }) => status);
  return first !== undefined && others.every((status) => status === first) ? first : MULTI_STATUS;
};

/**
 * The lists of a batch that run at once: once an answer does not fit, no further list begins. Calls for single records
 * all begin together, so that they share their queries.
 */
const LISTS_AT_ONCE = 4;

/** The hint of a failure with too many faults for the batch. */
const UNLISTED = 'The faults are not listed: the answers to this batch are too large together.';

const ok = (json: Buffer): BatchReply => ({ status: 200, headers: {}, json });

type Inputs = Record<string, unknown>;

/** Returns the inputs of a batch by the positions of its calls. @throws AppError MALFORMED_JSON, VALIDATION_FAILED */
const inputsIn = (text: string): Inputs => {
  const inputs = text === '' ? {} : parseJson(text);
  if (typeof inputs !== 'object' || inputs === null || Array.isArray(inputs)) {
    const php = Array.isArray(inputs) ? '; in PHP, encode `(object) $calls`' : '';
    const issue = { path: '', code: 'invalid_type', message: `must be an object: {"0": {"json": …}, "1": …}${php}` };
    throw new AppError('VALIDATION_FAILED', { issues: [issue] });
  }
  return inputs as Inputs;
};

/**
 * Lets `read` read the inputs of a batch of this size, once each of its calls is authorized or refused. The returned
 * function must be called for each call, with the call if it is authorized, and resolves to the inputs.
 */
const inputsOf = (
  size: number,
  read: (authorized: readonly AuthorizedCall[]) => Promise<Inputs>,
): ((call?: AuthorizedCall) => Promise<Inputs>) => {
  const authorized: AuthorizedCall[] = [];
  let undecided = size;
  let resolve!: (inputs: Promise<Inputs>) => void;
  const inputs = new Promise<Inputs>((settle) => (resolve = settle));
  return (call) => {
    if (call) authorized.push(call);
    undecided -= 1;
    if (undecided === 0 && authorized.length > 0) resolve(read(authorized));
    return inputs;
  };
};

/** Runs a limited number of calls at once, and the others in order. */
class Turns {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  async enter(): Promise<void> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  leave(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#free += 1;
  }
}

/** The seconds of `Retry-After`; 0 without the header. */
const secondsOf = ({ headers }: BatchReply): number => Number(headers['Retry-After'] ?? 0);

const send = (request: Request, response: Response, replies: readonly BatchReply[]): void => {
  // The largest `Retry-After` wins, so that a repeated batch has capacity for all its calls.
  const byRetryAfter = replies.toSorted((a, b) => secondsOf(a) - secondsOf(b));
  for (const { headers } of byRetryAfter) response.set(headers);
  if (request.headers['trpc-accept'] === 'application/jsonl') {
    const headers = ['Vary', 'trpc-accept', ...(request.method === 'POST' ? [] : NO_STORE)];
    sendJson(response, 200, asJsonLine(replies), headers, 'application/jsonl; charset=utf-8');
    return;
  }
  const status = commonStatus(replies);
  const json = asList(replies);
  if (request.method === 'POST') sendJson(response, status, json);
  else sendToGet(response, status, json);
};

/**
 * Answers a batch. `names` is the last part of its path: procedures separated by commas. Each call is checked, and
 * succeeds or fails, independently.
 */
export const answerBatch =
  (calls: Calls, bodies: BodyReader, { log, config, protection }: RpcContext, held = new ReplyBudget()) =>
  async (names: string, request: Request, response: Response): Promise<void> => {
    const ids = names.replaceAll(/%2c/gi, ',').split(',');
    if (ids.length > MAX_BATCH_CALLS) throw new AppError('BATCH_TOO_LARGE');
    assertMethod(request, response, ['GET', 'HEAD', 'POST']);
    if (request.method === 'POST') assertJson(request, response);
    else assertNoContent(request, response);

    const { state } = response.locals;
    state.admittedBy = new Set();
    const failureContext = { log, docs: errorDocs(config) };
    const failed = (id: string, error: unknown): BatchReply => {
      const { requestId, traceId } = state;
      const { body, ...rest } = failureOf(error, { procedure: id, requestId, traceId }, failureContext);
      state.reason ??= body.error.json.data.reason;
      return { ...rest, json: Buffer.from(JSON.stringify(body)) };
    };
    let unreadable: unknown;
    const decide = inputsOf(ids.length, async (authorized) => {
      // Only a caller who may write may send a long body.
      const isWriting = authorized.some(({ procedure }) => procedure.effect === 'write');
      const limit = isWriting ? BATCH_BODY_LIMIT : READ_BODY_LIMIT;
      const text = request.method === 'POST' ? await bodies.readForCall(request, limit) : queryText(request);
      for (const { observation } of authorized) observation.sent(text.length / authorized.length);
      return inputsIn(text);
    });
    const lists = new Turns(LISTS_AT_ONCE);
    const answers = new BatchReplies(held);
    const answer = async (id: string, position: number): Promise<BatchReply> => {
      let isAuthorized = false;
      let isListing = false;
      try {
        const reply = await calls.make(id, state, {
          position,
          accept: (procedure) => assertMethodOf(request, response, procedure),
          read: async (call) => {
            isAuthorized = true;
            const inputs = await decide(call).catch((error: unknown) => {
              unreadable = error;
              throw error;
            });
            isListing = call.procedure.answersList;
            if (isListing) await lists.enter();
            answers.assertRoom();
            return valuePayload(Object.hasOwn(inputs, position) ? inputs[position] : {});
          },
          deliver: (procedure, json) => void answers.add(procedure, json),
        });
        return ok(jsonOf(reply));
      } catch (error) {
        // Without readable inputs the whole batch fails.
        if (unreadable !== undefined) throw unreadable;
        const reply = failed(id, error);
        if (!isAuthorized) return reply;
        const isListed = toAppError(error).details.issues !== undefined;
        const unlisted = new AppError('VALIDATION_FAILED', { hint: UNLISTED });
        const brief = isListed ? () => failed(id, unlisted).json : undefined;
        return { ...reply, json: answers.addFailure(reply.json, brief) };
      } finally {
        if (!isAuthorized) void decide();
        if (isListing) lists.leave();
      }
    };
    try {
      const replies = await Promise.all(ids.map(answer));
      const isRefused = replies.every(({ status }) => status === 503);
      if (isRefused) await protection.overload.retries.turn(request.socket, refusalCost.late);
      send(request, response, replies);
    } finally {
      answers.release();
    }
  };
