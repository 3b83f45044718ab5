// Looks how a single caller fares, in a process of its own: `/healthz` on a new connection each 50 ms, and one read after
// the other on one connection.
import { connect } from 'node:net';
import { answerLength, quantile, statusOf } from './answer.mjs';

const HEALTH_EVERY_MS = 50;
/** Between two reads, so that the probe is no load of its own. */
const PAUSE_MS = 5;
const GIVE_UP_MS = 10_000;
const HEALTH = 'GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n';

/** What happened, in the order of its end: `{at, ms, ok}`. */
let healthz = [];
let reads = [];
let stopped = true;

/** Sends a text on a connection of its own, or on `socket`. Resolves with the status, 0 for none. */
const ask = (port, text, socket) =>
  new Promise((resolve) => {
    const own = socket ?? connect({ port, host: '127.0.0.1', noDelay: true });
    let buffer = Buffer.alloc(0);
    const finish = (status) => {
      clearTimeout(timer);
      own.off('data', onData).off('close', onClose);
      if (!socket) own.destroy();
      resolve(status);
    };
    const onClose = () => finish(0);
    const onData = (chunk) => {
      buffer = Buffer.concat([buffer, chunk]);
      if (answerLength(buffer) !== undefined) finish(statusOf(buffer));
    };
    const timer = setTimeout(() => finish(0), GIVE_UP_MS);
    if (!socket) own.on('error', () => undefined);
    own.on('data', onData).on('close', onClose);
    own.write(text);
  });

const timed = async (list, work) => {
  const began = performance.now();
  const status = await work();
  const now = performance.now();
  list.push({ at: now, ms: now - began, ok: status === 200 });
};

const watch = (port, requests) => {
  stopped = false;
  healthz = [];
  reads = [];
  const timer = setInterval(() => {
    if (stopped) clearInterval(timer);
    else void timed(healthz, () => ask(port, HEALTH));
  }, HEALTH_EVERY_MS);
  const read = async () => {
    let socket;
    for (let index = 0; !stopped; index += 1) {
      if (!socket || socket.destroyed) {
        socket = connect({ port, host: '127.0.0.1', noDelay: true }).on('error', () => undefined);
      }
      const used = socket;
      await timed(reads, async () => {
        const status = await ask(port, requests[index % requests.length], used);
        if (status === 0) used.destroy();
        return status;
      });
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  };
  void read();
};

const summary = (list) => {
  const sorted = Float64Array.from(list.map(({ ms }) => ms)).toSorted();
  const failed = list.filter(({ ok }) => !ok).length;
  return { count: list.length, failed, p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99), worst: sorted.at(-1) };
};

/** How long after `since` the last thing ended that failed or took longer than `ms`. */
const lastSlow = (list, since, ms) =>
  Math.max(0, ...list.filter((one) => one.at > since && (!one.ok || one.ms > ms)).map(({ at }) => at - since));

let markedAt = 0;
const orders = {
  watch: ({ port, requests }) => watch(port, requests),
  /** Begins anew to collect. */
  mark: () => {
    const result = { healthz: summary(healthz), read: summary(reads) };
    healthz = [];
    reads = [];
    markedAt = performance.now();
    return result;
  },
  /** How long from the last mark on it took until all was as quick as it is to be, in milliseconds. */
  normal: ({ healthzMs, readMs }) =>
    Math.max(lastSlow(healthz, markedAt, healthzMs), lastSlow(reads, markedAt, readMs)),
  stop: () => {
    stopped = true;
  },
};

process.on('message', ({ id, order: { name, ...rest } }) => {
  process.send({ id, result: orders[name](rest) });
});
