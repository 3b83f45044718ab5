import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { machineOf, packageOf, root } from './support/clone.mjs';
import { freePort } from '../harness/free-ports.mjs';
import { postCall } from '../harness/http/post.mjs';
import { run } from './support/shell.mjs';
import { readYaml } from './support/yaml.mjs';

/** Variables of a pipeline with those that they name filled in, as GitLab does before a job begins. */
const expanded = (variables) => {
  const fill = (text) =>
    String(text).replaceAll(/\$\{?(\w+)\}?/g, (_, name) => (name in variables ? fill(variables[name]) : ''));
  return Object.fromEntries(Object.entries(variables).map(([name, text]) => [name, fill(text)]));
};

/** Runs a job's lines in one shell, as GitLab's runner does. Returns its report of tests, if it has one. */
const runJob = async (pipeline, name, { folder, env, variables, skip = () => false }) => {
  const job = pipeline[name];
  const base = pipeline[job.extends];
  const all = expanded({
    ...pipeline.variables,
    ...base.variables,
    ...job.variables,
    ...variables,
    CI_PROJECT_DIR: folder,
  });
  const lines = [...base.before_script, ...job.script].filter((line) => !skip(line));
  // The cache of the machine stands for the one that GitLab keeps between pipelines.
  const { npm_config_cache: cache, ...rest } = all;
  assert.equal(cache, join(folder, base.cache.paths[0]));
  await run(lines.join('\n'), { cwd: folder, env: { ...env, ...rest, CI: 'true' } });
  return job.artifacts && readFile(join(folder, job.artifacts.reports.junit), 'utf8');
};

const countOf = (junit, name) => Number(new RegExp(`<testsuites [^>]*\\b${name}="(\\d+)"`).exec(junit)?.[1]);
const told = (junit) => `${countOf(junit, 'tests')} checks (${countOf(junit, 'skipped')} skipped)`;

/** The consumers whose contracts a gateway keeps for the sandbox's user. */
const publishedAt = async ({ url, key }) => {
  const { result } = await (await postCall(url, 'consumerContract.list', {}, key)).json();
  return result.data.json.items.map(({ consumer }) => consumer);
};

/** Serves a new database until it has the contract of a consumer. */
const PUBLISHING = `
PORT=0 content-gateway serve >gateway.log 2>&1 &
until url=$(sed -n 's|^ *Docs: *\\(http.*\\)/docs/.*|\\1|p' gateway.log) && [ -n "$url" ]; do kill -0 $!; sleep 0.1; done
user=$(content-gateway users create --nickname shop)
GATEWAY_KEY=$(content-gateway keys create --user "$user" --scopes contract:write --name shop)
export GATEWAY_KEY
content-gateway contract publish my-client.json --to "$url"
kill $!
wait`;

export const recipe = async ({ gateway, folder, env }) => {
  const pipeline = await readYaml(join(root, 'deploy/ci/gitlab.yml'));
  const { GATEWAY_KEY, ...anonymous } = env;
  assert.equal(pipeline['gateway-sandbox'].variables.CONTENT_GATEWAY_API_KEY, GATEWAY_KEY);

  const sandbox = await runJob(pipeline, 'gateway-sandbox', {
    folder,
    env: machineOf(folder, anonymous),
    variables: { GATEWAY_PACKAGE: await packageOf(env), PORT: String(await freePort()) },
  });
  assert.match(await readFile(join(folder, 'sandbox.log'), 'utf8'), /^Content Gateway .*, sandbox$/m);

  const before = new Set(pipeline['.gateway'].before_script);
  // All jobs begin alike.
  const next = (name, variables) =>
    runJob(pipeline, name, { folder, env: machineOf(folder, env), variables, skip: (line) => before.has(line) });
  const staging = await next('gateway-staging', { GATEWAY_STAGING_URL: gateway.url });
  const GATEWAY_DEPLOYMENT = gateway.url;
  const deployed = await next('gateway-can-i-deploy', { GATEWAY_DEPLOYMENT });
  await next('gateway-publish', { GATEWAY_DEPLOYMENT });
  assert.ok((await publishedAt(gateway)).includes('my-client'), 'The contract is published.');
  const DATABASE_URL = `sqlite:${join(folder, 'content.db')}`;
  await run(PUBLISHING, { cwd: folder, env: { ...machineOf(folder, env), DATABASE_URL } });
  const NEW_DOCUMENT = join(folder, 'new.json');
  const document = JSON.parse(await readFile(join(root, 'openapi/openapi.json'), 'utf8'));
  await writeFile(NEW_DOCUMENT, JSON.stringify({ ...document, info: { ...document.info, version: '99.0.0' } }));
  const released = await next('gateway-release', { DATABASE_URL, NEW_DOCUMENT });
  for (const junit of [sandbox, staging, deployed, released]) assert.match(junit, /<testsuites [^>]*\bfailures="0"/);
  return `a sandbox: ${told(sandbox)}; a deployment: ${told(staging)}; 0 failed`;
};
