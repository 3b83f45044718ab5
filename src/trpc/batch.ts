/** Batches of tRPC's clients, in one reply or as JSON lines: https://trpc.io/docs/rpc */
import type { Request, Response } from 'express';
import type { Logger } from 'pino';
import { BATCH_BODY_LIMIT, type ErrorResponse, MAX_BATCH_CALLS } from '../../contract/index.ts';
import type { Admitted, Calls } from '../call/calls.ts';
import { parseJson, sentValue } from '../call/envelope.ts';
import { AppError } from '../errors.ts';
import type { Bodies } from './body.ts';
import { failureOf } from '../http/errors.ts';
import { queryText, sendToGet } from './get.ts';
import { assertJson, assertMethod, methodsOf } from '../http/guard.ts';
import { sendJson } from '../http/reply.ts';

const MULTI_STATUS = 207;

/** The reply to one call of a batch. */
interface Reply {
  status: number;
  headers: Record<string, string>;
  json: string;
}

const ok = (json: string): Reply => ({ status: 200, headers: {}, json });

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

/** A batch as one line of JSON, which superjson and tRPC's decoder of streams take apart. */
const asJsonLine = (replies: readonly Reply[]): string => {
  const lines = replies.map(({ json }, index) => {
    const body = JSON.parse(json) as ErrorResponse | { result: { data: { json: unknown } } };
    const unwrapped = 'error' in body ? { error: body.error.json } : { result: { data: body.result.data.json } };
    return [index, [[unwrapped]]] as const;
  });
  return `${JSON.stringify({ json: Object.fromEntries(lines) })}\n`;
};

const commonStatus = (replies: readonly Reply[]): number => {
  const [first, ...others] = replies.map(({ status }) => status);
  return first !== undefined && others.every((status) => status === first) ? first : MULTI_STATUS;
};

const send = (request: Request, response: Response, replies: readonly Reply[]): void => {
  for (const { headers } of replies) response.set(headers);
  if (request.headers['trpc-accept'] === 'application/jsonl') {
    const headers = ['Vary', 'trpc-accept', 'Cache-Control', 'no-store'];
    sendJson(response, 200, asJsonLine(replies), headers, 'application/jsonl; charset=utf-8');
    return;
  }
  const status = commonStatus(replies);
  const json = `[${replies.map((reply) => reply.json).join(',')}]`;
  if (request.method === 'POST') sendJson(response, status, json);
  else sendToGet(response, status, json);
};

/**
 * Answers a batch: `names` is the last part of its path, the procedures with commas between. Each call is checked and
 * fails by itself.
 */
export const answerBatch =
  (calls: Calls, bodies: Bodies, log: Logger) =>
  async (names: string, request: Request, response: Response): Promise<void> => {
    const ids = names.replaceAll(/%2c/gi, ',').split(',');
    if (ids.length > MAX_BATCH_CALLS) throw new AppError('BATCH_TOO_LARGE');
    assertMethod(request, response, ['GET', 'HEAD', 'POST']);
    if (request.method === 'POST') assertJson(request, response);

    const failed = (id: string, error: unknown): Reply => {
      const { body, ...rest } = failureOf(error, { procedure: id, requestId: response.locals.requestId }, log);
      response.locals.reason ??= body.error.json.data.reason;
      return { ...rest, json: JSON.stringify(body) };
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
    const replies = await Promise.all(
      admitted.map(async (one, index) => {
        if (!('procedure' in one)) return one;
        try {
          return ok(String(await calls.perform(one, sentValue(Object.hasOwn(inputs, index) ? inputs[index] : {}))));
        } catch (error) {
          return failed(one.procedure.id, error);
        }
      }),
    );
    send(request, response, replies);
  };
