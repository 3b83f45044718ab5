import { DatabaseSync } from '@photostructure/sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { requestText, startLoad } from './load/load.mjs';
import { DATABASE } from './machine/mariadb.mjs';
import { startGateway } from './machine/gateway.mjs';
import { run } from './machine/processes.mjs';
import { startSeeded, startSeededSqlite } from './machine/seeded.mjs';
import { median, ratioOf, refusalsOf, takeTurn, warmUp } from './measure.mjs';
import { circumstances, figure, markdownTable, refusalMark, refusalNote } from './report.mjs';

/** An author and a type have this many games each, and one more of both has all others. */
const GROUPS = [20, 9900];
const SORTS = ['latest', 'views'];
const MOST_RATIO = 1.2;
const TURN = { connections: 1, milliseconds: 600, count: 2000, tolerant: true };
const WARM_UP = [{ connections: 1, milliseconds: 1000, count: 1000 }];

const hexOf = (id) => `X'${id.replaceAll('-', '')}'`;

/** Gives the games to three authors and to three types, of as many games each. Resolves with their filters. */
const regroup = async (query, { gameIds, userIds }, games) => {
  const rest = games - GROUPS.reduce((sum, n) => sum + n, 0);
  const authors = userIds.slice(0, GROUPS.length + 1);
  const pairs = [...GROUPS, rest].map((n, index) => ({ n, authorId: authors[index], gameType: `OF ${n}` }));
  const last = pairs.at(-1);
  await query(`UPDATE games SET author_id = ${hexOf(last.authorId)}, game_type = '${last.gameType}'`);
  let taken = 0;
  const take = (n) =>
    gameIds
      .slice(taken, (taken += n))
      .map(hexOf)
      .join(', ');
  for (const { n, authorId, gameType } of pairs.slice(0, -1)) {
    await query(`UPDATE games SET author_id = ${hexOf(authorId)} WHERE id IN (${take(n)})`);
    await query(`UPDATE games SET game_type = '${gameType}' WHERE id IN (${take(n)})`);
  }
  await query('UPDATE users SET game_count = 0');
  await query("DELETE FROM counters WHERE name LIKE 'games:%'");
  for (const { n, authorId, gameType } of pairs) {
    await query(`UPDATE users SET game_count = ${n} WHERE id = ${hexOf(authorId)}`);
    await query(`INSERT INTO counters (name, n) VALUES ('games:${gameType}', ${n})`);
  }
  return pairs;
};

const isPurging = async (connection) => {
  const [[row]] = await connection.query("SHOW GLOBAL STATUS LIKE 'Innodb_history_list_length'");
  return Number(row.Value) > 100;
};

const prepare = async ({ engine, games }) => {
  if (engine === 'sqlite') {
    const database = await startSeededSqlite(games);
    const file = new DatabaseSync(database.url.replace(/^sqlite:/, ''));
    const pairs = await regroup((sql) => file.exec(sql), database.samples, games);
    file.close();
    return { database, pairs };
  }
  const database = await startSeeded(games, { samples: true });
  const connection = await database.connect({ database: DATABASE });
  const pairs = await regroup((sql) => connection.query(sql), database.samples, games);
  await connection.query('ANALYZE TABLE games, users');
  // Until then, MariaDB spends CPU time on the old versions of the rows.
  while (await isPurging(connection)) await sleep(1000);
  await connection.end();
  return { database, pairs };
};

/** The CPU time of both processes. */
const cpuOf = (turn) => ({ ...turn, cpuUs: turn.serverUs + (turn.databaseUs ?? 0) });

/** CPU time of lists by author beside lists by type with as many matches, in turns, as Markdown. */
export const measureAuthors = async (options) => {
  const { database, pairs } = await prepare(options);
  // Labels of types are in the search index.
  await run(process.execPath, ['dist/src/cli.js', 'reindex'], {
    cwd: fileURLToPath(new URL('../../', import.meta.url)),
    env: { ...process.env, DATABASE_URL: database.url },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const server = await startGateway({ url: database.url });
  const load = startLoad();
  await load.define('first', [requestText('game.list', { page: 1, limit: 20 })]);
  await warmUp(load, server, 'first');
  const queries = [...SORTS.map((sortBy) => ({ sortBy })), { search: database.samples.tags[0].name }];
  const all = [];
  const rows = [];
  for (const { n, authorId, gameType } of pairs) {
    for (const query of queries) {
      const sets = [{ authorId }, { gameType }].map((filter) => ({
        set: `${n} ${JSON.stringify({ ...query, ...filter })}`,
        requests: [requestText('game.list', { page: 1, limit: 20, ...query, ...filter })],
        turns: [],
      }));
      for (const { set, requests } of sets) {
        await load.define(set, requests);
        await warmUp(load, server, set, { turns: WARM_UP });
      }
      for (let round = 0; round < options.rounds; round += 1) {
        for (const { set, turns } of sets) turns.push(cpuOf(await takeTurn({ load, server, database, set, ...TURN })));
      }
      const [byAuthor, byType] = sets.map(({ turns }) => turns);
      const ratio = ratioOf(byAuthor, byType, 'cpuUs');
      const refusals = refusalsOf([...byAuthor, ...byType]);
      const row = [
        `${figure(n)}, ${JSON.stringify(query)}${refusalMark(refusals)}`,
        ratio <= MOST_RATIO ? 'met' : `**over ${MOST_RATIO}**`,
        ...[byAuthor, byType].map((turns) => figure(median(turns.map(({ cpuUs }) => cpuUs)))),
        ratio.toFixed(2),
        figure(median(byAuthor.map(({ p50 }) => p50))),
      ];
      console.error(row.join('  '));
      rows.push(row);
      all.push(refusals);
    }
  }
  load.stop();
  await server.stop();
  await database.stop();
  const head = ['games of each, query', 'target', 'µs by author', 'µs by type', 'ratio', 'p50 by author, ms'];
  return `${circumstances(database.version)}, ${figure(options.games)} games, 1 connection, medians of ${options.rounds} rounds

${markdownTable(head, rows, 2)}${refusalNote(all)}`;
};
