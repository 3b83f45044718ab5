import { errorOf, errors, type ErrorResponse, procedures, type Reason } from '../../../contract/index.ts';
import { checkReply, reasonOf } from '../../harness/app/published.ts';
import type { Request } from './corpus.ts';
import type { WireReply } from './replies.ts';

const API = '/api/trpc/';
const ids = new Set(procedures.map(({ id }) => id));

/** What is counted of replies: `game.list 200`, `503 OVERLOADED`. */
export type Note = (what: string) => void;

const expectEqual = (what: string, found: unknown, expected: unknown): void => {
  if (found !== expected) throw new Error(`${what} is ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`);
};

/** Holds a failure against the catalogue. @throws Error */
const checkFailure = (body: unknown, requestId: string | undefined): number => {
  const reason = reasonOf(body);
  if (reason === undefined || !Object.hasOwn(errors, reason)) throw new Error(`a failure has the reason ${reason}`);
  const { message, code, data } = (body as ErrorResponse).error.json;
  const known = errorOf(reason as Reason);
  expectEqual('message', message, known.message);
  expectEqual('code', code, known.number);
  expectEqual('data.code', data.code, known.code);
  expectEqual('data.httpStatus', data.httpStatus, known.status);
  expectEqual('data.requestId', data.requestId, requestId);
  if (known.status >= 500 && known.status !== 503) throw new Error(`a fault of the service: ${reason}`);
  return known.status;
};

/** One call of those in a request, alone or in a batch. */
const checkCall = (id: string | undefined, body: unknown, headers: WireReply['headers'], note: Note): void => {
  const failed = (body as Partial<ErrorResponse> | null)?.error !== undefined;
  const status = failed ? checkFailure(body, headers['x-request-id']) : 200;
  if (id !== undefined && ids.has(id)) checkReply(id, { status, headers, body });
  else if (!failed) throw new Error(`a success of ${id}, which is no procedure`);
  note(failed ? `${status} ${reasonOf(body)}` : `${id} 200`);
};

/** The members of a batch in JSON lines, wrapped as they are in JSON. */
const membersOfLine = (text: string): unknown[] => {
  if (!text.endsWith('\n') || text.indexOf('\n') !== text.length - 1) throw new Error('JSON lines are not one line');
  const { json } = JSON.parse(text) as { json: Record<string, [[{ error: unknown } | { result: { data: unknown } }]]> };
  return Object.entries(json).map(([index, [[member]]], position) => {
    expectEqual('the index of a line', index, String(position));
    return 'error' in member ? { error: { json: member.error } } : { result: { data: { json: member.result.data } } };
  });
};

const typeOf = ({ headers }: WireReply): string => headers['content-type']?.split(';')[0] ?? '';

/** What a request calls, as far as its target tells: the procedures, undefined for what is no path of theirs. */
const calledBy = ({ target }: Request): string[] | undefined => {
  const [path = ''] = target.split('?', 1);
  return path.startsWith(API) ? path.slice(API.length).replaceAll(/%2c/gi, ',').split(',') : undefined;
};

/** Whether bytes of a request may ask for a page. */
const mayAskForPage = (text: string): boolean => /text\//i.test(text);

/** Holds a reply against what is documented of all replies to `asked`, the bytes of a request or its headers. @throws Error */
export const checkAnyReply = (asked: string, reply: WireReply, note: Note): void => {
  const { status, headers, body } = reply;
  note(`status ${status}`);
  if (status >= 500 && status !== 503) throw new Error(`the status is ${status}: ${body.toString()}`);
  if (headers['x-request-id'] === undefined) throw new Error(`${status} without X-Request-Id`);
  if (status === 204 || status === 304 || body.length === 0) return;
  const type = typeOf(reply);
  if (type === 'application/json') {
    const parsed = JSON.parse(body.toString()) as unknown;
    if (Array.isArray(parsed)) return;
    if (status >= 400) expectEqual('status', checkFailure(parsed, headers['x-request-id']), status);
    // Below the API, `checkReplyTo` takes no page either.
  } else if (status >= 400 && !(status === 404 && type === 'text/html' && mayAskForPage(asked))) {
    throw new Error(`${status} is ${type}`);
  }
};

/** Holds the reply to a request against what is documented. @throws Error */
export const checkReplyTo = (request: Request, id: string, reply: WireReply, note: Note): void => {
  const { status, headers, body } = reply;
  const [, accept = ''] = request.headers.find(([name]) => name.toLowerCase() === 'accept') ?? [];
  checkAnyReply(accept, reply, note);
  expectEqual('X-Request-Id', headers['x-request-id'], id);
  const called = calledBy(request);
  if (!called || body.length === 0 || request.method === 'HEAD' || status === 204 || status === 304) return;
  const type = typeOf(reply);
  if (type === 'application/jsonl') {
    const members = membersOfLine(body.toString());
    expectEqual('the number of replies', members.length, called.length);
    for (const [index, member] of members.entries()) checkCall(called[index], member, headers, note);
    return;
  }
  expectEqual('Content-Type', type, 'application/json');
  const parsed = JSON.parse(body.toString()) as unknown;
  if (Array.isArray(parsed)) {
    expectEqual('the number of replies', parsed.length, called.length);
    for (const [index, member] of parsed.entries()) checkCall(called[index], member, headers, note);
    return;
  }
  // Of a batch that fails as a whole, the path names no procedure.
  checkCall(called.length === 1 ? called[0] : undefined, parsed, headers, note);
};
