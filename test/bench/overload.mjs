import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { requestText } from './load/load.mjs';
import { operationsOf, requestsOf } from './load/operations.mjs';
import { startAssistant } from './load/assistant.mjs';
import { startSeeded, startSeededSqlite } from './machine/seeded.mjs';
import { startServer } from './machine/servers.mjs';
import { drawOverload } from './overload-curve.mjs';
import { circumstances, figure, markdownTable } from './report.mjs';

const PICTURE = fileURLToPath(new URL('overload.svg', import.meta.url));
/** Connections that keep two cores busy with any of these mixes. */
const SATURATING = 8;
const FACTORS = [1, 5, 20, 250];
const WARM_UP_MS = 1000;
/** How long what the crowd left behind is watched. */
const AFTERMATH_MS = 5000;
/** What a lone caller has to get by with for things to be normal again; the machine itself may hold one up for as long. */
const NORMAL = { healthzMs: 100, readMs: 100 };

/** Requests of several operations in turn. */
const interleaved = (...lists) => {
  const longest = Math.max(...lists.map((list) => list.length));
  return Array.from({ length: longest }, (_, index) => lists.map((list) => list[index % list.length])).flat();
};

/** Forty searches, each with many pages, so that next to none are equal. */
const searchCrowd = ({ search }) =>
  Array.from({ length: 25 }, (_, page) =>
    search.calls.map(({ input }) => requestText('game.list', { ...input, page: page + 1 })),
  ).flat();

const mixes = {
  search: { title: 'searches', requestsOf: searchCrowd },
  reads: {
    title: 'getById and lists',
    requestsOf: ({ getById, listMix }) => interleaved(requestsOf(getById), requestsOf(getById), requestsOf(listMix)),
  },
  create: { title: 'creators', requestsOf: ({ create }) => requestsOf(create) },
};

/** One crowd of `connections` callers, and how others fare meanwhile and afterwards. */
const measureCrowd = async ({ server, crowd, probe, requests, connections, seconds, obedient }) => {
  await probe.ask({ name: 'mark' });
  const milliseconds = seconds * 1000 + WARM_UP_MS;
  const result = await crowd.ask({
    port: server.port,
    requests,
    connections,
    milliseconds,
    warmUpMs: WARM_UP_MS,
    obedient,
  });
  const others = await probe.ask({ name: 'mark' });
  await sleep(AFTERMATH_MS);
  return { connections, ...result, ...others, normalMs: await probe.ask({ name: 'normal', ...NORMAL }) };
};

const HEAD = [
  'connections',
  'good/s',
  'p50 ms',
  'p99 ms',
  'refused/s',
  'p50 ms',
  'p99 ms',
  '/healthz p99',
  'worst',
  'failed',
  'lone getById p50',
  'p99',
  'refused',
  'normal after ms',
];

const rowOf = ({ connections, good, refused, healthz, read, normalMs }) =>
  [
    connections,
    good.perSecond,
    good.p50,
    good.p99,
    refused.perSecond,
    refused.p50,
    refused.p99,
    healthz.p99,
    healthz.worst,
    healthz.failed,
    read.p50,
    read.p99,
    read.failed,
    normalMs >= AFTERMATH_MS - 100 ? undefined : normalMs,
  ].map((value) => (value === 0 ? '0' : figure(value)));

/** Measures one gateway at all sizes of a crowd. */
const measureGateway = async ({ database, root, mix, factors, seconds, obedient }) => {
  const server = await startServer('gateway', { url: database.url, root });
  const crowd = startAssistant('crowd');
  const probe = startAssistant('probe');
  try {
    const operations = operationsOf(database.samples);
    await probe.ask({ name: 'watch', port: server.port, requests: requestsOf(operations.getById).slice(0, 500) });
    const requests = mixes[mix].requestsOf(operations);
    const levels = [];
    for (const factor of factors) {
      const connections = factor * SATURATING;
      const level = await measureCrowd({ server, crowd, probe, requests, connections, seconds, obedient });
      console.error(`${mix}: ${rowOf(level).join(' | ')}`, JSON.stringify(level.statuses), level.broken);
      levels.push(level);
    }
    return levels;
  } finally {
    await Promise.all([crowd.stop(), probe.stop()]);
    await server.stop('SIGKILL');
  }
};

/**
 * Sends crowds to the gateway, at 1, 5, 20 and 250 times the number of connections that keep it busy, and says as Markdown
 * how many are answered, how long the others wait for their refusal, and how a lone caller fares meanwhile. `before`: the
 * folder of another version, built, to set beside it. Draws overload.svg.
 */
export const overload = async ({ games, overload: names, engine, before, seconds, factors = FACTORS, obedient }) => {
  const database = await (engine === 'sqlite' ? startSeededSqlite(games) : startSeeded(games, { samples: true }));
  const versions = [...(before === undefined ? [] : [['before', before]]), ['now', undefined]];
  const series = [];
  const texts = [];
  for (const mix of names) {
    for (const [version, root] of versions) {
      const levels = await measureGateway({ database, root, mix, factors, seconds: Math.max(seconds, 5), obedient });
      series.push({ mix: mixes[mix].title, version, levels });
      texts.push(
        `**${mixes[mix].title}, ${engine}, ${version}**; whoever is refused comes back ${obedient ? 'after `Retry-After`' : 'at once'}\n\n${markdownTable(HEAD, levels.map(rowOf))}`,
      );
    }
  }
  await database.stop();
  writeFileSync(
    PICTURE.replace('.svg', `-${engine}.svg`),
    drawOverload(
      series,
      `Crowds on ${engine === 'sqlite' ? 'SQLite' : 'MariaDB'}, ${games.toLocaleString('en')} games`,
    ),
  );
  return [circumstances(database.version ?? 'SQLite'), ...texts].join('\n\n');
};
