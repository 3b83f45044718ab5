// The load generator, in a process of its own: sends prepared requests over kept-alive connections, each as soon as its
// connection has had the answer to the one before. Does next to nothing else, since the servers measured need the CPU.
import { connect } from 'node:net';
import { answerLength, quantile, statusOf } from './answer.mjs';

/** The requests of each set, ready to be sent. */
const sets = new Map();

/**
 * Loads a server for a while. Resolves with the latencies in milliseconds and the number of answers other than 200, the
 * first of which makes it reject unless it is `tolerant`.
 */
const load = ({ port, set, connections, milliseconds, count = Number.POSITIVE_INFINITY, tolerant = false }) =>
  new Promise((resolve, reject) => {
    const requests = sets.get(set);
    const latencies = [];
    const began = performance.now();
    const deadline = began + milliseconds;
    let sent = 0;
    let open = connections;
    let failures = 0;
    const run = () => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true });
      let pending;
      let sentAt = 0;
      const send = () => {
        sentAt = performance.now();
        socket.write(requests[sent++ % requests.length]);
      };
      const fail = (error) => {
        socket.destroy();
        reject(error);
      };
      socket.on('connect', send);
      socket.on('error', fail);
      socket.on('close', () => fail(new Error('the server closed the connection')));
      socket.on('data', (chunk) => {
        const buffer = pending ? Buffer.concat([pending, chunk]) : chunk;
        const length = answerLength(buffer);
        if (length === undefined) {
          pending = buffer;
          return;
        }
        pending = undefined;
        if (statusOf(buffer) !== 200) {
          failures += 1;
          if (!tolerant) {
            fail(new Error(`an answer other than 200:\n${buffer.toString().slice(0, 1000)}`));
            return;
          }
        }
        const now = performance.now();
        latencies.push(now - sentAt);
        if (now < deadline && sent < count) {
          send();
          return;
        }
        socket.removeAllListeners('close').destroy();
        open -= 1;
        if (open === 0) resolve({ latencies, failures, milliseconds: now - began });
      });
    };
    for (let index = 0; index < connections; index += 1) run();
  });

const summary = ({ latencies, failures, milliseconds }) => {
  const sorted = Float64Array.from(latencies).toSorted();
  return {
    requests: sorted.length,
    failures,
    perSecond: (sorted.length / milliseconds) * 1000,
    p50: quantile(sorted, 0.5),
    p99: quantile(sorted, 0.99),
    worst: sorted.at(-1),
  };
};

process.on('message', ({ id, define, run }) => {
  if (define) {
    const requests = define.requests.map((request) => Buffer.from(request));
    sets.set(define.set, requests);
    process.send({ id });
    return;
  }
  load(run).then(
    (result) => process.send({ id, result: summary(result) }),
    (error) => process.send({ id, error: error.message }),
  );
});
