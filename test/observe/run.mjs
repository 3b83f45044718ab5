// npm run observe [-- --seconds 180]: two gateways on MariaDB under load, and a Prometheus with the configuration of compose.yaml
// that asks them. Each query of the dashboard must then find what the load must show.
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { startSeeded } from '../bench/machine/seeded.mjs';
import { removeAtEnd } from '../bench/machine/processes.mjs';
import { startGateway } from '../bench/machine/gateway.mjs';
import { dashboardOf, legendOf, queryOf } from './dashboard.mjs';
import { load } from './load.mjs';
import { answering, startPrometheus } from './prometheus.mjs';
import { cutConnections, killWorker } from './trouble.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const GAMES = 5000;
/** From one scrape to the next: what 15 are in an hour is this in some minutes. */
const SCRAPE_SECONDS = 5;
/** What happens twice in a minute is limited, so that something is refused. */
const QUOTAS = 'read=1000000,anonymous=1000000,write=1000000,search=60,work=1000000';
/** What must stay at zero, or may not be there, even under this load. */
const QUIET = new Set(['lost per second: ', 'failures per second: ', 'free on the disk', 'counting alone']);

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '180' },
  },
});
const seconds = Number(options.seconds);

/** Whether nobody listens on a port, nor uses it. */
const isFree = (port) =>
  new Promise((resolve) => {
    const probe = createServer()
      .once('error', () => resolve(false))
      .listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });

/** Ports in a row, below those that connections come from: one may be taken before all processes are there. */
const portsFor = async (count) => {
  for (;;) {
    const first = randomInt(10_000, 30_000);
    const ports = Array.from({ length: count }, (_, n) => first + n);
    const found = await Promise.all(ports.map(isFree));
    if (!found.includes(false)) return ports;
  }
};

/** What a query found, as `{legend, values}` of each series. */
const seriesOf = async (prometheus, target, times) => {
  const found = await prometheus.range(queryOf(target, SCRAPE_SECONDS), times);
  return found
    .map(({ metric, values }) => ({
      legend: legendOf(target, metric),
      values: values.map(([, value]) => Number(value)).filter(Number.isFinite),
    }))
    .filter(({ values }) => values.length > 0);
};

const work = removeAtEnd(mkdtempSync(join(tmpdir(), 'observe-')));
const database = await startSeeded(GAMES, { samples: true });
// One of them with two workers, whose supervisor counts how they end.
const metrics = [await portsFor(1), await portsFor(3)];
const gateways = [];
for (const [index, [METRICS_PORT]] of metrics.entries()) {
  const env = { METRICS_PORT: String(METRICS_PORT), WORKERS: String(index + 1), RATE_LIMIT: QUOTAS };
  gateways.push(await startGateway({ url: database.url, env }));
}
for (const port of metrics.flat()) await answering(`http://127.0.0.1:${port}/metrics`);
const prometheus = await startPrometheus({ root, work, ports: metrics.flat(), seconds: SCRAPE_SECONDS });
const start = Date.now() / 1000;
const loading = load({
  ports: gateways.map(({ port }) => port),
  samples: database.samples,
  seconds,
  between: () => killWorker(gateways[1].pid),
});
await sleep(seconds * 350);
await cutConnections(database);
const answered = await loading;
// One more scrape.
await sleep(SCRAPE_SECONDS * 1000);
const times = { start: start + 4 * SCRAPE_SECONDS, end: Date.now() / 1000, step: SCRAPE_SECONDS };

const targets = dashboardOf(root).panels.flatMap(({ title, targets: own = [] }) =>
  own.map((target) => ({ name: `${title}: ${target.legendFormat}`, target })),
);
const faults = [];
for (const { name, target } of targets) {
  const found = await seriesOf(prometheus, target, times);
  const isQuiet = [...QUIET].some((words) => target.legendFormat.startsWith(words));
  if (!isQuiet && found.length === 0) faults.push(`${name}: nothing`);
  else if (!isQuiet && found.every(({ values }) => values.every((value) => value === 0))) {
    faults.push(`${name}: only zeros`);
  }
  if (found.some(({ legend }) => legend.trim() === '')) faults.push(`${name}: a series without a name`);
}
for (const gateway of gateways) await gateway.stop();
await prometheus.stop();
await database.stop();

console.log(`${answered} requests of the mix in ${seconds} s; ${targets.length} queries`);
assert.deepEqual(faults, []);
process.exit(0);
