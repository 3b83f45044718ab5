import type { Request, Response } from 'express';
import { setImmediate, sleep } from '../base/runtime.ts';
import { holdsKey, operations, type Reason } from '../../contract/index.ts';
import { AppError } from '../base/errors.ts';
import { type ErrorDocs, errorReply, sendFailure } from '../http/message/failures.ts';
import { sendJson } from '../http/message/reply.ts';

export const DELAY = 'X-Sandbox-Delay';
export const STATUS = 'X-Sandbox-Status';
export const FAULT = 'X-Sandbox-Fault';
export const NAME = 'X-Sandbox-Name';
/** Names the injected fault in a reply that arrives. */
const INJECTED = 'X-Sandbox-Injected';

const LONGEST_MS = 30_000;
const MOST_TIMES = 100;
const LONGEST_RETRY_AFTER_S = 86_400;
/** The number of pieces of a slow body. */
const PIECES = 10;
/** The time for the sent part of a broken body to arrive before the connection is reset: a reset overtakes it. */
const ARRIVAL_MS = 50;

const NAMED = /^[\w.:-]{1,64}$/;

/** The failures of the service itself, and of a proxy in front of it. */
const reasons = { 429: 'RATE_LIMITED', 500: 'INTERNAL', 503: 'OVERLOADED' } as const;
/** The same for a write that is stored. */
const laterReasons = { 500: 'INTERNAL', 503: 'OUTCOME_UNKNOWN' } as const;
const proxies = { 502: 'Bad Gateway', 504: 'Gateway Timeout' } as const;
const statuses = Object.keys({ ...reasons, ...proxies });
const laterStatuses = Object.keys({ ...laterReasons, ...proxies });

/** The places where a request can fail, and the kinds of faults: before execution, after it, or in the answer. */
export const places = {
  before: [...statuses, 'reset', 'delay'],
  after: [...laterStatuses, 'reset', 'delay'],
  body: ['reset', 'close', 'truncate', 'drip'],
} as const;
export type FaultPlace = keyof typeof places;

/** The numbers of a fault, and their greatest values. */
const parameters = { times: MOST_TIMES, ms: LONGEST_MS, 'retry-after': LONGEST_RETRY_AFTER_S } as const;
type ParameterName = keyof typeof parameters;

/** A fault, on demand or by a seed. */
export interface InjectedFault {
  place: FaultPlace;
  kind: string;
  /** The number of attempts that fail; all attempts without it. */
  times?: number;
  /** The duration of `delay` and `drip`. */
  ms?: number;
  'retry-after'?: number;
}

/** The forms of the headers, for error messages and the guide. */
export const forms = {
  [DELAY]: `milliseconds from 0 to ${LONGEST_MS}`,
  [STATUS]: Object.keys(reasons).join(', '),
  [FAULT]:
    Object.entries(places)
      .map(([place, whats]) => `${place}=${whats.join('|')}`)
      .join(', or ') +
    `; then, each after a semicolon, times=1…${MOST_TIMES}, ms=0…${LONGEST_MS} for delay and drip, ` +
    `retry-after=0…${LONGEST_RETRY_AFTER_S} for a status; several, with a comma between, for attempts one after another`,
  [NAME]: '1 to 64 letters, digits and _ . : -, and no API key',
} as const;

const refuse = (header: keyof typeof forms): AppError =>
  new AppError('BAD_HTTP_REQUEST', { hint: `${header} takes ${forms[header]}.` });

const wholeNumber = (text: string, most: number): number | undefined =>
  /^[0-9]{1,9}$/.test(text) && Number(text) <= most ? Number(text) : undefined;

const has = <T extends object>(table: T, key: string): key is keyof T & string => Object.hasOwn(table, key);

/** `name=value`, without white space around either. */
const pairOf = (text: string): [name: string, value: string] => {
  const [name = '', ...value] = text.split('=');
  return [name.trim(), value.join('=').trim()];
};

const parseFault = (text: string): InjectedFault => {
  const [first, ...others] = text.split(';').map(pairOf);
  const [place, kind] = first ?? ['', ''];
  if (!has(places, place) || !(places[place] as readonly string[]).includes(kind)) throw refuse(FAULT);
  const fault: InjectedFault = { place, kind };
  for (const [name, value] of others) {
    const number =
      has(parameters, name) && fault[name] === undefined ? wholeNumber(value, parameters[name]) : undefined;
    if (number === undefined) throw refuse(FAULT);
    fault[name as ParameterName] = number;
  }
  const takesTime = kind === 'delay' || kind === 'drip';
  const isRight =
    fault.times !== 0 &&
    (fault.ms !== undefined) === takesTime &&
    (fault['retry-after'] === undefined || statuses.includes(kind));
  if (!isRight) throw refuse(FAULT);
  return fault;
};

/** A fault in the form of the header. */
export const faultText = ({ place, kind, ...numbers }: InjectedFault): string =>
  [`${place}=${kind}`, ...Object.entries(numbers).map(([name, number]) => `${name}=${number}`)].join('; ');

/** Names the fault in the reply. */
export const nameFault = ({ locals: { state } }: Response, fault: InjectedFault): void => {
  state.headers = [...state.headers, INJECTED, faultText(fault)];
};

/** The faults that a header asks for; only the last one may apply to all attempts. */
export const parseFaults = (header: string): InjectedFault[] => {
  const faults = header.split(',').map(parseFault);
  if (faults.slice(0, -1).some(({ times }) => times === undefined)) throw refuse(FAULT);
  return faults;
};

/** The fault that the attempt with this number meets, counted from 1. */
export const faultOf = (faults: readonly InjectedFault[], attempt: number): InjectedFault | undefined => {
  let rest = attempt;
  for (const fault of faults) {
    rest -= fault.times ?? rest;
    if (rest <= 0) return fault;
  }
  return undefined;
};

const reads: ReadonlySet<string | undefined> = new Set(
  operations.filter(({ effect }) => effect === 'read').map(({ id }) => id),
);

/** The faults that a request asks for, in the order in which they occur. */
export interface FaultPlan {
  delayMs: number;
  faults: InjectedFault[];
  /** The name under which attempts are counted, if they are. */
  name: string | undefined;
}

/** Whether a request itself asks for faults, or for none. */
export const asksForFaults = (request: Request): boolean =>
  [DELAY, STATUS, FAULT].some((name) => request.get(name) !== undefined);

/** Parses the faults that a request asks for. @throws AppError BAD_HTTP_REQUEST */
export const faultPlanOf = (request: Request): FaultPlan => {
  const delayMs = wholeNumber(request.get(DELAY) ?? '0', LONGEST_MS);
  if (delayMs === undefined) throw refuse(DELAY);
  const status = request.get(STATUS);
  if (status !== undefined && !has(reasons, status)) throw refuse(STATUS);
  const given = request.get(NAME);
  if (given !== undefined && (!NAMED.test(given) || holdsKey(given))) throw refuse(NAME);
  const header = request.get(FAULT);
  const faults = status === undefined ? (header === undefined ? [] : parseFaults(header)) : [];
  const isCounted = faults.some(({ times }) => times !== undefined);
  const key = request.get('Idempotency-Key');
  const name = given === undefined ? key && `key ${key}` : `name ${given}`;
  if (isCounted && name === undefined) {
    throw new AppError('BAD_HTTP_REQUEST', {
      hint: `times=… counts the attempts that have one ${NAME} or, without, one Idempotency-Key: send either.`,
    });
  }
  return {
    delayMs,
    faults: status === undefined ? faults : [{ place: 'before', kind: status }],
    name: isCounted ? name : undefined,
  };
};

/** Resolves after `ms` milliseconds, or when the client has disconnected. */
export const delay = async (response: Response, ms: number): Promise<void> => {
  if (ms === 0) return;
  const leaving = new AbortController();
  const leave = () => leaving.abort();
  response.once('close', leave);
  await sleep(ms, undefined, { signal: leaving.signal }).catch(() => undefined);
  response.off('close', leave);
};

/** Ends a connection with a reset, as if it broke. */
const reset = ({ socket }: Request): void => {
  socket.resetAndDestroy();
};

/** Answers with a status of `statuses`, as the service itself would, or as a proxy would. */
const fail = (response: Response, { place, kind, 'retry-after': retryAfter }: InjectedFault, docs: ErrorDocs): void => {
  const { requestId, procedure } = response.locals.state;
  for (const name of response.getHeaderNames()) response.removeHeader(name);
  const isUndone = place === 'before' || reads.has(procedure);
  const known: Partial<Record<string, Reason>> = isUndone ? reasons : laterReasons;
  const reason = known[kind];
  if (reason === undefined) {
    const title = `${kind} ${proxies[Number(kind) as keyof typeof proxies]}`;
    const patience = retryAfter === undefined ? [] : ['Retry-After', String(retryAfter)];
    sendJson(response, Number(kind), `<html><body><h1>${title}</h1></body></html>\n`, patience, 'text/html');
    return;
  }
  const error = new AppError(reason, retryAfter === undefined ? {} : { retryAfter });
  sendFailure(response, errorReply(error, procedure ?? null, requestId, docs));
};

/** Injects a fault before the request is handled. Returns whether the request may continue. */
export const failBefore = async (
  request: Request,
  response: Response,
  fault: InjectedFault,
  docs: ErrorDocs,
): Promise<boolean> => {
  if (fault.kind === 'delay') await delay(response, fault.ms ?? 0);
  else if (fault.kind === 'reset') reset(request);
  else fail(response, fault, docs);
  return fault.kind === 'delay' && !response.destroyed;
};

/** Sends a body in chunks over `ms` milliseconds. */
const drip = async (response: Response, body: Buffer, ms: number): Promise<void> => {
  const size = Math.max(1, Math.ceil(body.length / PIECES));
  response.flushHeaders();
  for (let start = 0; start < body.length && !response.destroyed; start += size) {
    await delay(response, ms / PIECES);
    response.write(body.subarray(start, start + size));
  }
  response.end();
};

/** Sends an answer, whose status and headers are set, with a fault in its body. */
const breakBody = async (
  request: Request,
  response: Response,
  body: Buffer,
  { kind, ms = 0 }: InjectedFault,
): Promise<void> => {
  const half = body.subarray(0, Math.floor(body.length / 2));
  if (kind === 'drip') {
    await drip(response, body, ms);
  } else if (kind === 'truncate') {
    response.setHeader('Content-Length', String(half.length));
    response.end(half);
  } else {
    await new Promise((resolve) => {
      response.write(half, resolve);
    });
    await delay(response, ARRIVAL_MS);
    if (kind === 'reset') reset(request);
    else request.socket.end();
  }
};

/** Injects a fault into the response of a request, which is sent in one piece. */
export const failLater = (request: Request, response: Response, fault: InjectedFault, docs: ErrorDocs): void => {
  const [writeHead, end] = [response.writeHead.bind(response), response.end.bind(response)];
  response.writeHead = (status: number, headers?: unknown) => {
    response.statusCode = status;
    const list = (headers ?? []) as string[];
    for (let index = 0; index < list.length; index += 2) {
      response.setHeader(list[index] as string, list[index + 1] as string);
    }
    return response;
  };
  response.end = (given?: unknown) => {
    // ts-rest ends again a response that its handler has ended.
    response.end = () => response;
    const body = Buffer.from((given ?? '') as string | Buffer);
    const happen = async (): Promise<void> => {
      Object.assign(response, { writeHead, end });
      if (fault.place === 'body') await breakBody(request, response, body, fault);
      else if (fault.kind === 'delay') {
        await delay(response, fault.ms ?? 0);
        response.end(body);
      } else if (fault.kind === 'reset') reset(request);
      else fail(response, fault, docs);
    };
    setImmediate(() => void happen());
    return response;
  };
};
