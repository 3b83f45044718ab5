// The documents: those of the repository, and those that the service makes of it.
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The names in `openapi/`, and in a release. */
const COPIED = [
  ['openapi.json', 'openapi.json'],
  ['openapi-3.0.json', 'openapi-3.0.json'],
  ['workflows.arazzo.yaml', 'arazzo.yaml'],
];

/** Writes them from a compiled copy of the repository. */
export const writeDocuments = async ({ copy, out }) => {
  for (const [name, released] of COPIED) copyFileSync(join(copy, 'openapi', name), join(out, released));
  const load = (path) => import(join(copy, 'dist/src', path));
  const { readConfig } = await load('config/config.js');
  const { documents, EXAMPLE_ADDRESS } = await load('site/documents.js');
  const { yamlOf } = await load('site/yaml.js');
  const { ADDRESS, publishedText } = await load('site/guides/guides.js');
  const config = readConfig({});
  const [[, json]] = documents(config);
  writeFileSync(join(out, 'openapi.yaml'), await yamlOf(JSON.parse(json)));
  for (const name of ['llms.txt', 'llms-full.txt']) {
    writeFileSync(join(out, name), publishedText(name, config).replaceAll(ADDRESS, EXAMPLE_ADDRESS));
  }
};
