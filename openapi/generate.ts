// Writes the documents, the parts of the guides from the contract, and the version in files written by hand. Runs in
// the root of the repository, by `npm run openapi`.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { consumerContractSchema } from '../contract/consumer-contract.ts';
import { buildDocument, formatDocument } from './document.ts';
import { guideFiles } from './guide-pages.ts';
import { filledGuides } from './guides.ts';

/** The places of the version. */
const VERSIONED = [
  ['openapi/workflows.arazzo.yaml', /(?<=^ {2}version: ).+/gm],
  ['Dockerfile', /(?<=^ARG VERSION=).+/gm],
  ['deploy/kubernetes/kustomization.yaml', /(?<=^ +newTag: ).+/gm],
  ['docs/contracts.md', /(?<="contract": ")[\d.]+/g],
  ['docs/consumers.md', /(?<="contract": ")[\d.]+/g],
  ['deploy/ci/compose.yaml', /(?<=:-content-gateway:)[\d.]+/g],
  ...['README.md', 'docs/ci.md', 'docs/contracts.md'].map(
    (path) => [path, /(?<=\/content-gateway-)[\d.]+(?=\.tgz)/g] as const,
  ),
] as const;

const { version }: { version: string } = JSON.parse(readFileSync('package.json', 'utf8'));

writeFileSync('openapi/openapi.json', formatDocument(await buildDocument(version, '3.1')));
writeFileSync('openapi/openapi-3.0.json', formatDocument(await buildDocument(version, '3.0')));
writeFileSync('openapi/consumer-contract.schema.json', `${JSON.stringify(consumerContractSchema(), null, 2)}\n`);
for (const [path, text] of await filledGuides()) writeFileSync(path, text);
const replace = (path: string, place: RegExp, text: string): void =>
  writeFileSync(path, readFileSync(path, 'utf8').replaceAll(place, text));
for (const [path, place] of VERSIONED) replace(path, place, version);
// Last, since the guides depend on all of this. The folder stays: a build checks for new names in openapi/.
for (const name of readdirSync('openapi/guides')) rmSync(`openapi/guides/${name}`);
for (const [path, text] of guideFiles()) writeFileSync(path, text);
