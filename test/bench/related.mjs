import { startLoad } from './load/load.mjs';
import { operationsOf, requestsOf } from './load/operations.mjs';
import { takeSamples } from './load/samples.mjs';
import { startSeeded } from './machine/seeded.mjs';
import { startServer } from './machine/servers.mjs';
import { circumstances, figure } from './report.mjs';

const CALLS = 40_000;
const PREPARED = 2000;
const HOUR_MS = 3_600_000;

/** Calls getRelated for so many different games, with little room for prepared statements, and counts the failures. */
export const countRelatedFailures = async (options) => {
  const database = await startSeeded(options.games, { variables: [`--max-prepared-stmt-count=${PREPARED}`] });
  const samples = await takeSamples(database, CALLS);
  const gateway = await startServer('gateway', { url: database.url });
  const load = startLoad();
  await load.define('related', requestsOf(operationsOf(samples).getRelated));
  const { requests, answered, perSecond, p50, p99 } = await load.run({
    port: gateway.port,
    set: 'related',
    connections: 16,
    milliseconds: HOUR_MS,
    count: CALLS,
    tolerant: true,
  });
  const failures = requests - answered;
  const connection = await database.connect();
  const [[{ Value: held }]] = await connection.query("SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'");
  await connection.end();
  await gateway.stop();
  await database.stop();
  return {
    text: `${circumstances(database.version)}, ${figure(options.games)} games, \`max_prepared_stmt_count\` = ${PREPARED}

${figure(requests)} calls of getRelated for ${figure(samples.gameIds.length)} different games at 16 connections: **${figure(failures)} failed**; ${figure(perSecond)} per second, p50 ${figure(p50)} ms, p99 ${figure(p99)} ms. The server held ${held} prepared statements at the end.`,
    failed: failures > 0,
  };
};
