// What compose.yaml runs, without its networks: the image twice, with the settings of that file, behind HAProxy with the file that it
// is given there, on a MariaDB and a Redis of this machine.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { installMariadb, startMariadb } from '../bench/machine/mariadb.mjs';
import { replaced, startPrometheus } from './prometheus.mjs';
import { installedPrometheus } from '../harness/jest/available.mjs';
import { CONFINED, variables } from './container.mjs';
import { freePort } from '../harness/free-ports.mjs';
import { postCall } from '../harness/http/post.mjs';
import { Lacking } from '../recipes/support/lacking.mjs';
import { projectOf } from './manifests.mjs';

const CALLERS = 6;
/** Ends only what hangs. */
const USED_SECONDS = 180;
const SCRAPE_SECONDS = 1;
/** As if from one scrape to the next: queries look back four times as far. */
const ASKED_SECONDS = 5;

/** Starts a program of this machine. @throws Lacking */
const launch = async (program, words, options = {}) => {
  const child = spawn(program, words, { stdio: 'ignore', ...options });
  const [error] = await Promise.race([once(child, 'spawn'), once(child, 'error')]);
  if (error) throw new Lacking(`this machine lacks ${program}`);
  return async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    await once(child, 'exit');
  };
};

/** HAProxy before some gateways. @returns its address, `usesAll()`, and what ends it */
const balancerOf = async ({ root, work }, gateways) => {
  const port = await freePort();
  const servers = gateways.map(({ url }, index) => `  server gateway${index} ${new URL(url).host}`).join('\n');
  const given = readFileSync(join(root, 'deploy/haproxy/haproxy.cfg'), 'utf8');
  const [file, socket] = [join(work, 'haproxy.cfg'), join(work, 'haproxy.sock')];
  const listening = replaced(given, /^ {2}bind .*$/m, `  bind 127.0.0.1:${port}`);
  const asked = replaced(listening, /^global$/m, `global\n  stats socket ${socket}`);
  writeFileSync(file, replaced(asked, /^ {2}server-template .*$/gm, servers));
  const stop = await launch('haproxy', ['-db', '-f', file]);
  /** Resolves when it sends calls to all gateways. @throws Error if it does not in time */
  const usesAll = async () => {
    for (const end = Date.now() + 1000 * USED_SECONDS; Date.now() < end; await sleep(50)) {
      const states = await text(connect(socket).end('show stat\n')).catch(() => '');
      if (states.match(/^(?:readers|writers),gateway\d+,.*,UP,/gm)?.length === 2 * gateways.length) return;
    }
    throw new Error('HAProxy does not use all gateways');
  };
  return { url: `http://127.0.0.1:${port}`, usesAll, stop };
};

/** Calls through the balancer until it is told to stop. @returns `{answered, busy, faults}` */
const callers = (url) => {
  const seen = { answered: 0, busy: 0, faults: [] };
  let isOver = false;
  const call = async () => {
    while (!isOver) {
      try {
        const response = await postCall(url, 'game.list', { limit: 5, page: 1 });
        const body = await response.text();
        if (response.status === 200) seen.answered += 1;
        else if (response.status === 503 && body.includes('"OVERLOADED"')) {
          // The machine has more to do: a caller comes back when it is told to.
          seen.busy += 1;
          await sleep(1000 * Number(response.headers.get('retry-after')));
        } else seen.faults.push(`${response.status} ${body}`);
      } catch (error) {
        seen.faults.push(error.cause?.code ?? error.message);
      }
      await sleep(5);
    }
  };
  const calling = Promise.all(Array.from({ length: CALLERS }, call));
  return {
    seen,
    end: async () => {
      isOver = true;
      await calling;
      return seen;
    },
  };
};

export const instances = async (given) => {
  const { docker, image, root, work, start } = given;
  if (!installedPrometheus()) throw new Lacking('this machine lacks prometheus');
  const stops = [];
  try {
    const data = join(work, 'mariadb');
    mkdirSync(data);
    await installMariadb(data).catch((error) => {
      throw new Lacking(`no MariaDB: ${error.message}`);
    });
    const database = await startMariadb(data, { fast: true });
    stops.push(database.stop);
    const redis = await freePort();
    stops.push(await launch('redis-server', ['--port', redis, '--save', '', '--appendonly', 'no']));

    const { environment, stop_grace_period: grace } = (await projectOf(root)).gateway;
    const shared = { ...environment, DATABASE_URL: database.url, REDIS_URL: `redis://127.0.0.1:${redis}` };
    const migrated = await docker.attempt('run', '--rm', ...CONFINED, ...variables(shared), image, 'migrate');
    assert.equal(migrated.status, 0, migrated.output);

    const metrics = [await freePort(), await freePort()];
    const gateways = await Promise.all(
      metrics.map(async (METRICS_PORT) => {
        const gateway = await start({ image, env: { ...shared, RATE_LIMIT: 'off', METRICS_PORT } });
        return gateway.ready();
      }),
    );
    const balancer = await balancerOf(given, gateways);
    stops.push(balancer.stop);
    await balancer.usesAll();
    const prometheus = await startPrometheus({ root, work, ports: metrics, seconds: SCRAPE_SECONDS });
    stops.push(prometheus.stop);

    // One after the other stops and comes back.
    const { seen, end } = callers(balancer.url);
    for (const gateway of gateways) {
      const before = seen.answered;
      await gateway.restart(parseInt(grace, 10));
      await gateway.ready();
      assert.ok(seen.answered > before);
      await balancer.usesAll();
    }
    const { answered, busy, faults } = await end();
    assert.deepEqual(faults, []);

    const { panels } = JSON.parse(readFileSync(join(root, 'deploy/observe/dashboards/content-gateway.json'), 'utf8'));
    // As Grafana sends them, with all instances chosen.
    const queries = panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr }) => ({
        title,
        query: expr.replaceAll('$__rate_interval', `${4 * ASKED_SECONDS}s`).replaceAll('$instance', '.*'),
      })),
    );
    const empty = new Set();
    for (const { title, query } of queries) if ((await prometheus.query(query)).length === 0) empty.add(title);
    assert.ok(
      !['By procedure', 'Duration', 'Statements', 'CPU', 'Instances'].some((title) => empty.has(title)),
      [...empty].join(', '),
    );
    const names = 'count by (name) (label_replace({job="content-gateway"}, "name", "$1", "__name__", "(.*)"))';
    const exist = new Set((await prometheus.query(names)).map(({ metric }) => metric.name));
    const used = new Set(
      queries.flatMap(({ query }) => query.match(/\b(?:content_gateway|process|nodejs)_\w+/g) ?? []),
    );
    // A series appears with its first count. The guide lists all metrics, as a test holds.
    const guide = readFileSync(join(root, 'docs/monitoring.md'), 'utf8');
    const isAbsent = (name) => new RegExp(`^\\| \`${name.slice('content_gateway_'.length)}\\b`, 'm').test(guide);
    assert.deepEqual(
      [...used].filter((name) => !exist.has(name) && !isAbsent(name)),
      [],
      'metrics that there are not',
    );
    return `${answered} calls answered, ${busy} told to come back, none failed while both restarted; ${queries.length} queries, no data for: ${[...empty].join(', ') || 'none'}`;
  } finally {
    for (const stop of stops.toReversed()) await stop();
  }
};
