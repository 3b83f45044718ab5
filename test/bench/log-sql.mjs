import { call } from './compare.mjs';
import { operationsOf } from './load/operations.mjs';
import { takeSamples } from './load/samples.mjs';
import { rowsRead } from './machine/rows-read.mjs';
import { startSeeded } from './machine/seeded.mjs';
import { startServer } from './machine/servers.mjs';
import { figure } from './report.mjs';

const CALLS = 20;
const WATCHED = ['--general-log=ON', '--log-output=TABLE'];
/** What connections send on their own account, and what is stored once a second or so for many calls. */
const BESIDE_THE_CALL = /^(SET |SELECT 1$|UPDATE `?(games`? SET `?view_count|api_keys))/i;

/** A statement without its values, in one line. */
const shapeOf = (sql) =>
  sql
    .replaceAll(/X?'(?:\\.|[^'\\])*'|\b(\d+(\.\d+)?|NULL|true|false)\b/gs, '?')
    .replaceAll('`', '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/\( | \)/g, (bracket) => bracket.trim())
    .replaceAll(/\?(, ?\?)+/g, '?, …')
    .replaceAll(/(\(\?, …\))(, ?\(\?, …\))+/g, '$1, …')
    .replaceAll(/(WHEN \? THEN \? )(WHEN \? THEN \? )+/g, '$1… ')
    .trim();

const tally = (texts) => {
  const counts = new Map();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return counts;
};

/** What a server sends for an operation: how often each statement, and rows read, per call. */
const statementsOf = async (connection, server, { procedure, calls }) => {
  const some = calls.slice(0, CALLS);
  // Once before: a server may remember tags and keys.
  for (const one of some) await call(server, procedure, one);
  await connection.query('TRUNCATE mysql.general_log');
  const before = await rowsRead(connection);
  for (const one of some) await call(server, procedure, one);
  const rows = (await rowsRead(connection)) - before;
  const [log] = await connection.query(
    `SELECT CONVERT(argument USING latin1) AS text FROM mysql.general_log
    WHERE command_type IN ('Execute', 'Query') AND thread_id <> CONNECTION_ID() ORDER BY event_time`,
  );
  const texts = log.map(({ text }) => text).filter((text) => !BESIDE_THE_CALL.test(text));
  return { rows: rows / some.length, statements: tally(texts.map(shapeOf)), calls: some.length };
};

const lines = (name, { rows, statements, calls }, other) => [
  `### ${name}: ${figure(rows)} rows read`,
  '',
  ...[...statements].map(
    ([text, n]) =>
      `- ${figure(n / calls)} ×${other && !other.statements.has(text) ? ', **only here**' : ''}: \`${text}\``,
  ),
  '',
];

/** The statements that the gateway and the bare limit send for each operation, per call, as Markdown. */
export const logSql = async (options) => {
  const database = await startSeeded(options.games, { variables: WATCHED });
  const samples = await takeSamples(database);
  const gateway = await startServer('gateway', { url: database.url });
  const bare = await startServer('bare', { url: database.url });
  const connection = await database.connect();
  const text = [];
  for (const [name, operation] of Object.entries(operationsOf(samples))) {
    if (operation.procedure === undefined) continue;
    if (options.operations && !options.operations.includes(name)) continue;
    const ofGateway = await statementsOf(connection, gateway, operation);
    const ofBare = operation.servers.includes('bare') ? await statementsOf(connection, bare, operation) : undefined;
    text.push(`## ${name}`, '', ...lines('gateway', ofGateway, ofBare));
    if (ofBare) text.push(...lines('bare limit', ofBare, ofGateway));
  }
  await connection.end();
  await gateway.stop();
  await bare.stop();
  await database.stop();
  return text.join('\n');
};
