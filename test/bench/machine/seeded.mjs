import { createHash } from 'node:crypto';
import { constants, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cacheFolder } from '../../harness/jest/available.mjs';
import { takeSamples, takeSqliteSamples } from '../load/samples.mjs';
import { installMariadb, startMariadb } from './mariadb.mjs';
import { removeAtEnd, run } from './processes.mjs';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const CLI = 'dist/src/cli.js';
const home = join(cacheFolder(), 'bench');
const DAY_MS = 86_400_000;
/** Data folders of this many different schemas are kept. */
const KEPT_SCHEMAS = 2;
const MOST_USERS = 50_000;
/** A copy of more would not fit many disks: such a database is measured as it is, and goes when the bench ends. */
const MOST_COPIED_GAMES = 5_000_000;

/** What a seeded database depends on: the migrations, and what makes and stores the rows. */
const ROWS_DEPEND_ON = /^(migrations|src\/(sandbox\/seed|search|content\/tag)|src\/content\/write\/publish)\b.*\.js$/;

const schemaHash = (version) => {
  const hash = createHash('sha256');
  const files = readdirSync(join(version, 'dist'), { recursive: true, encoding: 'utf8' });
  for (const file of files.filter((path) => ROWS_DEPEND_ON.test(path)).toSorted()) {
    hash.update(readFileSync(join(version, 'dist', file)));
  }
  return hash.digest('hex').slice(0, 12);
};

/** The options of the command `seed` for so many games. */
export const seedOptions = (games, until) => {
  const users = Math.min(Math.ceil(games / 10), MOST_USERS);
  return { games, images: Math.ceil(games / 5), users, 'random-seed': 1, until };
};

const isFresh = async (folder, maxAgeDays) => {
  const note = join(folder, 'seeded.json');
  if (!existsSync(note)) return false;
  const { until } = JSON.parse(await readFile(note, 'utf8'));
  return Date.now() - Date.parse(until) < maxAgeDays * DAY_MS;
};

/** Tomorrow, so that the range of a day is still filled tomorrow. */
const tomorrow = () => new Date(Date.now() + DAY_MS).toISOString().slice(0, 10);

/** Migrates and fills an empty database as a version of the product does. */
const fill = async (version, url, options) => {
  const at = { cwd: version, env: { ...process.env, DATABASE_URL: url } };
  await run(process.execPath, [CLI, 'migrate'], { ...at, stdio: ['ignore', 'ignore', 'inherit'] });
  await run(process.execPath, [CLI, 'seed', ...Object.entries(options).flatMap(([name, v]) => [`--${name}`, v])], at);
};

const seed = async (version, folder, games) => {
  await mkdir(join(folder, '..'), { recursive: true });
  const draft = removeAtEnd(await mkdtemp(`${folder}.draft-`));
  const data = join(draft, 'data');
  await installMariadb(data);
  const mariadb = await startMariadb(data, { fast: true });
  const options = seedOptions(games, tomorrow());
  await fill(version, mariadb.url, options);
  const connection = await mariadb.connect();
  await connection.query('ANALYZE TABLE content.games, content.game_tags, content.tags, content.users');
  await connection.end();
  await mariadb.stop();
  await writeFile(join(draft, 'seeded.json'), JSON.stringify(options));
  await rm(folder, { recursive: true, force: true });
  await rename(draft, folder);
};

const forgetOldSchemas = async () => {
  const folders = readdirSync(home)
    .map((name) => join(home, name))
    .filter((folder) => !folder.includes('.copy-'))
    .toSorted((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
  for (const folder of folders.slice(KEPT_SCHEMAS)) await rm(folder, { recursive: true, force: true });
};

/**
 * Starts MariaDB on a copy of a seeded database, which is made if there is none, or none young enough: time ranges reach
 * back from now. The copy goes when the bench ends, so that what is written while measuring adds up to nothing; so does a database that is too large to be copied. With
 * `samples`, says what requests are made of. `version`: the folder of the version, built, that seeds it.
 */
export const startSeeded = async (games, { maxAgeDays = 14, samples = false, version = root } = {}) => {
  const folder = join(home, schemaHash(version), String(games));
  if (!(await isFresh(folder, maxAgeDays))) {
    console.error(`Seeding ${games} games …`);
    await seed(version, folder, games);
    await forgetOldSchemas();
  }
  const copy = removeAtEnd(await mkdtemp(join(home, '.copy-')));
  if (games > MOST_COPIED_GAMES) {
    await rename(join(folder, 'data'), copy);
    await rm(folder, { recursive: true });
  } else await cp(join(folder, 'data'), copy, { recursive: true, mode: constants.COPYFILE_FICLONE });
  const mariadb = await startMariadb(copy);
  return {
    ...mariadb,
    games,
    ...(samples && { samples: await takeSamples(mariadb) }),
    stop: async () => {
      await mariadb.stop();
      await rm(copy, { recursive: true, force: true });
    },
  };
};

/** A seeded SQLite database in a file, likewise; with its `samples`. */
export const startSeededSqlite = async (games, { maxAgeDays = 14, version = root } = {}) => {
  const folder = join(home, schemaHash(version), `sqlite-${games}`);
  const file = join(folder, 'content.db');
  if (!(await isFresh(folder, maxAgeDays))) {
    console.error(`Seeding ${games} games …`);
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    const options = seedOptions(games, tomorrow());
    await fill(version, `sqlite:${file}`, options);
    await writeFile(join(folder, 'seeded.json'), JSON.stringify(options));
  }
  const copy = removeAtEnd(await mkdtemp(join(home, '.copy-')));
  await cp(file, join(copy, 'content.db'), { mode: constants.COPYFILE_FICLONE });
  return {
    url: `sqlite:${join(copy, 'content.db')}`,
    games,
    samples: await takeSqliteSamples(join(copy, 'content.db')),
    stop: () => rm(copy, { recursive: true, force: true }),
  };
};
