import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { start, stop } from '../bench/machine/processes.mjs';
import { freePort } from '../harness/free-ports.mjs';
import { installedPrometheus } from '../harness/jest/available.mjs';

const WAIT_SECONDS = 180;

/** Resolves when an address answers with success. @throws Error if it does not in time */
export const answering = async (url) => {
  for (const end = Date.now() + WAIT_SECONDS * 1000; Date.now() < end; await sleep(50)) {
    const response = await fetch(url).catch(() => undefined);
    await response?.body?.cancel();
    if (response?.ok) return;
  }
  throw new Error(`${url} does not answer`);
};

/** Replaces what must be there. */
export const replaced = (text, pattern, by) => {
  assert.match(text, pattern);
  return text.replace(pattern, by);
};

/**
 * Prometheus with the configuration and the alerts of compose.yaml. Only the addresses are others, since no name server
 * knows the gateways here, and it asks more often.
 *
 * @param given `root` of the repository; `work`, a folder for what it stores; `ports` of 127.0.0.1 with metrics; `seconds`
 *   from one scrape to the next
 * @returns `query(text)`, which returns what was found, and `stop()`
 * @throws Error where there is no Prometheus
 */
export const startPrometheus = async ({ root, work, ports, seconds }) => {
  const program = installedPrometheus();
  if (!program) throw new Error('this machine lacks prometheus');
  const port = await freePort();
  const given = readFileSync(join(root, 'deploy/observe/prometheus.yaml'), 'utf8');
  const targets = ports.map((metrics) => `127.0.0.1:${metrics}`).join(', ');
  const here = replaced(given, /dns_sd_configs:\n.*/, `static_configs:\n      - targets: [${targets}]`);
  const file = join(work, 'prometheus.yaml');
  writeFileSync(file, replaced(here, /scrape_interval: \d+s/, `scrape_interval: ${seconds}s`));
  writeFileSync(join(work, 'alerts.yaml'), readFileSync(join(root, 'deploy/prometheus/alerts.yaml')));
  const places = [`--storage.tsdb.path=${join(work, 'prometheus')}`, `--web.listen-address=127.0.0.1:${port}`];
  const server = start(program, [`--config.file=${file}`, ...places], { stdio: 'ignore' });
  const url = `http://127.0.0.1:${port}`;
  await answering(`${url}/-/ready`);
  const ask = async (query) => {
    const response = await fetch(`${url}/api/v1/query?${new URLSearchParams({ query })}`);
    const { status, data, error } = await response.json();
    assert.equal(status, 'success', `${query}: ${error}`);
    return data.result;
  };
  return {
    query: ask,
    stop: () => stop(server),
  };
};
