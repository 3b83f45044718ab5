// Writes the documents, and what the guides take from the contract. Runs in the root of the repository, by `npm run openapi`.
import { readFileSync, writeFileSync } from 'node:fs';
import { buildDocument, formatDocument } from './document.ts';
import { filledGuides } from './guides.ts';

const { version }: { version: string } = JSON.parse(readFileSync('package.json', 'utf8'));

writeFileSync('openapi/openapi.json', formatDocument(await buildDocument(version, '3.1')));
writeFileSync('openapi/openapi-3.0.json', formatDocument(await buildDocument(version, '3.0')));
for (const [path, text] of await filledGuides()) writeFileSync(path, text);
