// Writes the documents, what the guides take from the contract, and the version where it stands in files written by hand. Runs in
// the root of the repository, by `npm run openapi`.
import { readFileSync, writeFileSync } from 'node:fs';
import { buildDocument, formatDocument } from './document.ts';
import { filledGuides } from './guides.ts';

/** Where the version stands. */
const VERSIONED = [
  ['openapi/workflows.arazzo.yaml', /(?<=^ {2}version: ).+/gm],
  ['Dockerfile', /(?<=^ARG VERSION=).+/gm],
  ['deploy/kubernetes/kustomization.yaml', /(?<=^ +newTag: ).+/gm],
] as const;

const { version }: { version: string } = JSON.parse(readFileSync('package.json', 'utf8'));

writeFileSync('openapi/openapi.json', formatDocument(await buildDocument(version, '3.1')));
writeFileSync('openapi/openapi-3.0.json', formatDocument(await buildDocument(version, '3.0')));
for (const [path, text] of await filledGuides()) writeFileSync(path, text);
for (const [path, place] of VERSIONED) writeFileSync(path, readFileSync(path, 'utf8').replaceAll(place, version));
