/**
 * A crowd in a process of its own, so that whoever measures beside it has an event loop for itself:
 *   node crowd.mjs <service> <connections> <milliseconds>
 * Each connection searches, again and again, as fast as it is answered. Writes a line of JSON at the end:
 * `{statuses, connected, failed, refusedMs, admittedMs}`. Plain JavaScript, since Node 20 runs it as it is.
 */
import { Agent, request } from 'node:http';

const [base, connections, ms] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const statuses = {};
const times = { admitted: [], refused: [] };
let [failed, connected, stopped] = [0, 0, false];

const words = ['game', 'test', 'moon', 'star', 'ra', 'go', 'の', '海', '伝説', 'dragon'];

const search = (agent, n) =>
  new Promise((resolve) => {
    const body = JSON.stringify({
      json: { limit: 20, page: 1, search: `${words[n % words.length]} ${words[(n * 7 + 3) % words.length]}` },
    });
    const at = performance.now();
    const asked = request(`${base}/api/trpc/game.list`, {
      method: 'POST',
      agent,
      headers: { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) },
    });
    asked.on('response', (answer) => {
      answer.resume();
      answer.on('end', () => {
        statuses[answer.statusCode] = (statuses[answer.statusCode] ?? 0) + 1;
        times[answer.statusCode === 200 ? 'admitted' : 'refused'].push(performance.now() - at);
        resolve();
      });
      answer.on('error', resolve);
    });
    asked.on('error', () => {
      if (!stopped) failed += 1;
      setTimeout(resolve, 100);
    });
    asked.on('socket', (socket) => {
      if (!socket.connecting) return;
      socket.once('connect', () => {
        connected += 1;
      });
    });
    asked.end(body);
  });

const agents = Array.from({ length: connections }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
const run = async (agent, first) => {
  for (let n = first; !stopped; n += 13) {
    await search(agent, n);
    // A refused client that obeys would rest for a second; this one does not, but lets others run.
    await new Promise((resume) => setTimeout(resume, 50));
  }
};
const quantile = (values, share) =>
  Math.round(values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(values.length * share) - 1)] ?? 0);

agents.forEach((agent, index) => void run(agent, index));
setTimeout(() => {
  stopped = true;
  for (const agent of agents) agent.destroy();
  const of = (values) => ({ p50: quantile(values, 0.5), p99: quantile(values, 0.99) });
  const result = { statuses, connected, failed, refusedMs: of(times.refused), admittedMs: of(times.admitted) };
  process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit());
}, ms);
