import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { cacheFolder } from '../../harness/jest/available.mjs';
import { installMariadb, startMariadb } from '../machine/mariadb.mjs';
import { removeAtEnd, run } from '../machine/processes.mjs';
import { circumstances, figure, markdownTable } from '../report.mjs';
import { contentOf, writeContent } from './file.mjs';
import { runWatched } from './watched.mjs';

const CLI = fileURLToPath(new URL('../../../dist/src/cli.js', import.meta.url));
const POINTS = 15;
const MB = 1e6;

const digestOf = async (path) => {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
};

/** An empty database of an engine, with its tables. */
const startEmpty = async (engine, folder) => {
  const started =
    engine === 'sqlite'
      ? { url: `sqlite:${join(folder, 'content.db')}`, stop: async () => {} }
      : await (async () => {
          await installMariadb(join(folder, 'data'));
          return startMariadb(join(folder, 'data'));
        })();
  const env = { ...process.env, DATABASE_URL: started.url };
  await run(process.execPath, [CLI, 'migrate'], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  return { ...started, env };
};

/** Some points of a curve, evenly far apart, the first and the last among them. */
const pointsOf = (curve) => {
  const count = Math.min(POINTS, curve.length);
  const places = Array.from({ length: count }, (_, n) => Math.round((n * (curve.length - 1)) / Math.max(1, count - 1)));
  return places.map((place) => `${place} s: ${Math.round(curve[place])}`).join(', ');
};

/**
 * Imports a file of so many games into an empty database and exports it again, and demands the same bytes: games per
 * second, CPU time, and resident memory.
 */
export const measureTransfer = async ({ games, rounds, engine }) => {
  const home = join(cacheFolder(), 'bench');
  await mkdir(home, { recursive: true });
  const folder = removeAtEnd(await mkdtemp(join(home, '.transfer-')));
  const file = join(folder, 'content.jsonl');
  console.error(`Writing a file of ${games} games …`);
  await writeContent(file, games);
  const digest = await digestOf(file);
  const rows = [];
  const curves = [];
  let version;
  for (let round = 1; round <= rounds; round += 1) {
    const place = join(folder, `round-${round}`);
    const again = join(folder, `again-${round}.jsonl`);
    await mkdir(place);
    const database = await startEmpty(engine, place);
    ({ version } = database);
    const imported = await runWatched([CLI, 'import', file, '--json'], database.env, database.pid);
    const exported = await runWatched([CLI, 'export', '--out', again, '--json'], database.env, database.pid);
    await database.stop();
    if ((await digestOf(again)) !== digest) throw new Error('The export differs from what was imported.');
    for (const [name, one] of Object.entries({ import: imported, export: exported })) {
      const per = (seconds) => (seconds === undefined ? '–' : figure((seconds * 100_000) / games));
      rows.push([
        name,
        figure(one.seconds),
        figure(games / one.seconds),
        per(one.cpu),
        per(one.databaseCpu),
        figure(one.peak),
      ]);
      curves.push(`- ${name} ${round}: ${pointsOf(one.curve)}`);
      console.error(rows.at(-1).join(' '));
    }
    await rm(place, { recursive: true });
    await rm(again);
  }
  const head = ['', 's', 'games/s', 's of CPU per 100 000 games', 'of the database', 'highest memory, MiB'];
  const { users, images } = contentOf(games);
  const { size } = await stat(file);
  return `${circumstances(version)}, ${figure(games)} games, ${figure(images)} image posts, ${figure(users)} users, ${figure(size / MB)} MB

${markdownTable(head, rows)}

Every export had the bytes of the file that had been imported. Resident memory in MiB:

${curves.join('\n')}`;
};
