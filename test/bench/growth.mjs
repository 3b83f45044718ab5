import { growthQueries, searchQueries } from './load/growth-queries.mjs';
import { requestText, startLoad } from './load/load.mjs';
import { takeSamples } from './load/samples.mjs';
import { rowsRead } from './machine/rows-read.mjs';
import { startSeeded } from './machine/seeded.mjs';
import { startGateway } from './machine/gateway.mjs';
import { median, refusalsOf, takeTurn } from './measure.mjs';
import { circumstances, figure, markdownTable, refusalMark, refusalNote } from './report.mjs';

/** A day's range must still hold games. */
const MAX_AGE_DAYS = 0.5;
const TURN = { connections: 1, milliseconds: 1500, count: 60 };
const SEARCH_TURN = { connections: 1, milliseconds: 1500, count: 10 };
const SEARCH_P50_MS = 3;
const SEARCH_WORST_MS = 60;

/** How many records a search finds, as the gateway tells it. @throws Error for an answer other than 200 */
const countFound = async ({ port }, input) => {
  const response = await fetch(`http://127.0.0.1:${port}/api/trpc/game.list`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ json: input }),
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`game.list ${JSON.stringify(input)}: ${response.status} ${text}`);
  const { total, totalRelation } = JSON.parse(text).result.data.json;
  return `${figure(total)}${totalRelation === 'gte' ? ' or more' : ''}`;
};

const startSite = async (games) => {
  const database = await startSeeded(games, { maxAgeDays: MAX_AGE_DAYS });
  const samples = await takeSamples(database);
  const server = await startGateway({ url: database.url });
  const connection = await database.connect();
  return { games, database, samples, server, connection };
};

/** One turn of a site with a query; also says the rows read per answer. */
const visit = async (load, site, query, turn) => {
  const before = await rowsRead(site.connection);
  const result = await takeTurn({
    load,
    server: site.server,
    database: site.database,
    set: `${site.games} ${query.name}`,
    ...turn,
  });
  const after = await rowsRead(site.connection);
  return { ...result, rows: (after - before) / result.answered };
};

/** Puts a query to all sites in turn, some rounds, and resolves with the medians of each site. */
const visitAll = async (load, sites, queries, rounds, turn) => {
  for (const [site, query] of queries) {
    await load.define(
      `${site.games} ${query.name}`,
      query.inputs.map((input) => requestText(query.procedure, input)),
    );
    await visit(load, site, query, turn);
  }
  const results = new Map(sites.map((site) => [site, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const [site, query] of queries) results.get(site).push(await visit(load, site, query, turn));
  }
  return sites.map((site) => {
    const own = results.get(site);
    const medianOf = (measure) => median(own.map((one) => one[measure]));
    return { ms: medianOf('p50'), databaseUs: medianOf('databaseUs'), rows: medianOf('rows'), ...refusalsOf(own) };
  });
};

const verdict = ({ mostGrowth, capUs }, growth, largest) => {
  const faults = [
    ...(mostGrowth !== undefined && growth > mostGrowth ? [`grows over ${mostGrowth}`] : []),
    ...(capUs !== undefined && largest.databaseUs > capUs ? [`over ${capUs / 1000} ms`] : []),
  ];
  if (faults.length > 0) return `**${faults.join(', ')}**`;
  return mostGrowth === undefined && capUs === undefined ? '' : 'met';
};

const rowOf = (name, limits, found) => {
  const growth = found.at(-1).ms / found[0].ms;
  return [
    name + refusalMark(refusalsOf(found)),
    verdict(limits, growth, found.at(-1)),
    ...found.map(({ ms }) => figure(ms)),
    figure(growth),
    ...found.map(({ databaseUs }) => figure(databaseUs)),
    figure(found.at(-1).databaseUs / found[0].databaseUs),
    figure(found.at(-1).rows),
  ];
};

const searchSummary = (found, sizes) =>
  sizes.map((games, index) => {
    const all = found.map((one) => one[index].ms);
    const worst = Math.max(...all);
    return `${figure(games)} games: p50 ${figure(median(all))} ms (target ${SEARCH_P50_MS}), worst ${figure(worst)} ms (target ${SEARCH_WORST_MS})`;
  });

/** Latency and cost of queries at several sizes of the database, as Markdown. Only the gateway is asked. */
export const measureGrowth = async (options) => {
  const sites = [];
  for (const games of options.sizes.toSorted((a, b) => a - b)) sites.push(await startSite(games));
  const sizes = sites.map(({ games }) => games);
  const load = startLoad();
  const say = (cells) => console.error(cells.join('  '));

  const queriesOf = sites.map(({ samples }) => growthQueries(samples));
  const rows = [];
  const all = [];
  for (const index of queriesOf[0].keys()) {
    const queries = sites.map((site, at) => [site, queriesOf[at][index]]);
    const query = queriesOf[0][index];
    const results = await visitAll(load, sites, queries, options.rounds, TURN);
    all.push(...results);
    const row = rowOf(query.name, query, results);
    say(row);
    rows.push(row);
  }

  const searches = [];
  const searchRows = [];
  for (const query of searchQueries()) {
    const queries = sites.map((site) => [site, query]);
    const results = await visitAll(load, sites, queries, options.rounds, SEARCH_TURN);
    const row = rowOf(query.name, {}, results).toSpliced(1, 1, await countFound(sites.at(-1).server, query.inputs[0]));
    say(row);
    all.push(...results);
    searches.push(results);
    searchRows.push(row);
  }
  for (const { connection, server, database } of sites) {
    await connection.end();
    await server.stop();
    await database.stop();
  }
  const measured = [
    ...sizes.map((games) => `${figure(games)}, ms`),
    'growth',
    ...sizes.map((games) => `${figure(games)}, database µs`),
    'growth',
    `rows read at ${figure(sizes.at(-1))}`,
  ];
  return `${circumstances(sites[0].database.version)}, 1 connection, medians of ${options.rounds} rounds

${markdownTable(['query', 'target', ...measured], rows, 2)}

Searches: ${searchSummary(searches, sizes).join('; ')}.

${markdownTable(['search', 'found', ...measured], searchRows, 1)}${refusalNote(all)}`;
};
