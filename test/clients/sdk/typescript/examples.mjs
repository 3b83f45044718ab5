// node examples.mjs <README> <folder>: writes each example of a README into a file, to be compiled.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What the examples take for granted. */
const GIVEN = {
  gateway: 'ContentGateway',
  baseUrl: 'string',
  id: 'string',
  key: 'string',
  order: '{ id: string }',
  secret: 'string',
  traceparent: 'string',
};

const EXAMPLE = /^ *```(?:ts|js)\n(.*?)^ *```$/gms;

const [readme, folder] = process.argv.slice(2);
const examples = Array.from(readFileSync(readme, 'utf8').matchAll(EXAMPLE), ([, code]) => code);
if (examples.length === 0) throw new Error(`${readme} has no examples`);

mkdirSync(folder, { recursive: true });
examples.forEach((code, index) => {
  const given = Object.entries(GIVEN).filter(([name]) => !new RegExp(`const ${name}\\b`).test(code));
  const imported = /import {[^}]*\bContentGateway\b/.test(code)
    ? ''
    : "import { ContentGateway } from 'content-gateway-client';\n";
  const declared = given.map(([name, type]) => `declare const ${name}: ${type};\n`).join('');
  writeFileSync(join(folder, `example-${index + 1}.ts`), imported + declared + code);
});
