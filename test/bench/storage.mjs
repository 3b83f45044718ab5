// node test/bench/storage.mjs [games]: what requests ask of the disk, of docs/sizing.md: how often MariaDB flushes, reads and
// writes, and how many bytes, for each request of the gateway, with a buffer pool that holds the database and with one that
// does not. Commits are durable.
import { Random } from '../../dist/src/sandbox/seed/random.js';
import { requestText, startLoad } from './load/load.mjs';
import { startSeeded } from './machine/seeded.mjs';
import { startServer } from './machine/servers.mjs';

const games = Number(process.argv[2] ?? 100_000);
const CONNECTIONS = 16;
const TURN_MS = 15_000;
const COUNTERS = [
  'Innodb_data_fsyncs',
  'Innodb_data_reads',
  'Innodb_data_read',
  'Innodb_data_writes',
  'Innodb_data_written',
];

/** The requests of a set: so many that few are repeated. */
const requestsOf = ({ gameIds, keys, tags }) => {
  const random = new Random('storage');
  const pick = (items) => items[random.between(0, items.length - 1)];
  const several = (make) => Array.from({ length: 5000 }, make);
  return {
    'game.getById': several(() => requestText('game.getById', { id: pick(gameIds) })),
    'game.list': several(() => requestText('game.list', { limit: 20, page: random.between(1, 500) })),
    'game.toggleFavorite': several(() => requestText('game.toggleFavorite', { gameId: pick(gameIds) }, pick(keys))),
    'game.create': several(() =>
      requestText(
        'game.create',
        { title: `game ${random.nextUint32()}`, gameType: 'RPG', tagNames: [pick(tags).name, pick(tags).name] },
        pick(keys),
      ),
    ),
  };
};

for (const pool of ['2G', '32M']) {
  const database = await startSeeded(games, { variables: [`--innodb-buffer-pool-size=${pool}`], samples: true });
  const connection = await database.connect();
  const read = async () => {
    const [rows] = await connection.query('SHOW GLOBAL STATUS LIKE ?', ['Innodb_data%']);
    const values = Object.fromEntries(rows.map((row) => [row.Variable_name, Number(row.Value)]));
    return COUNTERS.map((name) => values[name]);
  };
  const server = await startServer('gateway', { url: database.url });
  const load = startLoad();
  console.log(
    `${games} games, buffer pool of ${pool}, ${database.version}, ${CONNECTIONS} connections; for each answer:`,
  );
  for (const [name, requests] of Object.entries(requestsOf(database.samples))) {
    await load.define(name, requests);
    await load.run({ port: server.port, set: name, connections: CONNECTIONS, milliseconds: 3000 });
    const before = await read();
    const {
      answered,
      requests: sent,
      perSecond,
    } = await load.run({
      port: server.port,
      set: name,
      connections: CONNECTIONS,
      milliseconds: TURN_MS,
    });
    const after = await read();
    const each = COUNTERS.map((_, index) => (after[index] - before[index]) / answered);
    const [fsyncs, reads, readBytes, writes, written] = each.map((n) => n.toFixed(n < 100 ? 2 : 0));
    console.log(
      `${name}: ${fsyncs} fsyncs, ${reads} reads of ${readBytes} bytes, ${writes} writes of ${written} bytes; ${answered} of ${sent} answered, ${Math.round(perSecond)} a second`,
    );
  }
  load.stop();
  await connection.end();
  await server.stop();
  await database.stop();
}
process.exit();
