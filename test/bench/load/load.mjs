import { fileURLToPath } from 'node:url';
import { start } from '../machine/processes.mjs';

const GENERATOR = fileURLToPath(new URL('generator.mjs', import.meta.url));

/** A request to a procedure, as it goes over the wire. `key` is that of the caller, if any. */
export const requestText = (procedure, input, key) => {
  const body = JSON.stringify({ json: input });
  return [
    `POST /api/trpc/${procedure} HTTP/1.1`,
    'Host: 127.0.0.1',
    'Content-Type: application/json',
    ...(key ? [`Authorization: Bearer ${key}`] : []),
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n');
};

/**
 * Starts the load generator.
 *
 * @returns `define(set, requests)`, which gives it requests to send in turn, and
 *   `run({port, set, connections, milliseconds, count?, tolerant?})`, which resolves with `requests` answered, `failures`
 *   among them, `perSecond`, and the latencies `p50`, `p99` and `worst` in milliseconds; unless `tolerant`, it rejects at
 *   the first answer that is not 200; `stop()`, which ends it, or else it ends with this process
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
  const ask = (message) =>
    new Promise((resolve, reject) => {
      lastId += 1;
      waiting.set(lastId, { resolve, reject });
      child.send({ id: lastId, ...message });
    });
  return {
    define: (set, requests) => ask({ define: { set, requests } }),
    run: (run) => ask({ run }),
    stop: () => child.disconnect(),
  };
};
