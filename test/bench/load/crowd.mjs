// A crowd, in a process of its own: many connections that each ask, wait for the answer, and ask again, until all leave at
// once in the middle of whatever they do. Told by an IPC message what to do; answers with what came of it.
import { connect } from 'node:net';
import { answerLength, quantile, statusOf } from './answer.mjs';

/** Connections are opened so many at a time, so that the crowd does not wait for its own connecting. */
const OPENED_AT_ONCE = 100;
const OPEN_EVERY_MS = 20;

const retryAfterOf = (buffer) => {
  const head = buffer.latin1Slice(0, buffer.indexOf('\r\n\r\n')).toLowerCase();
  const at = head.indexOf('\r\nretry-after:');
  return at === -1 ? 1 : Number.parseInt(head.slice(at + 14), 10);
};

/**
 * Asks for a while. `obedient`: whoever is refused comes back after `Retry-After`, else at once. Nothing of the first
 * `warmUpMs` is counted.
 */
const crowd = ({ port, requests, connections, milliseconds, warmUpMs, obedient }) =>
  new Promise((resolve) => {
    const texts = requests.map((request) => Buffer.from(request));
    const good = [];
    const refused = [];
    const statuses = {};
    const sockets = new Set();
    const began = performance.now();
    let next = 0;
    let broken = 0;
    let over = false;
    const run = () => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true });
      sockets.add(socket);
      let pending;
      let sentAt = 0;
      const send = () => {
        if (over) return;
        sentAt = performance.now();
        next += 1;
        socket.write(texts[next % texts.length]);
      };
      socket.on('connect', send);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        if (over) return;
        broken += 1;
        setTimeout(run, 1000);
      });
      socket.on('data', (chunk) => {
        const buffer = pending ? Buffer.concat([pending, chunk]) : chunk;
        if (answerLength(buffer) === undefined) {
          pending = buffer;
          return;
        }
        pending = undefined;
        const now = performance.now();
        const status = statusOf(buffer);
        if (now - began > warmUpMs) {
          statuses[status] = (statuses[status] ?? 0) + 1;
          (status < 500 && status !== 429 ? good : refused).push(now - sentAt);
        }
        if (obedient && (status === 503 || status === 429)) setTimeout(send, retryAfterOf(buffer) * 1000);
        else send();
      });
    };
    const open = () => {
      for (let count = 0; count < OPENED_AT_ONCE && sockets.size < connections; count += 1) run();
      if (sockets.size < connections && !over) setTimeout(open, OPEN_EVERY_MS);
    };
    open();
    setTimeout(() => {
      over = true;
      for (const socket of sockets) socket.resetAndDestroy();
      const seconds = (milliseconds - warmUpMs) / 1000;
      const summary = (latencies) => {
        const sorted = Float64Array.from(latencies).toSorted();
        const [p50, p99, worst] = [quantile(sorted, 0.5), quantile(sorted, 0.99), sorted.at(-1)];
        return { perSecond: sorted.length / seconds, p50, p99, worst };
      };
      resolve({ good: summary(good), refused: summary(refused), statuses, broken });
    }, milliseconds);
  });

process.on('message', ({ id, order }) => {
  void crowd(order).then((result) => process.send({ id, result }));
});
