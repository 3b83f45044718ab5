/**
 * A crowd in a process of its own, so that whoever measures beside it has an event loop for itself:
 *   node crowd.mjs <service> <connections> <replies> <admitted> <control> <milliseconds of a turn> [obedient]
 * Each connection asks for related games again and again, 50 ms after it was answered, or not before it may when it is
 * obedient. It leaves after so many replies, of which so many are no refusals, and writes a line of JSON: `{statuses,
 * connected, failed, turns, refused, admitted}`, where the last two say in how many turns of the control server half and
 * nearly all were answered: see turns.ts.
 * Plain JavaScript, since Node 20 runs it as it is.
 */
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { quantile } from '../quantile.mjs';

const [base, control, manners] = [process.argv[2], process.argv[6], process.argv[8]];
const [connections, leastReplies, leastAdmitted, turnMs] = [3, 4, 5, 7].map((n) => Number(process.argv[n]));
const isObedient = manners === 'obedient';
const REST_MS = 50;
const statuses = {};
const times = { admitted: [], refused: [] };
let [failed, connected, stopped, replies, turns] = [0, 0, false, 0, 0];

const listed = await fetch(`${base}/api/trpc/game.list`, {
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ json: { limit: 100, page: 1 } }),
});
const ids = (await listed.json()).result.data.json.items.map(({ id }) => id);

/** Resolves with how long to stay away, milliseconds. */
const ask = (agent, n) =>
  new Promise((resolve) => {
    const body = JSON.stringify({ json: { gameId: ids[n % ids.length] } });
    const at = turns;
    const asked = request(`${base}/api/trpc/game.getRelated`, {
      method: 'POST',
      agent,
      headers: { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) },
    });
    asked.on('response', (answer) => {
      answer.resume();
      answer.on('end', () => {
        statuses[answer.statusCode] = (statuses[answer.statusCode] ?? 0) + 1;
        times[answer.statusCode === 200 ? 'admitted' : 'refused'].push(turns - at);
        replies += 1;
        if (!stopped && replies >= leastReplies && times.admitted.length >= leastAdmitted) leave();
        resolve(isObedient ? 1000 * Number(answer.headers['retry-after'] ?? 0) : 0);
      });
      answer.on('error', () => resolve(0));
    });
    asked.on('error', () => {
      if (!stopped) failed += 1;
      setTimeout(() => resolve(0), 100);
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
    const awayMs = await ask(agent, n);
    await sleep(Math.max(awayMs, REST_MS));
  }
};
const takeTurns = async () => {
  for (const agent = new Agent({ keepAlive: true, maxSockets: 1 }); !stopped; turns += 1) {
    await new Promise((resolve, reject) => {
      request(control, { agent }, (answer) => answer.resume().on('end', resolve))
        .on('error', reject)
        .end();
    });
    await sleep(turnMs);
  }
};
const leave = () => {
  stopped = true;
  for (const agent of agents) agent.destroy();
  const of = (values) => ({ p50: quantile(values, 0.5), p99: quantile(values, 0.99) });
  const result = { statuses, connected, failed, turns, refused: of(times.refused), admitted: of(times.admitted) };
  process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit());
};

void takeTurns();
agents.forEach((agent, index) => void run(agent, index));
