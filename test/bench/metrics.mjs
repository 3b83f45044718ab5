import { measureCost } from './cost.mjs';
import { countCpu } from './machine/cpu.mjs';
import { freePort } from '../harness/free-ports.mjs';
import { figure } from './report.mjs';

const SCRAPES = 50;

/** CPU time of one scrape, in microseconds, and its size in bytes. */
const scrape = async ({ pid }, port) => {
  const used = countCpu(pid);
  let bytes = 0;
  for (let n = 0; n < SCRAPES; n += 1) {
    const response = await fetch(`http://127.0.0.1:${port}/metrics`);
    bytes = (await response.text()).length;
  }
  return { us: used() / SCRAPES, bytes };
};

/** What metrics cost: CPU time per request without and with them, and that of a scrape. */
export const measureMetrics = async (options) => {
  let port;
  let scraped;
  const text = await measureCost(options, {
    kindsOf: async () => {
      port = await freePort();
      return [{ name: 'without' }, { name: 'metrics', env: { METRICS_PORT: String(port), METRICS_HOST: '127.0.0.1' } }];
    },
    onSet: async ([, server]) => {
      scraped = await scrape(server, port);
    },
  });
  return `${text}

A scrape takes ${figure(scraped.us / 1000)} ms of CPU time and ${figure(scraped.bytes)} bytes.`;
};
