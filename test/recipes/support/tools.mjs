import { execFile } from 'node:child_process';
import { copyFile, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createHash } from 'node:crypto';
import { Lacking } from './lacking.mjs';

const run = promisify(execFile);
const sources = fileURLToPath(new URL('../tools/', import.meta.url));
const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'content-gateway');

/**
 * Fetches something once into a folder of the cache, which is named after the files that pin its versions.
 *
 * @param pins paths, from tools/
 * @param make fills the empty folder that it is given
 * @returns the folder
 * @throws Lacking if it cannot be had
 */
export const fetched = async (name, pins, make) => {
  const hash = createHash('sha256');
  for (const file of pins) hash.update(await readFile(resolve(sources, file)));
  const folder = join(cache, `${name}-${hash.digest('hex').slice(0, 12)}`);
  try {
    await readFile(join(folder, 'complete'));
    return folder;
  } catch {
    // Not there yet.
  }
  const work = `${folder}.${process.pid}`;
  console.log(`fetching ${name}`);
  await mkdir(work, { recursive: true });
  try {
    for (const file of pins) await copyFile(resolve(sources, file), join(work, file.split('/').at(-1)));
    await make(work);
    await copyFile(resolve(sources, pins[0]), join(work, 'complete'));
    await rm(folder, { recursive: true, force: true });
    await rename(work, folder);
    return folder;
  } catch (error) {
    await rm(work, { recursive: true, force: true });
    throw new Lacking(`${name} cannot be had: ${error.stderr?.trim() || error.message}`);
  }
};

/** The folder of the npm packages that a folder of tools pins, installed without their scripts. @throws Lacking */
const packagesOf = async (name, place) => {
  const pins = ['package.json', 'package-lock.json'].map((file) => place + file);
  const folder = await fetched(name, pins, (cwd) =>
    run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd, timeout: 900_000 }),
  );
  return join(folder, 'node_modules');
};

/** The folder of the npm packages of the tools for CI. @throws Lacking */
export const packages = () => packagesOf('recipes', '');

/** The folder of the npm packages of generators, and of what their clients need. @throws Lacking */
export const generatorPackages = () => packagesOf('generators', 'generators/');

/** The Python that has generators, and what their clients need. @throws Lacking */
export const generatorPython = async () => {
  const folder = await fetched('generators-python', ['generators/requirements.txt'], async (cwd) => {
    await run('python3', ['-m', 'venv', cwd], { timeout: 900_000 });
    await run(join(cwd, 'bin/pip'), ['install', '-q', '-r', join(cwd, 'requirements.txt')], { timeout: 900_000 });
  });
  return join(folder, 'bin/python');
};

/** The path of a tool that tools/go.mod pins, built by Go. @throws Lacking */
export const goTool = async (name, source) => {
  const folder = await fetched(name, ['go.mod', 'go.sum'], (cwd) =>
    run('go', ['build', '-mod=readonly', '-o', name, source], { cwd, timeout: 900_000 }),
  );
  return join(folder, name);
};

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
