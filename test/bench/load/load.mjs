import { fileURLToPath } from 'node:url';
import { start } from '../machine/processes.mjs';

const GENERATOR = fileURLToPath(new URL('generator.mjs', import.meta.url));

/** A POST as it goes over the wire. */
const postText = (path, body, headers = []) =>
  [
    `POST ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    'Content-Type: application/json',
    ...headers,
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n');

/** A request to a procedure, as it goes over the wire. `key` is that of the caller, if any. */
export const requestText = (procedure, input, key) =>
  postText(
    `/api/trpc/${procedure}`,
    JSON.stringify({ json: input }),
    key === undefined ? [] : [`Authorization: Bearer ${key}`],
  );

/** A batch of calls of one procedure. */
export const batchText = (procedure, inputs) =>
  postText(
    `/api/trpc/${inputs.map(() => procedure).join(',')}?batch=1`,
    JSON.stringify(Object.fromEntries(inputs.map((json, index) => [index, { json }]))),
  );

/** A tool call of MCP. */
export const toolText = (name, input) =>
  postText(
    '/mcp',
    JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } }),
    ['Accept: application/json, text/event-stream'],
  );

/**
 * Starts the load generator.
 *
 * @returns
 * - `define(set, requests)` gives it requests to send in turn: texts, or `{text, isKeyed}` when callers have keys
 * - `run({port, set, connections, milliseconds, …})` loads a server; more options:
 *   `count`: the most requests; `warmUpMs`: at first nothing counts; `pauseMs`: between an answer and the next request;
 *   `callers`: `{address, key}` of each connection in turn; `obedient`: a refused caller waits for `Retry-After`;
 *   `tolerant`: statuses other than 2xx, 429 and 503, and lost connections, are counted, where else it rejects.
 *   It resolves with `requests` that ended, out of them `answered` (2xx), `refused` (429, 503) and `other`, `statuses`,
 *   and `whole`, these three with the warm-up; `perSecond` and the latencies `p50`, `p99` and `worst` in milliseconds of
 *   what was answered, and `earlyP99` of what was sent in `warmUpMs`; `refusedPerSecond`, `refusedP50` and `refusedP99`
 * - `watchHealth({port, milliseconds, warmUpMs})` asks `/healthz` on new connections: `asked`, `failed`, `p50`, `p99`,
 *   `worst`, and the same of the time of `warmUpMs` as `arriving`
 * - `stop()` ends it, or else it ends with this process
 */
export const startLoad = () => {
  const { child } = start(process.execPath, [GENERATOR], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const waiting = new Map();
  let lastId = 0;
  child.on('message', ({ id, result, error }) => {
    const { resolve, reject } = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) resolve(result);
    else reject(new Error(error));
  });
  const ask = (name, order) =>
    new Promise((resolve, reject) => {
      lastId += 1;
      waiting.set(lastId, { resolve, reject });
      child.send({ id: lastId, name, order });
    });
  return {
    define: (set, requests) =>
      ask('define', { set, requests: requests.map((one) => (typeof one === 'string' ? { text: one } : one)) }),
    run: (order) => ask('run', order),
    watchHealth: (order) => ask('watchHealth', order),
    stop: () => child.disconnect(),
  };
};
