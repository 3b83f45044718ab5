// The code samples of the document, run as they are published against a sandbox.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { postCall } from '../../harness/http/post.mjs';
import { startRecorder } from '../../harness/http/recorder.mjs';
import { startSandbox } from './gateway.mjs';

/** The document as a service publishes it that callers reach at this address. */
const publishedAt = async (url = 'http://localhost:3000') => {
  const [{ readConfig }, { documents, withAddress }] = await Promise.all([
    import('../../../dist/src/config/config.js'),
    import('../../../dist/src/site/documents.js'),
  ]);
  const served = new Map(documents(readConfig({})));
  return JSON.parse(withAddress(served.get('/openapi.json'), url));
};

const pascal = (name) => name[0].toUpperCase() + name.slice(1);

/** The samples in a language: `{name, path, needsKey, json, source}`, of which `name` is `GameCreate`. Those of streams set no end. */
const samplesIn = ({ paths }, label) =>
  Object.entries(paths).map(([path, { post }]) => ({
    name: post.operationId.split('.').map(pascal).join(''),
    path,
    needsKey: post.security.length === 1,
    json: { ...post.requestBody.content['application/json'].example.json, maxDuration: undefined },
    source: `${post['x-codeSamples'].find((sample) => sample.label.toLowerCase() === label).source}\n`,
  }));

const writeAll = (folder, samples, extension) => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const { name, source } of samples) writeFileSync(join(folder, name + extension), source);
};

/** What a sample should ask, and how it is answered. */
const wanted = ({ path, needsKey, json }, key) => ({
  path,
  key: needsKey ? `Bearer ${key}` : undefined,
  body: JSON.parse(JSON.stringify({ json })),
  status: 200,
});
const found = ({ path, headers, body, status }) => {
  const { pathname, searchParams } = new URL(path, 'http://localhost');
  return { path: pathname, key: headers.authorization, body: JSON.parse(body || searchParams.get('input')), status };
};

/**
 * Runs the samples in a language, each by itself, against a sandbox.
 *
 * @param language as `languagesNamed` returns it
 * @param folder where the samples are written: `printed/`, as they are in the document, and `served/`, which call the sandbox
 * @param run runs the program of the language: `run(args, env)`. `samples <folder> <name> …` is to check the form of what is in
 *   `printed/`, and to compile what is in `served/` and run it in the order of the names given, which is that of the document:
 *   in it, a record is deleted last; what `served/GameCreate…` prints goes to `served/GameCreate.out`
 * @throws Error if a sample fails, prints nothing, or asks anything else than its operation with the input of its example
 */
export const playSamples = async ({ name: language, extension }, folder, run) => {
  const sandbox = await startSandbox();
  const post = (operation, json) => postCall(sandbox.url, operation, json, sandbox.key);
  // What follows a stream waits for an event.
  const recorder = await startRecorder(sandbox.url, {
    onStream: () => void post('game.create', { title: 'followed' }),
  });
  try {
    // The list of failed calls is to show one. Later, the connection may have idled for too long.
    await post('game.getById');
    const samples = samplesIn(await publishedAt(recorder.url), language);
    writeAll(join(folder, 'printed'), samplesIn(await publishedAt(), language), extension);
    writeAll(join(folder, 'served'), samples, extension);
    await run(['samples', folder, ...samples.map(({ name }) => name)], { GATEWAY_KEY: sandbox.key });
    assert.deepEqual(
      recorder.exchanges.map(found),
      samples.map((sample) => wanted(sample, sandbox.key)),
    );
    const outputs = readdirSync(join(folder, 'served')).filter((file) => file.endsWith('.out'));
    const silent = samples.filter(
      ({ name }) =>
        !outputs.includes(`${name}.out`) || readFileSync(join(folder, 'served', `${name}.out`), 'utf8').trim() === '',
    );
    assert.deepEqual(
      silent.map(({ name }) => name),
      [],
      'these samples print nothing',
    );
  } finally {
    await recorder.stop();
    await sandbox.stop();
  }
};
