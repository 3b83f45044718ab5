import { types } from 'node:util';
import { withoutKeys } from '../../contract/index.ts';
import { currentTime } from '../base/runtime.ts';
import { REQUEST } from '../http/middleware/request-log.ts';
import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino';

/** The most causes of an error that are shown, and the most errors of an AggregateError. */
const MAX_DEPTH = 5;
const MAX_ERRORS = 10;
/** Members of errors that contain no values of callers: codes, and addresses of the service. */
const SAFE_MEMBERS = ['reason', 'code', 'errno', 'sqlState', 'errcode', 'errstr', 'syscall', 'address', 'port'];
/** Members that drivers and TypeORM add to errors of the database server. */
const SERVER_MEMBERS = ['sqlState', 'sqlMessage', 'errcode', 'driverError', 'query', 'parameters'];
/** Text from the first quote to the last: it may contain quotes. A quote within a word is an apostrophe. */
const QUOTED = /(?<!\w)["'`](?:[^]*["'`]|[^]*)/;

type DescribedError = Record<string, unknown>;

const isError = (value: unknown): value is Error => value instanceof Error || types.isNativeError(value);

/**
 * The message of an error without values of callers. Messages of the database server are left out, since they may
 * contain a value (`Duplicate entry 'my password' for key …`, a trigger's SIGNAL); the code tells the fault.
 */
const messageOf = (error: Error): string | undefined =>
  SERVER_MEMBERS.some((name) => name in error) ? undefined : error.message.replace(QUOTED, '"…"');

/** The frames of an error's stack. The stack begins with the message, which may look like a frame. */
const framesOf = ({ stack = '', message }: Error): string => {
  const frames = stack.slice(Math.max(stack.indexOf(message), 0) + message.length).split('\n');
  return frames.filter((line) => /^ {4}at \S/.test(line)).join('\n');
};

const describe = (error: unknown, depth: number): DescribedError => {
  if (!isError(error)) return { type: typeof error };
  const members = Object.entries(error).filter(([name, value]) => SAFE_MEMBERS.includes(name) && value !== undefined);
  const message = messageOf(error);
  const { cause, driverError, errors } = error as { cause?: unknown; driverError?: unknown; errors?: unknown };
  const deeper = cause ?? driverError;
  return {
    type: error.constructor.name,
    ...(message !== undefined && { message }),
    ...Object.fromEntries(members.filter(([, value]) => ['string', 'number'].includes(typeof value))),
    stack: framesOf(error),
    ...(Array.isArray(errors) &&
      depth > 0 && { errors: errors.slice(0, MAX_ERRORS).map((one) => describe(one, depth - 1)) }),
    ...(deeper !== undefined && depth > 0 && { cause: describe(deeper, depth - 1) }),
  };
};

/**
 * The description of an error in the log: type, codes, frames, and the same of its causes. It contains no values of
 * callers: no statements, parameters or messages of the database.
 */
export const describeError = (error: unknown): DescribedError => describe(error, MAX_DEPTH);

const options: LoggerOptions = {
  timestamp: () => `,"time":${currentTime()}`,
  serializers: { err: describeError },
  hooks: {
    // Otherwise pino uses the error's message as the message of the line.
    logMethod: function ([first, ...others], method) {
      const entry: unknown = isError(first) ? { err: first } : first;
      const isUnsaid = others.length === 0 && typeof entry === 'object' && entry !== null && 'err' in entry;
      method.apply(this, [entry, ...(isUnsaid ? ['failed'] : others)] as Parameters<typeof method>);
    },
    streamWrite: withoutKeys,
  },
};

/** The members of a request's line that people read. */
interface RequestLine {
  /** Undefined, like the path and the time, if the call did not use HTTP. */
  method?: string;
  path?: string;
  status: number;
  reason?: string;
  ms?: number;
  aborted?: true;
  requestId: string;
}

/** Files of pages. */
const STATIC = /\.(?:css|js|map|svg|png|ico|woff2?)$/;

/** `POST /api/trpc/game.list 400 VALIDATION_FAILED 3 ms`; if the service failed, also the id by which to find more. */
const requestText = ({ method, path, status, reason, ms, aborted, requestId }: RequestLine): string =>
  [
    method,
    path,
    aborted ? 'aborted' : status,
    reason,
    ms === undefined ? undefined : `${Math.round(ms)} ms`,
    status >= 500 ? requestId : undefined,
  ]
    .filter((part) => part !== undefined)
    .join(' ');

/**
 * Formats lines for people instead of JSON, with colors on a terminal, and omits requests for files of pages. Loaded on
 * demand, since programs read most logs.
 */
export const prettyLines = async (destination: DestinationStream, colorize: boolean): Promise<DestinationStream> => {
  const { prettyFactory } = await import('pino-pretty');
  const pretty = { colorize, translateTime: 'SYS:HH:MM:ss.l', ignore: 'pid,hostname', singleLine: true };
  const linesOf = prettyFactory(pretty);
  const requestLinesOf = prettyFactory({
    ...pretty,
    hideObject: true,
    messageFormat: (line) => requestText(line as unknown as RequestLine),
  });
  return {
    write: (line) => {
      if (!line.includes(`"msg":"${REQUEST}"`)) {
        destination.write(linesOf(line) ?? line);
        return;
      }
      const { path = '', status } = JSON.parse(line) as RequestLine;
      // Without the object, the formatter omits the end of the line.
      if (status >= 400 || !STATIC.test(path)) destination.write(`${requestLinesOf(line)?.trimEnd()}\n`);
    },
  };
};

/** A log of JSON lines. Errors belong under `err`. */
export const createLog = (level: string, destination: DestinationStream): Logger =>
  pino({ ...options, level }, destination);
