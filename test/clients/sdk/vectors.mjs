// What an SDK made of the scripted exchanges, held against what it has to make of them.
import { isDeepStrictEqual } from 'node:util';
import { readFileSync } from 'node:fs';

const root = new URL('../../../', import.meta.url);
const read = (path) => JSON.parse(readFileSync(new URL(path, root), 'utf8'));

const { vectors: all } = read('openapi/sdk/vectors.json');

const USER_AGENT =
  /^content-gateway-(typescript|python|go|java|rust)\/\d+\.\d+\.\d+ \(contract \d+\.\d+\.\d+; \w+ \S+\)/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
/** How exactly an exact wait is met, in seconds. */
const TOLERANCE = 0.001;
const MOST_ISSUES = 10;
/** How each SDK names the option that gives a client its key. */
const KEY_OPTIONS = { typescript: 'apiKey', python: 'api_key', go: 'WithAPIKey', java: 'apiKey', rust: 'api_key' };
/** What is compared of an attempt as its hook tells it, beside its wait. */
const EVENT_MEMBERS = ['operation', 'attempt', 'status', 'reason', 'error', 'requestId'];

const show = (value) => JSON.stringify(value) ?? 'nothing';

/** `expected` is a number, or a range of them. */
const isWithin = (expected, value) => {
  const [least, most] = Array.isArray(expected) ? expected : [expected - TOLERANCE, expected + TOLERANCE];
  return typeof value === 'number' && value >= least - TOLERANCE && value <= most + TOLERANCE;
};

const parsed = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** The failure that a reply tells of, if it does in the gateway's envelope. */
const failureIn = (reply) => parsed(reply?.body ?? '')?.error?.json;

const keyHint = (product) => `Give ${KEY_OPTIONS[product]}, or set CONTENT_GATEWAY_API_KEY.`;

/** The text of an error, as all SDKs word what the service answers. */
const textOf = (operation, { message, data }, { retryAfter, attempts, key, product }) => {
  const issues = data.issues ?? [];
  const named = issues.slice(0, MOST_ISSUES).map(({ path, message: fault }) => `${path || '(input)'}: ${fault}`);
  const more = issues.length > MOST_ISSUES ? [`and ${issues.length - MOST_ISSUES} more`] : [];
  const hint = data.reason === 'KEY_MISSING' && key === null ? keyHint(product) : data.hint;
  return [
    `${operation}: ${data.httpStatus} ${data.reason}: ${message}`,
    ...(issues.length > 0 ? [`Issues: ${[...named, ...more].join('; ')}.`] : []),
    ...(hint ? [`Hint: ${hint}`] : []),
    ...(retryAfter > 0 ? [`Retry after ${Math.ceil(retryAfter)} s.`] : []),
    `(request ${data.requestId}${attempts > 1 ? `, after ${attempts} attempts` : ''})`,
  ].join(' ');
};

/** What follows from the last reply for the error that is raised. */
const expectedError = (vector, seen, { key, baseUrl, product, came }) => {
  const last = seen.at(-1);
  const operation = operationOf(vector, seen.length - 1);
  const failure = failureIn(last?.reply);
  const common = {
    operation,
    attempts: vector.expect.error.attempts ?? vector.expect.attempts,
    idempotencyKey: last?.headers['idempotency-key'] ?? (key && vector.connect ? undefined : null),
  };
  if (!failure) return common;
  const { code, httpStatus: status, reason, requestId, issues = [], hint = null, docs = null } = failure.data;
  const after = last.reply.headers['Retry-After'];
  const { attempts } = common;
  // The text has the seconds of the error, whose own are compared beside it.
  const retryAfter = came.error?.retryAfter ?? null;
  return {
    ...common,
    status,
    reason,
    code,
    message: failure.message,
    issues,
    hint,
    docs: docs?.startsWith('/') ? baseUrl + docs : docs,
    requestId,
    retryAfter: /^\d+(\.\d+)?$/.test(after ?? '') ? Number(after) : null,
    text: textOf(operation, failure, { retryAfter, attempts, key, product }),
  };
};

/** Collects what differs, in words. */
const differencesOf = () => {
  const found = [];
  return {
    found,
    same: (what, expected, came) => {
      if (!isDeepStrictEqual(came ?? null, expected ?? null)) {
        found.push(`${what} should be ${show(expected)}, is ${show(came)}`);
      }
    },
    that: (holds, text) => {
      if (!holds) found.push(text);
    },
  };
};

/** The operation of a request. */
const operationOf = ({ call, expect }, index) => expect.operations?.[index] ?? call.operation;

const checkRequest = ({ same, that }, vector, seen, index, { key, writes, product }) => {
  const { method, path, headers, body, reply } = seen[index];
  const { input = {}, times } = vector.call;
  const operation = operationOf(vector, index);
  const isStream = operation === 'event.tail';
  const at = `request ${index + 1}`;
  that(reply !== null, `${at} is one too many`);
  same(`${at}: method`, isStream ? 'GET' : 'POST', method);
  same(`${at}: path`, `/api/trpc/${operation}`, path);
  const type = isStream ? headers.accept : headers['content-type'];
  that(type?.startsWith(isStream ? 'text/event-stream' : 'application/json'), `${at}: content type ${type}`);
  same(`${at}: Authorization`, key === null ? undefined : `Bearer ${key}`, headers.authorization);
  that(USER_AGENT.test(headers['user-agent']), `${at}: User-Agent ${headers['user-agent']}`);
  that(headers['user-agent']?.startsWith(`content-gateway-${product}/`), `${at}: User-Agent ${headers['user-agent']}`);
  that(
    headers['user-agent']?.endsWith(vector.expect.userAgentEnd ?? ')'),
    `${at}: the end of User-Agent ${headers['user-agent']}`,
  );
  same(`${at}: body`, { json: vector.expect.inputs?.[index] ?? input }, parsed(body));
  const before = seen.slice(0, index).toReversed();
  const sameBefore = before.findIndex((other) => other.body !== body || other.path !== path);
  const retries = times ? 0 : sameBefore === -1 ? before.length : sameBefore;
  same(`${at}: X-Retry-Count`, retries === 0 ? undefined : String(retries), headers['x-retry-count']);
  const idempotencyKey = headers['idempotency-key'];
  if (!writes) same(`${at}: Idempotency-Key`, undefined, idempotencyKey);
  else if (vector.call.options?.idempotencyKey === undefined) {
    that(UUID.test(idempotencyKey), `${at}: Idempotency-Key ${idempotencyKey} is no UUID`);
  }
  same(`${at}: Idempotency-Key`, seen[0].headers['idempotency-key'], idempotencyKey);
  for (const [name, value] of Object.entries(vector.expect.headers ?? {})) same(`${at}: ${name}`, value, headers[name]);
};

const checkError = ({ same, that }, vector, came, seen, { key, base, baseUrl, otherOrigin, product }) => {
  const { type, text, textStart, textPart, ...members } = vector.expect.error;
  const error = came.error ?? {};
  same('error.type', type, error.type);
  const expected = { ...expectedError(vector, seen, { key, baseUrl, product, came }), ...members };
  const filledIn = (words) =>
    words.replaceAll('{base}', base).replaceAll('{other}', otherOrigin).replaceAll('{apiKey}', KEY_OPTIONS[product]);
  for (const [name, value] of Object.entries(expected)) {
    if (name === 'text' || value === undefined) continue;
    if (name === 'retryAfter' && value !== null) {
      that(
        isWithin(value, error.retryAfter),
        `error.retryAfter should be ${show(value)}, is ${show(error.retryAfter)}`,
      );
    } else if (name !== 'body') same(`error.${name}`, value, error[name]);
  }
  const wording = text === undefined ? expected.text : filledIn(text);
  if (wording !== undefined) same('the text', wording, came.text);
  if (textStart !== undefined) that(came.text?.startsWith(filledIn(textStart)), `the text is ${show(came.text)}`);
  if (textPart !== undefined) that(came.text?.includes(textPart), `the text is ${show(came.text)}`);
};

/** Whether the client had a whole reply to this request: its connection stayed open, and its time was not over. */
const isWhole = ({ end, stream, delayMs = 0, pauseMs = 0 }, { timeoutMs = Infinity } = {}) =>
  (stream ? stream.length > 0 : end === undefined) && delayMs + pauseMs < timeoutMs;

/** Holds the attempts that the hook was told of against the requests that came. */
const checkEvents = ({ same, that }, vector, came, seen) => {
  const { events } = came;
  const { call, connect, expect, replies = [] } = vector;
  if (!Array.isArray(events)) {
    that(false, 'the hook was told of no attempts');
    return;
  }
  const isConnected = connect === undefined || connect === 'proxy';
  const attempts = isConnected ? seen.length : expect.attempts;
  // An attempt that is cancelled is none that ended.
  same('attempts told', call.cancel === 'during-reply' ? attempts - 1 : attempts, events.length);
  for (const [index, event] of events.entries()) {
    const retries = Number(seen[index]?.headers['x-retry-count'] ?? (isConnected ? 0 : index));
    const reply = seen[index]?.reply;
    const isAnswered = reply && isWhole(replies[index], call.options);
    const stream = replies[index]?.stream;
    // A failure that comes later in a stream is none of the attempt that opened it.
    const failure = isAnswered && (!stream || stream[0].failure) ? failureIn(reply) : undefined;
    const status = isAnswered ? (failure?.data.httpStatus ?? reply.status) : null;
    // What is no output of the gateway fails at each attempt.
    const isForeign = status === 200 && replies[index].text !== undefined;
    const isFailed = (index === events.length - 1 || isForeign) && !(stream && !stream[0]?.failure);
    const failed = isFailed ? expect.error?.type : undefined;
    const expected = {
      operation: operationOf(vector, index),
      attempt: retries + 1,
      status,
      reason: failure?.data.reason ?? null,
      error: failed ?? (status === 200 ? null : event.error),
      requestId: status === null ? null : `request-${index + 1}`,
    };
    for (const name of EVENT_MEMBERS) same(`attempt told ${index + 1}: ${name}`, expected[name], event[name]);
    that(status === 200 || Boolean(event.error), `attempt told ${index + 1}: it has no error`);
  }
  // A stream that breaks is no attempt, and the wait until the next none between attempts.
  if (call.form === 'tail' || call.form === 'follow') return;
  const waits = events.map(({ wait }) => wait ?? null).filter((wait) => wait !== null);
  that(
    waits.length === came.waits?.length && waits.every((wait, index) => isWithin(wait, came.waits[index])),
    `waits told should be ${show(came.waits)}, are ${show(waits)}`,
  );
};

/** What an SDK did otherwise than a vector wants, in words; nothing if all is well. */
const differences = (vector, came, seen, { run, url, product, operations, key, baseUrl }) => {
  const found = differencesOf();
  const { same, that } = found;
  const { expect, connect, call } = vector;
  if (!came) return ['it printed nothing'];
  if (came.skipped && (call.cancel || vector.typed)) return [];
  const { waits = [] } = came;
  const attempts = connect && connect !== 'proxy' ? came.error?.attempts : seen.length;
  same('attempts', expect.attempts, attempts);
  const wanted = expect.waits ?? [];
  that(
    waits.length === wanted.length && wanted.every((wait, index) => isWithin(wait, waits[index])),
    `waits should be ${show(wanted)}, are ${show(waits)}`,
  );
  // An operation that the SDK does not know may be one that writes.
  const mayWrite = operations.get(call.operation)?.writes ?? call.operation !== 'event.tail';
  if (expect.atOnce) same('requests at once', expect.atOnce, Math.max(...seen.map(({ atOnce }) => atOnce)));
  seen.forEach((_, index) => checkRequest(found, vector, seen, index, { key, writes: mayWrite, product }));
  // Attempts that are made at once end in any order.
  if (!call.times) checkEvents(found, vector, came, seen);
  for (const part of ['ok', 'meta']) {
    for (const [name, value] of Object.entries(expect[part] ?? {})) same(`${part}.${name}`, value, came[part]?.[name]);
  }
  if (expect.ok && !call.times) same('meta.requestId', `request-${expect.attempts}`, came.meta?.requestId);
  if (expect.items) same('items', expect.items, came.items);
  same('cancelled', expect.cancelled, came.cancelled || undefined);
  if (expect.error) {
    const base = new URL(baseUrl).origin;
    const otherOrigin = url.replace('127.0.0.1', 'localhost');
    checkError(found, vector, came, seen, { key, base, baseUrl, otherOrigin, product });
  } else same('error', undefined, came.error);
  if (key !== null) that(!JSON.stringify(came).includes(key), 'the key can be read in what it printed');
  that(!JSON.stringify(came).includes('cgk_'), `${run} printed a key`);
  return found.found;
};

const operationsOf = (build) =>
  new Map(JSON.parse(readFileSync(`${build}/operations.json`, 'utf8')).map((operation) => [operation.id, operation]));

const pathsIn = (document) => new Set(Object.keys(JSON.parse(readFileSync(document, 'utf8')).paths));

/** The vectors for an SDK of a document: all but those of operations that the document of today alone has. */
export const vectorsFor = (document) => {
  const [own, known] = [document, new URL('openapi/openapi.json', root)].map(pathsIn);
  return all.filter(({ call: { operation } }) => {
    const path = `/api/trpc/${operation}`;
    return own.has(path) || !known.has(path);
  });
};

// On a connection of its own: while an SDK runs, nobody here would notice that the server closes one that idles.
const ask = async (url) => (await fetch(url, { headers: { connection: 'close' } })).json();

/**
 * Holds a run against the vectors.
 *
 * @param server `{url}` of the fault server
 * @param run its name there; `product` the language in its `User-Agent`
 * @param vectors those that the server has; `build` where the SDK was generated
 * @param output what the program printed: a line of JSON for each vector
 * @returns of each vector, `{name, found, skipped}`: what it did otherwise, in words; and why it did not play it, which only a
 *   client whose calls cannot be cancelled, or that checks no types, may
 */
export const compareRun = async (server, { run, product, vectors, build, output }) => {
  const printed = new Map(
    output
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line))
      .map((line) => [line.name, line]),
  );
  const seen = await ask(`${server.url}/seen?run=${run}`);
  const told = await ask(`${server.url}/vectors?run=${run}`);
  const operations = operationsOf(build);
  return vectors.map((vector, index) => {
    const { key, baseUrl } = told[index];
    const more = { run, url: server.url, product, operations, key, baseUrl };
    const came = printed.get(vector.name);
    const found = differences(vector, came, seen[vector.name] ?? [], more);
    return { name: vector.name, found, skipped: came?.skipped };
  });
};
