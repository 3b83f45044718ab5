// The load generator, in a process of its own: sends prepared requests over kept-alive connections, each as soon as its
// connection has had the answer to the one before. Does next to nothing else, since the servers measured need the CPU.
import { connect } from 'node:net';
import { answerLength, isLastReply, kindOf, retryAfterMs, statusOf } from './answer.mjs';
import { quantile } from '../../harness/quantile.mjs';

/** More would overflow the server's backlog, and wait a second for the next attempt. */
const OPENED_AT_ONCE = 100;
const OPEN_EVERY_MS = 20;
const RECONNECT_MS = 1000;
/** How long after the end the last replies may take. */
const GRACE_MS = 5000;
const HEALTH_EVERY_MS = 20;
const HEALTH_TIMEOUT_MS = 10_000;
const HEALTH = 'GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n';

/** The requests of each set, ready to be sent. */
const sets = new Map();

/** A request cut after its first line, where the headers of a caller go. */
const prepared = ({ text, isKeyed = false }) => {
  const cut = text.indexOf('\r\n') + 2;
  return {
    whole: Buffer.from(text),
    line: Buffer.from(text.slice(0, cut)),
    rest: Buffer.from(text.slice(cut)),
    isKeyed,
    isMcp: text.startsWith('POST /mcp '),
  };
};

/** The headers of a caller for requests that need a key, and for others. */
const identityOf = ({ address, key }) => {
  const forwarded = `X-Forwarded-For: ${address}\r\n`;
  return { plain: Buffer.from(forwarded), keyed: Buffer.from(`${forwarded}Authorization: Bearer ${key}\r\n`) };
};

const summaryOf = (latencies) => {
  const sorted = Float64Array.from(latencies).toSorted();
  return { p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99), worst: sorted.at(-1) };
};

/**
 * Loads a server for a while, as `startLoad` in load.mjs describes. Replies of the first `warmUpMs` count only for `whole`, and
 * requests that were sent in them have latencies of their own.
 */
const load = (order) =>
  new Promise((resolve, reject) => {
    const { port, set, connections, milliseconds, count = Number.POSITIVE_INFINITY, warmUpMs = 0, pauseMs = 0 } = order;
    const { callers, tolerant = false, obedient = false } = order;
    const requests = sets.get(set);
    const identities = callers?.map(identityOf);
    const latencies = { answered: [], refused: [] };
    const early = [];
    const ended = { answered: 0, refused: 0, other: 0 };
    const whole = { answered: 0, refused: 0, other: 0 };
    const inTime = { answered: 0, refused: 0, other: 0 };
    const statuses = {};
    const sockets = new Set();
    const began = performance.now();
    const deadline = began + milliseconds;
    let [sent, open, opened, last] = [0, connections, 0, began];
    let grace;
    const note = (kind, status, ms) => {
      const now = performance.now();
      whole[kind] += 1;
      if (now - began < warmUpMs) return;
      last = now;
      statuses[status] = (statuses[status] ?? 0) + 1;
      ended[kind] += 1;
      if (now <= deadline) inTime[kind] += 1;
      if (now - ms - began >= warmUpMs) latencies[kind]?.push(ms);
      else if (kind === 'answered') early.push(ms);
    };
    const isOver = () => performance.now() >= deadline || sent >= count;
    const finish = () => {
      clearTimeout(grace);
      // After a warm-up as many requests are under way when the time begins as when it ends; without one, none are.
      const seconds = (warmUpMs > 0 ? milliseconds - warmUpMs : last - began) / 1000;
      const counted = warmUpMs > 0 ? inTime.answered : ended.answered;
      const { answered, refused, other } = ended;
      const ofRefused = summaryOf(latencies.refused);
      resolve({
        requests: answered + refused + other,
        answered,
        refused,
        other,
        whole,
        perSecond: counted / seconds,
        ...summaryOf(latencies.answered),
        earlyP99: summaryOf(early).p99,
        refusedPerSecond: (warmUpMs > 0 ? inTime.refused : refused) / seconds,
        refusedP50: ofRefused.p50,
        refusedP99: ofRefused.p99,
        statuses,
      });
    };
    const leave = () => {
      open -= 1;
      if (open === 0) finish();
    };
    const fail = (error) => {
      clearTimeout(grace);
      for (const socket of sockets) socket.removeAllListeners('close').destroy();
      reject(error);
    };

    const run = (index) => {
      if (isOver()) {
        leave();
        return;
      }
      const identity = identities?.[index % identities.length];
      const socket = connect({ port, host: '127.0.0.1', noDelay: true });
      sockets.add(socket);
      let pending;
      let sentAt = 0;
      let request;
      let isClosing = false;
      const send = () => {
        if (isOver()) {
          socket.removeAllListeners('close').destroy();
          sockets.delete(socket);
          leave();
          return;
        }
        request = requests[sent++ % requests.length];
        const { line, rest, isKeyed } = request;
        sentAt = performance.now();
        socket.write(identity ? Buffer.concat([line, isKeyed ? identity.keyed : identity.plain, rest]) : request.whole);
      };
      socket.on('connect', send);
      socket.on('error', (error) => {
        if (!tolerant) fail(error);
      });
      socket.on('close', () => {
        sockets.delete(socket);
        if (isClosing) {
          run(index);
          return;
        }
        if (!tolerant) {
          fail(new Error('the server closed the connection'));
          return;
        }
        note('other', 'broken', 0);
        setTimeout(run, RECONNECT_MS, index);
      });
      socket.on('data', (chunk) => {
        const buffer = pending ? Buffer.concat([pending, chunk]) : chunk;
        if (answerLength(buffer) === undefined) {
          pending = buffer;
          return;
        }
        pending = undefined;
        const kind = kindOf(buffer, request.isMcp);
        if (kind === 'other' && !tolerant) {
          fail(new Error(`neither an answer nor a refusal:\n${buffer.toString().slice(0, 1000)}`));
          return;
        }
        note(kind, statusOf(buffer), performance.now() - sentAt);
        if (kind !== 'answered' && isLastReply(buffer)) {
          isClosing = true;
          socket.end();
          return;
        }
        const waitMs = obedient && kind === 'refused' ? retryAfterMs(buffer) : pauseMs;
        if (waitMs > 0) setTimeout(send, Math.min(waitMs, Math.max(0, deadline - performance.now())));
        else send();
      });
    };
    const openSome = () => {
      for (let n = 0; n < OPENED_AT_ONCE && opened < connections; n += 1) run(opened++);
      if (opened < connections) setTimeout(openSome, OPEN_EVERY_MS);
    };
    grace = setTimeout(() => {
      for (const socket of sockets) {
        socket.removeAllListeners('close').destroy();
        note('other', 'none', 0);
      }
      finish();
    }, milliseconds + GRACE_MS);
    openSome();
  });

/** Asks `/healthz` on a new connection. Resolves with the milliseconds, undefined for none or another status. */
const askHealth = (port) =>
  new Promise((resolve) => {
    const began = performance.now();
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    let buffer = Buffer.alloc(0);
    const finish = (isGood) => {
      clearTimeout(timer);
      socket.removeAllListeners('close').destroy();
      resolve(isGood ? performance.now() - began : undefined);
    };
    const timer = setTimeout(finish, HEALTH_TIMEOUT_MS, false);
    socket.on('error', () => undefined);
    socket.on('close', () => finish(false));
    socket.on('data', (chunk) => {
      buffer = Buffer.concat([buffer, chunk]);
      if (answerLength(buffer) !== undefined) finish(statusOf(buffer) === 200);
    });
    socket.write(HEALTH);
  });

const healthOf = (times) => {
  const good = times.filter((ms) => ms !== undefined);
  return { asked: times.length, failed: times.length - good.length, ...summaryOf(good) };
};

/** Asks `/healthz` at a steady pace, however long the answers take; while a crowd arrives, that counts by itself. */
const watchHealth = async ({ port, milliseconds, warmUpMs = 0 }) => {
  const early = [];
  const asked = [];
  const began = performance.now();
  await new Promise((resolve) => {
    const timer = setInterval(() => {
      const ms = performance.now() - began;
      if (ms > milliseconds) resolve(clearInterval(timer));
      else (ms < warmUpMs ? early : asked).push(askHealth(port));
    }, HEALTH_EVERY_MS);
  });
  return { ...healthOf(await Promise.all(asked)), arriving: healthOf(await Promise.all(early)) };
};

const orders = {
  define: ({ set, requests }) => void sets.set(set, requests.map(prepared)),
  run: load,
  watchHealth,
};

process.on('message', ({ id, name, order }) => {
  Promise.resolve(orders[name](order)).then(
    (result) => process.send({ id, result }),
    (error) => process.send({ id, error: error.message }),
  );
});
