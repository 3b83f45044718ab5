import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packages } from './tools.mjs';

/** What a YAML file holds. */
export const readYaml = async (file) => {
  const { parse } = await import(join(await packages(), 'yaml/dist/index.js'));
  return parse(await readFile(file, 'utf8'), { merge: true });
};
