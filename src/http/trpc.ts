/**
 * The parts of tRPC's wire that single POST requests do not need: reads by GET, batches, and batches as JSON lines.
 * https://trpc.io/docs/rpc
 */
import type { Request, RequestHandler, Response } from 'express';
import { BATCH_BODY_LIMIT, type ErrorResponse, MAX_BATCH_CALLS } from '../../contract/index.ts';
import type { Context } from '../context.ts';
import { AppError } from '../errors.ts';
import type { Caller } from '../key/verifier.ts';
import { demandAccess, identify } from './auth.ts';
import { jsonReader, parseJson } from './body.ts';
import { type Failure, failureOf } from './errors.ts';
import { etagOf } from './etag.ts';
import { demandJson, demandMethod, methodsOf } from './guard.ts';
import { call, type Procedure } from './procedures.ts';
import { removeUndefined } from './superjson.ts';

const readBatch = jsonReader(BATCH_BODY_LIMIT);
const CACHED = 'public, max-age=1';
const MULTI_STATUS = 207;

type Success = Awaited<ReturnType<typeof call>>;
type Reply = { status: number; headers: Record<string, string>; body: Success | ErrorResponse };

const ok = (body: Success): Reply => ({ status: 200, headers: {}, body });

/** Answers with JSON; what a GET of nobody in particular got may be kept for a second. */
const send = (request: Request, response: Response, status: number, body: unknown): void => {
  const text = JSON.stringify(body);
  if (request.method !== 'POST') {
    response.vary('Authorization, trpc-accept');
    const cacheable = status === 200 && response.locals.caller === undefined;
    response.set(cacheable ? { ETag: etagOf(text), 'Cache-Control': CACHED } : { 'Cache-Control': 'no-store' });
  }
  response.status(status).type('json').send(text);
};

/** What a GET carries as `?input=<JSON>`. @throws AppError MALFORMED_JSON */
const queryInput = ({ query: { input } }: Request): unknown => {
  if (input === undefined) return {};
  if (typeof input !== 'string') throw new AppError('MALFORMED_JSON', { hint: 'Send `input` once.' });
  return parseJson(input);
};

/** A read by GET. */
export const answerRead =
  (procedure: Procedure): RequestHandler =>
  async (request, response) => {
    const body = await call(procedure, removeUndefined(queryInput(request)), response.locals.caller);
    send(request, response, 200, body);
  };

/** The inputs of a batch by the positions of their calls. @throws AppError MALFORMED_JSON, VALIDATION_FAILED, … */
const batchInputs = async (request: Request, response: Response): Promise<Record<string, unknown>> => {
  const inputs = request.method === 'POST' ? await readBatch(request, response) : queryInput(request);
  if (typeof inputs !== 'object' || inputs === null || Array.isArray(inputs)) {
    const issue = { path: '', code: 'invalid_type', message: 'must be an object: {"0": {"json": …}, "1": …}' };
    throw new AppError('VALIDATION_FAILED', { issues: [issue] });
  }
  return inputs as Record<string, unknown>;
};

/** A batch as one line of JSON, which superjson and tRPC's decoder of streams take apart. */
const asJsonLine = (replies: readonly Reply[]): string => {
  const unwrapped = replies.map(({ body }) =>
    'error' in body ? { error: body.error.json } : { result: { data: body.result.data.json } },
  );
  return `${JSON.stringify({ json: Object.fromEntries(unwrapped.map((one, index) => [index, [[one]]])) })}\n`;
};

const commonStatus = (replies: readonly Reply[]): number => {
  const [first, ...others] = replies.map(({ status }) => status);
  return first !== undefined && others.every((status) => status === first) ? first : MULTI_STATUS;
};

/**
 * Answers a batch: `names` is the last part of its path, the procedures with commas between. Each call is checked and
 * fails by itself.
 */
export const answerBatch =
  (procedures: ReadonlyMap<string, Procedure>, { keys, log }: Context) =>
  async (names: string, request: Request, response: Response): Promise<void> => {
    const ids = names.replaceAll(/%2c/gi, ',').split(',');
    if (ids.length > MAX_BATCH_CALLS) throw new AppError('BATCH_TOO_LARGE');
    demandMethod(request, response, ['GET', 'HEAD', 'POST']);
    if (request.method === 'POST') demandJson(request);

    const failure = (id: string, error: unknown): Failure => {
      const failed = failureOf(error, { procedure: id, requestId: response.locals.requestId }, log);
      response.locals.reason ??= failed.body.error.json.data.reason;
      return failed;
    };
    const admit = async (id: string): Promise<{ procedure: Procedure; caller: Caller | undefined }> => {
      const procedure = procedures.get(id);
      if (!procedure) throw new AppError('PROCEDURE_NOT_FOUND');
      demandMethod(request, response, methodsOf(procedure));
      const caller = await identify(keys, request.headers.authorization);
      response.locals.caller = caller;
      demandAccess(procedure.access, caller);
      return { procedure, caller };
    };

    const admitted = await Promise.all(ids.map((id) => admit(id).catch((error: unknown) => failure(id, error))));
    const inputs = admitted.some((one) => 'procedure' in one) ? await batchInputs(request, response) : {};
    const replies: Reply[] = await Promise.all(
      admitted.map(async (one, index) => {
        if (!('procedure' in one)) return one;
        const sent = Object.hasOwn(inputs, index) ? removeUndefined(inputs[index]) : {};
        return call(one.procedure, sent, one.caller).then(ok, (error: unknown) => failure(one.procedure.id, error));
      }),
    );

    for (const { headers } of replies) response.set(headers);
    if (request.headers['trpc-accept'] === 'application/jsonl') {
      response.vary('trpc-accept');
      response.set('Cache-Control', 'no-store').type('application/jsonl').send(asJsonLine(replies));
    } else {
      const bodies = replies.map(({ body }) => body);
      send(request, response, commonStatus(replies), bodies);
    }
  };
