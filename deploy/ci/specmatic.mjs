// node specmatic.mjs <openapi.json> <folder>: writes what Specmatic tests a gateway with into the folder: `contract.json`, and
// for each operation, in `contract_examples/`, a call that succeeds (the document's own example) and one that is refused. The
// key is GATEWAY_KEY.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { argv, env } from 'node:process';

const JSON_TYPE = 'application/json';
const [, , source, folder] = argv;
if (!folder || !env.GATEWAY_KEY) throw new Error('Usage: GATEWAY_KEY=… node specmatic.mjs <openapi.json> <folder>');

const document = JSON.parse(readFileSync(source, 'utf8'));

const examples = join(folder, 'contract_examples');
mkdirSync(examples, { recursive: true });

const write = (name, path, body, status, reply, type = JSON_TYPE) => {
  const headers = { 'Content-Type': JSON_TYPE, Authorization: `Bearer ${env.GATEWAY_KEY}` };
  const example = {
    'http-request': { method: 'POST', path, headers, body },
    'http-response': { status, headers: { 'Content-Type': type }, body: reply },
  };
  writeFileSync(join(examples, `${name}.json`), JSON.stringify(example, undefined, 2));
};

for (const [path, { post }] of Object.entries(document.paths)) {
  const { operationId, requestBody, responses } = post;
  const { example } = requestBody.content[JSON_TYPE];
  // Specmatic waits for six seconds.
  if (post['x-streaming']) example.json.maxDuration = 1;
  // A stream answers with another type.
  const [[type, answer]] = Object.entries(responses[200].content);
  write(operationId, path, example, 200, answer.example, type);
  const { VALIDATION_FAILED } = responses[400].content[JSON_TYPE].examples;
  write(`${operationId}.refused`, path, { json: { ...example.json, unknown: true } }, 400, VALIDATION_FAILED.value);
  // Those of the replies have no request beside them; Specmatic reads and drops each.
  for (const { content } of Object.values(responses)) delete content?.[JSON_TYPE]?.examples;
}
// Specmatic reads JSON as YAML, which has no unescaped control characters.
const escaped = JSON.stringify(document, undefined, 2).replaceAll(
  /[^\n -~]/g,
  (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
);
writeFileSync(join(folder, 'contract.json'), escaped);
