import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cacheFolder } from '../harness/jest/available.mjs';
import { Lacking } from './docker.mjs';

const execute = promisify(execFile);
const sources = fileURLToPath(new URL('tools/', import.meta.url));
const MINUTES = 6 * 60_000;

/** Makes something, in a folder of the cache named after the files that it is made of. @throws Lacking */
const makeOnce = async (name, files, make) => {
  const hash = createHash('sha256');
  for (const file of files) hash.update(readFileSync(join(sources, file)));
  const folder = join(cacheFolder(), 'image', `${name}-${hash.digest('hex').slice(0, 12)}`);
  if (existsSync(folder)) return folder;
  const work = `${folder}.${process.pid}`;
  try {
    mkdirSync(work, { recursive: true });
    await make(work);
    renameSync(work, folder);
    return folder;
  } catch (error) {
    rmSync(work, { recursive: true, force: true });
    throw new Lacking(`${name} cannot be had: ${(error.stderr || error.message).trim().split('\n').at(-1)}`);
  }
};

/** The tools that are being made, or are there, by name. */
const tools = new Map();

/** Several checks, which run at once, may need the same tool. @throws Lacking */
const made = (name, files, make) => {
  const tool = tools.get(name) ?? makeOnce(name, files, make);
  tools.set(name, tool);
  return tool;
};

/** The folder of `compose` and `kustomize`, as their makers' own modules build them. @throws Lacking */
export const goTools = () =>
  made('go', ['go.mod', 'go.sum', 'compose/main.go'], (folder) =>
    execute('go', ['build', '-mod=readonly', '-o', `${folder}/`, './compose', 'sigs.k8s.io/kustomize/kustomize/v5'], {
      cwd: sources,
      timeout: MINUTES,
    }),
  );

/** The path of kubernetes-validate, which holds the schemas of Kubernetes. @throws Lacking */
export const kubernetesValidate = async () => {
  const folder = await made('kubernetes-validate', ['requirements.txt'], async (work) => {
    await execute('python3', ['-m', 'venv', work], { timeout: MINUTES });
    const install = ['install', '--quiet', '--require-hashes', '--requirement', join(sources, 'requirements.txt')];
    await execute(join(work, 'bin/pip'), install, { timeout: MINUTES });
  });
  // Programs of an environment know where it was made.
  return [join(folder, 'bin/python'), '-m', 'kubernetes_validate'];
};
