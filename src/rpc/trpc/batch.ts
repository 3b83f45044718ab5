/** Batches of tRPC's clients, in one reply or as JSON lines: https://trpc.io/docs/rpc */
import type { Request, Response } from 'express';
import { BATCH_BODY_LIMIT, MAX_BATCH_CALLS, READ_BODY_LIMIT } from '../../../contract/index.ts';
import { BatchReplies, ReplyBudget } from '../reply-budget.ts';
import type { AuthorizedCall, RpcPipeline } from '../pipeline.ts';
import { parseJson, valuePayload } from '../payload.ts';
import type { RpcContext } from '../context.ts';
import { AppError } from '../../base/errors.ts';
import type { BodyReader } from '../../http/message/body.ts';
import type { CallObservation } from '../../base/observer.ts';
import { requestContextOf } from '../request-context.ts';
import { type FailureContext, failureOf, toAppError } from '../../http/message/failures.ts';
import { queryText, sendToGet } from './get.ts';
import { assertJson, assertMethod, assertMethodOf, assertNoContent } from '../../http/middleware/preconditions.ts';
import { NO_STORE, sendJson } from '../../http/message/reply.ts';
import type { ConcurrencyLimiter } from '../../limits/overload/concurrency-limiter.ts';
import { refusalCost } from '../../limits/overload/retry-throttle.ts';

const MULTI_STATUS = 207;

/** The reply to one call of a batch. */
interface BatchReply {
  status: number;
  headers: Record<string, string>;
  json: Buffer;
}

/** Buffers, and texts, one after the other. */
const joined = (parts: readonly (string | Buffer)[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));

const comma = (index: number): string => (index === 0 ? '' : ',');

/** A batch as a list. */
const asList = (replies: readonly BatchReply[]): Buffer =>
  joined(['[', ...replies.flatMap(({ json }, index) => [comma(index), json]), ']']);

// The beginning and the end of a reply. The part between may be large, so it is cut out instead of parsed.
const SUCCESS = ['{"result":{"data":{"json":', '}}}'] as const;
const FAILURE = ['{"error":{"json":', '}}'] as const;

const between = (json: Buffer, [before, after]: readonly [string, string]): Buffer =>
  json.subarray(before.length, json.length - after.length);

/** A reply without superjson's envelope, which the line has once for all of them. */
const unwrapped = ({ status, json }: BatchReply): (string | Buffer)[] =>
  status === 200 ? ['{"result":{"data":', between(json, SUCCESS), '}}'] : ['{"error":', between(json, FAILURE), '}'];

/** A batch as one line of JSON, which superjson and tRPC's decoder of streams take apart. */
const asJsonLine = (replies: readonly BatchReply[]): Buffer => {
  const members = replies.flatMap((reply, index) => [`${comma(index)}"${index}":[[`, ...unwrapped(reply), ']]']);
  return joined(['{"json":{', ...members, '}}\n']);
};

/** The status that all replies agree on, else 207. */
const commonStatus = (replies: readonly BatchReply[]): number => {
  const [first, ...others] = replies.map(({ status }) => status);
  return first !== undefined && others.every((status) => status === first) ? first : MULTI_STATUS;
};

/**
 * The lists of a batch that run at once: when an answer does not fit any more, the others are not begun. Calls for
 * single records all begin together, so that they share their queries.
 */
const LISTS_AT_ONCE = 4;

/** The hint of a failure whose faults do not fit into the batch. */
const UNLISTED = 'The faults are not listed: the answers to this batch are too large together.';

const ok = (json: Buffer): BatchReply => ({ status: 200, headers: {}, json });

/** Runs `work` for each item in order, a number of them at once. */
const inTurn = async <T>(items: readonly T[], atOnce: number, work: (item: T) => Promise<void>): Promise<void> => {
  const rest = items.values();
  const runner = async (): Promise<void> => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, runner));
};

/** The inputs of a batch by the positions of their calls. @throws AppError MALFORMED_JSON, VALIDATION_FAILED, … */
const readInputs = async (
  bodies: BodyReader,
  request: Request,
  limit: number,
  onRead: (bytes: number) => void,
): Promise<Record<string, unknown>> => {
  const read = (): Promise<string> =>
    bodies.read(request, limit).catch((error: unknown) => {
      onRead(0);
      throw error;
    });
  const text = request.method === 'POST' ? await read() : queryText(request);
  onRead(text.length);
  const inputs = text === '' ? {} : parseJson(text);
  if (typeof inputs !== 'object' || inputs === null || Array.isArray(inputs)) {
    const php = Array.isArray(inputs) ? '; in PHP, encode `(object) $calls`' : '';
    const issue = { path: '', code: 'invalid_type', message: `must be an object: {"0": {"json": …}, "1": …}${php}` };
    throw new AppError('VALIDATION_FAILED', { issues: [issue] });
  }
  return inputs as Record<string, unknown>;
};

/** The seconds of `Retry-After`, 0 without one. */
const secondsOf = ({ headers }: BatchReply): number => Number(headers['Retry-After'] ?? 0);

const send = (request: Request, response: Response, replies: readonly BatchReply[]): void => {
  // The largest `Retry-After` wins, so that a repeated batch finds room for all its calls.
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

/** An authorized call of a batch, with its observation. */
interface ObservedCall extends AuthorizedCall {
  observation: CallObservation;
}

type BatchOptions = Pick<RpcContext['protection'], 'overload'> & Pick<RpcContext, 'config'> & FailureContext;

/**
 * Answers a batch. `names` is the last part of its path: procedures separated by commas. Each call is checked, and succeeds
 * or fails, independently.
 */
export const answerBatch =
  (
    calls: RpcPipeline,
    bodies: BodyReader,
    { overload, config, ...failureContext }: BatchOptions,
    held = new ReplyBudget(),
  ) =>
  async (names: string, request: Request, response: Response): Promise<void> => {
    const ids = names.replaceAll(/%2c/gi, ',').split(',');
    if (ids.length > MAX_BATCH_CALLS) throw new AppError('BATCH_TOO_LARGE');
    assertMethod(request, response, ['GET', 'HEAD', 'POST']);
    if (request.method === 'POST') assertJson(request, response);
    else assertNoContent(request, response);

    const failed = (id: string, error: unknown): BatchReply => {
      const { requestId, traceId } = response.locals;
      const { body, ...rest } = failureOf(error, { procedure: id, requestId, traceId }, failureContext);
      response.locals.reason ??= body.error.json.data.reason;
      return { ...rest, json: Buffer.from(JSON.stringify(body)) };
    };
    const context = { ...requestContextOf(request, response, config), admittedBy: new Set<ConcurrencyLimiter>() };
    const admit = async (id: string): Promise<AuthorizedCall> => {
      const procedure = calls.find(id);
      assertMethodOf(request, response, procedure);
      return calls.authorize(procedure, context);
    };
    const begin = async (id: string): Promise<ObservedCall | BatchReply> => {
      const observation = calls.observe(id);
      try {
        return { ...(await observation.within(() => admit(id))), observation };
      } catch (error) {
        observation.failed(toAppError(error));
        calls.noteFailure({ id }, context, error);
        return failed(id, error);
      }
    };

    const authorized = await Promise.all(ids.map(begin));
    const callable = authorized.filter((one) => 'procedure' in one);
    // Only a caller that may write may send a long body.
    const limit = callable.some(({ procedure }) => procedure.effect === 'write') ? BATCH_BODY_LIMIT : READ_BODY_LIMIT;
    const bill = (bytes: number): void => {
      calls.chargeBody(context, bytes);
      for (const { observation } of callable) observation.sent(bytes / callable.length);
    };
    const read = (): Promise<Record<string, unknown>> =>
      readInputs(bodies, request, limit, bill).catch((error: unknown) => {
        for (const { observation, procedure } of callable) {
          observation.failed(toAppError(error));
          calls.noteFailure(procedure, context, error);
        }
        throw error;
      });
    const inputs = callable.length > 0 ? await read() : {};
    context.deadline.restart();
    const answers = new BatchReplies(held);
    const answer = async (one: ObservedCall, input: unknown, index: number): Promise<BatchReply> => {
      const { procedure, observation } = one;
      try {
        answers.assertRoom();
        const json = await observation.within(() => calls.invoke(one, valuePayload(input), index));
        const reply = ok(answers.add(procedure, json));
        observation.answered(json.length);
        return reply;
      } catch (error) {
        const { id } = procedure;
        observation.failed(toAppError(error));
        calls.noteFailure(procedure, context, error);
        const reply = failed(id, error);
        const isListed = toAppError(error).details.issues !== undefined;
        const unlisted = new AppError('VALIDATION_FAILED', { hint: UNLISTED });
        return {
          ...reply,
          json: answers.addFailure(reply.json, isListed ? () => failed(id, unlisted).json : undefined),
        };
      }
    };
    const replies: BatchReply[] = [];
    const at = (index: number) => authorized[index] as ObservedCall | BatchReply;
    const answerAt = async (index: number): Promise<void> => {
      const one = at(index);
      const input = Object.hasOwn(inputs, index) ? inputs[index] : {};
      replies[index] = 'procedure' in one ? await answer(one, input, index) : one;
    };
    const isList = (index: number): boolean => {
      const one = at(index);
      return 'procedure' in one && one.procedure.answersList;
    };
    const lists = [...authorized.keys()].filter(isList);
    const others = [...authorized.keys()].filter((index) => !isList(index));
    try {
      await Promise.all([inTurn(lists, LISTS_AT_ONCE, answerAt), ...others.map(answerAt)]);
      const isRefused = replies.every(({ status }) => status === 503);
      if (isRefused) await overload.retries.turn(request.socket, refusalCost.late);
      send(request, response, replies);
    } finally {
      answers.release();
    }
  };
