import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { clone, root } from './support/clone.mjs';
import { freePort } from '../harness/free-ports.mjs';
import { run } from './support/shell.mjs';
import { readYaml } from './support/yaml.mjs';

/** Variables of a pipeline with those that they name filled in, as GitLab does before a job begins. */
const expanded = (variables) => {
  const fill = (text) =>
    String(text).replaceAll(/\$\{?(\w+)\}?/g, (_, name) => (name in variables ? fill(variables[name]) : ''));
  return Object.fromEntries(Object.entries(variables).map(([name, text]) => [name, fill(text)]));
};

/** Runs a job's lines in one shell, as GitLab's runner does. `left` is what an earlier job left in the folder. */
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
  return readFile(join(folder, job.artifacts.reports.junit), 'utf8');
};

const countOf = (junit, name) => Number(new RegExp(`<testsuites [^>]*\\b${name}="(\\d+)"`).exec(junit)?.[1]);
const told = (junit) => `${countOf(junit, 'tests')} checks (${countOf(junit, 'skipped')} skipped)`;

/** Makes the package of a release, with what is not committed yet. Returns the archive. */
const packageOf = async (folder, env) => {
  const copy = await clone(folder, env);
  const out = join(folder, 'release');
  await run(
    `ln -s "$ROOT/node_modules" node_modules
    echo node_modules >>.git/info/exclude
    git add --all
    git -c user.name=recipe -c user.email= commit --quiet --allow-empty --message 'What is not committed yet'
    npm run -s release -- --out "$OUT" --only npm`,
    { cwd: copy, env: { ...env, ROOT: root, OUT: out } },
  );
  const files = await readdir(out);
  return join(
    out,
    files.find((name) => name.endsWith('.tgz')),
  );
};

export const recipe = async ({ gateway, folder, env }) => {
  const pipeline = await readYaml(join(root, 'deploy/ci/gitlab.yml'));
  const { GATEWAY_KEY, ...anonymous } = env;
  assert.equal(pipeline['gateway-sandbox'].variables.CONTENT_GATEWAY_API_KEY, GATEWAY_KEY);

  // npm's global packages are those of the job's container.
  const prefix = join(folder, 'container');
  const container = { npm_config_prefix: prefix, PATH: `${join(prefix, 'bin')}:${env.PATH}` };
  const sandbox = await runJob(pipeline, 'gateway-sandbox', {
    folder,
    env: { ...anonymous, ...container },
    variables: { GATEWAY_PACKAGE: await packageOf(folder, env), PORT: String(await freePort()) },
  });
  assert.match(await readFile(join(folder, 'sandbox.log'), 'utf8'), /^Content Gateway .*, sandbox$/m);

  const before = new Set(pipeline['.gateway'].before_script);
  const staging = await runJob(pipeline, 'gateway-staging', {
    folder,
    env: { ...env, ...container },
    variables: { GATEWAY_STAGING_URL: gateway.url },
    // Both jobs begin alike.
    skip: (line) => before.has(line),
  });
  for (const junit of [sandbox, staging]) assert.match(junit, /<testsuites [^>]*\bfailures="0"/);
  return `a sandbox: ${told(sandbox)}; a deployment: ${told(staging)}; 0 failed`;
};
