import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cacheFolder } from '../../harness/jest/available.mjs';
import { Lacking } from './lacking.mjs';

const run = promisify(execFile);
const sources = fileURLToPath(new URL('../tools/', import.meta.url));
const PATIENCE = { timeout: 900_000 };

const fetchOnce = async (name, pins, make) => {
  const hash = createHash('sha256');
  for (const file of pins) hash.update(await readFile(file));
  const folder = join(cacheFolder(), `${name}-${hash.digest('hex').slice(0, 12)}`);
  if (existsSync(folder)) return folder;
  const work = `${folder}.${process.pid}`;
  console.log(`fetching ${name}`);
  await mkdir(work, { recursive: true });
  try {
    for (const file of pins) await copyFile(file, join(work, basename(file)));
    await make(work);
    await rename(work, folder);
    return folder;
  } catch (error) {
    await rm(work, { recursive: true, force: true });
    throw new Lacking(`${name} cannot be had: ${error.stderr?.trim() || error.message}`);
  }
};

/** What is fetched, or being fetched, by name. */
const known = new Map();

/**
 * Fetches something once into a folder of the cache, which is named after the files that pin its versions.
 *
 * @param pins paths, from tools/
 * @param make fills the folder that it is given, where copies of these files are
 * @returns the folder
 * @throws Lacking if it cannot be had
 */
const fetched = (name, pins, make) => {
  const fetching =
    known.get(name) ??
    fetchOnce(
      name,
      pins.map((file) => resolve(sources, file)),
      make,
    );
  known.set(name, fetching);
  return fetching;
};

/** The folder of the npm packages that a folder pins, installed without their scripts. @throws Lacking */
export const npmPackages = async (name, place) => {
  const pins = ['package.json', 'package-lock.json'].map((file) => join(place, file));
  const install = ['ci', '--ignore-scripts', '--no-audit', '--no-fund'];
  return join(await fetched(name, pins, (cwd) => run('npm', install, { cwd, ...PATIENCE })), 'node_modules');
};

/** The folder of the npm packages of the tools for CI. @throws Lacking */
export const packages = () => npmPackages('recipes', '.');

/** The folder of the npm packages of generators, and of what their clients need. @throws Lacking */
export const generatorPackages = () => npmPackages('generators', 'generators');

/** The Python of an environment with the packages that a file pins, by these options of pip. @throws Lacking */
export const pythonWith = async (name, requirements, ...options) => {
  const folder = await fetched(name, [requirements], async (cwd) => {
    await run('python3', ['-m', 'venv', cwd], PATIENCE);
    const install = ['-m', 'pip', 'install', '-q', ...options, '-r', join(cwd, basename(requirements))];
    await run(join(cwd, 'bin/python'), install, PATIENCE);
  });
  return join(folder, 'bin/python');
};

/** The Python that has generators, and what their clients need. @throws Lacking */
export const generatorPython = () => pythonWith('generators-python', 'generators/requirements.txt');

/** The folder of programs that Go builds from the `go.mod` of a folder, and from other files there. @throws Lacking */
export const goTools = (name, place, packagesOfGo, files = []) =>
  fetched(
    name,
    ['go.mod', 'go.sum', ...files].map((file) => join(place, file)),
    (folder) =>
      run('go', ['build', '-mod=readonly', '-o', `${folder}/`, ...packagesOfGo], {
        cwd: resolve(sources, place),
        ...PATIENCE,
      }),
  );

/** The path of a tool that tools/go.mod pins. @throws Lacking */
export const goTool = async (name, source) => join(await goTools(name, '.', [source]), name);

/** The versions that tools/package.json pins, by name. */
export const pinned = JSON.parse(await readFile(join(sources, 'package.json'), 'utf8')).dependencies;

/** @throws Lacking unless the machine has a command */
export const need = async (command) => {
  try {
    await run('sh', ['-c', `command -v ${command}`]);
  } catch {
    throw new Lacking(`this machine lacks ${command}`);
  }
};
