/** Batches of tRPC's clients, in one reply or as JSON lines: https://trpc.io/docs/rpc */
import type { Request, Response } from 'express';
import type { Logger } from 'pino';
import { BATCH_BODY_LIMIT, MAX_BATCH_CALLS } from '../../contract/index.ts';
import { BatchAnswers, HeldAnswers } from '../call/answers.ts';
import type { Admitted, Calls } from '../call/calls.ts';
import { parseJson, sentValue } from '../call/envelope.ts';
import { AppError } from '../errors.ts';
import type { Bodies } from './body.ts';
import { failureOf } from '../http/errors.ts';
import { queryText, sendToGet } from './get.ts';
import { assertJson, assertMethod, methodsOf } from '../http/guard.ts';
import { sendJson } from '../http/reply.ts';
import { asJsonLine, asList, commonStatus, type Reply } from './replies.ts';

/**
 * Calls of a batch that run at once: each may be making a page, and when an answer finds no room, those that have not
 * begun are spared.
 */
const RUNNING = 8;

const ok = (json: Buffer): Reply => ({ status: 200, headers: {}, json });

/** What `work` makes of each item, in their order; it is busy with so many at once. */
const inTurn = async <T, R>(
  items: readonly T[],
  running: number,
  work: (item: T, index: number) => R | Promise<R>,
): Promise<R[]> => {
  const results: R[] = [];
  const rest = items.entries();
  const runner = async (): Promise<void> => {
    for (const [index, item] of rest) results[index] = await work(item, index);
  };
  await Promise.all(Array.from({ length: running }, runner));
  return results;
};

/** The inputs of a batch by the positions of their calls. @throws AppError MALFORMED_JSON, VALIDATION_FAILED, … */
const readInputs = async (bodies: Bodies, request: Request): Promise<Record<string, unknown>> => {
  const text = request.method === 'POST' ? await bodies.read(request, BATCH_BODY_LIMIT) : queryText(request);
  const inputs = text === '' ? {} : parseJson(text);
  if (typeof inputs !== 'object' || inputs === null || Array.isArray(inputs)) {
    const issue = { path: '', code: 'invalid_type', message: 'must be an object: {"0": {"json": …}, "1": …}' };
    throw new AppError('VALIDATION_FAILED', { issues: [issue] });
  }
  return inputs as Record<string, unknown>;
};

const send = (request: Request, response: Response, replies: readonly Reply[]): void => {
  for (const { headers } of replies) response.set(headers);
  if (request.headers['trpc-accept'] === 'application/jsonl') {
    const headers = ['Vary', 'trpc-accept', 'Cache-Control', 'no-store'];
    sendJson(response, 200, asJsonLine(replies), headers, 'application/jsonl; charset=utf-8');
    return;
  }
  const status = commonStatus(replies);
  const json = asList(replies);
  if (request.method === 'POST') sendJson(response, status, json);
  else sendToGet(response, status, json);
};

/**
 * Answers a batch: `names` is the last part of its path, the procedures with commas between. Each call is checked and
 * fails by itself.
 */
export const answerBatch =
  (calls: Calls, bodies: Bodies, log: Logger, held = new HeldAnswers()) =>
  async (names: string, request: Request, response: Response): Promise<void> => {
    const ids = names.replaceAll(/%2c/gi, ',').split(',');
    if (ids.length > MAX_BATCH_CALLS) throw new AppError('BATCH_TOO_LARGE');
    assertMethod(request, response, ['GET', 'HEAD', 'POST']);
    if (request.method === 'POST') assertJson(request, response);

    const failed = (id: string, error: unknown): Reply => {
      const { body, ...rest } = failureOf(error, { procedure: id, requestId: response.locals.requestId }, log);
      response.locals.reason ??= body.error.json.data.reason;
      return { ...rest, json: Buffer.from(JSON.stringify(body)) };
    };
    const admit = async (id: string): Promise<Admitted> => {
      const procedure = calls.find(id);
      assertMethod(request, response, methodsOf(procedure));
      return calls.admit(procedure, request.headers.authorization, (caller) => {
        response.locals.caller = caller;
      });
    };

    const admitted = await Promise.all(ids.map((id) => admit(id).catch((error: unknown) => failed(id, error))));
    const inputs = admitted.some((one) => 'procedure' in one) ? await readInputs(bodies, request) : {};
    const answers = new BatchAnswers(held);
    const answer = async (one: Admitted, input: unknown): Promise<Reply> => {
      try {
        answers.assertRoom();
        return ok(answers.add(one.procedure, await calls.perform(one, sentValue(input))));
      } catch (error) {
        return failed(one.procedure.id, error);
      }
    };
    try {
      const replies = await inTurn(admitted, RUNNING, (one, index) =>
        'procedure' in one ? answer(one, Object.hasOwn(inputs, index) ? inputs[index] : {}) : one,
      );
      send(request, response, replies);
    } finally {
      answers.release();
    }
  };
