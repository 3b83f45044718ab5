import assert from 'node:assert/strict';
import { cp, mkdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { runAction } from './support/action.mjs';
import { INSTALLED, clone, productionPackages, root } from './support/clone.mjs';
import { freePort } from '../harness/free-ports.mjs';
import { run } from './support/shell.mjs';
import { actionlint, need } from './support/tools.mjs';
import { readYaml } from './support/yaml.mjs';

const isVerify = ({ id }) => id === 'verify';

/** Has actionlint read the workflow as it will lie in a repository, with the action beside it. */
const lint = async (folder, env) => {
  await need('go');
  const repository = join(folder, 'repository');
  await mkdir(join(repository, '.github/workflows'), { recursive: true });
  await cp(join(root, 'deploy/ci/github-workflow.yml'), join(repository, '.github/workflows/contract.yml'));
  await cp(join(root, 'deploy/ci'), join(repository, 'gateway/deploy/ci'), { recursive: true });
  await run('git init --quiet . && "$ACTIONLINT" -no-color', {
    cwd: repository,
    env: { ...env, ACTIONLINT: await actionlint() },
  });
};

/** The guide's table of the action's inputs lists all of them, and its outputs are named. */
const checkGuide = async () => {
  const { inputs, outputs } = await readYaml(join(root, 'deploy/ci/action.yml'));
  const page = await readFile(join(root, 'docs/ci.md'), 'utf8');
  const [, section] = page.split('### GitHub Actions\n');
  const [table] = /\n\| Input [\s\S]*?\n\n/.exec(section);
  assert.deepEqual(
    [...table.matchAll(/^\| `(.+?)` /gm)].map(([, name]) => name),
    Object.keys(inputs),
  );
  const [told] = /^Its outputs are .*$/m.exec(section);
  assert.deepEqual(
    [...told.matchAll(/`(.+?)`/g)].map(([, name]) => name),
    Object.keys(outputs),
  );
};

/** The shell lines of the workflow that need neither Docker nor a checkout: those where a team's tests stand. */
const runTests = async (folder, env, gateway) => {
  const { env: shared, jobs } = await readYaml(join(root, 'deploy/ci/github-workflow.yml'));
  const step = jobs.test.steps.find(({ name }) => name === 'Your tests');
  assert.equal(shared.SANDBOX_KEY, gateway.key);
  await run(step.run, { cwd: folder, env: { ...env, ...shared, ...step.env, CONTENT_GATEWAY_URL: gateway.url } });
};

export const recipe = async ({ gateway, folder, env }) => {
  await checkGuide();
  await lint(folder, env);
  await runTests(folder, env, gateway);

  const file = join(await clone(folder, env), 'deploy/ci/action.yml');
  const verify = (options) =>
    runAction(file, { env, workspace: folder, ...options, inputs: { url: gateway.url, ...options.inputs } });

  await symlink(await productionPackages(env), join(folder, 'node_modules'));
  // As one without a key, whose environment the shell of the action has.
  const anonymous = { ...env, ...INSTALLED, GATEWAY_KEY: '' };
  const all = await verify({ env: anonymous, inputs: { seed: '7', junit: 'reports.xml' } });
  const { passed, failed, skipped, seed } = all.outputs;
  assert.ok(Number(passed) > 1000, all.log);
  assert.deepEqual({ failed, seed }, { failed: '0', seed: '7' });
  assert.match(all.summary, new RegExp(`^${passed} checks passed, 0 failed, ${skipped} were skipped`, 'm'));
  assert.match(await readFile(join(folder, 'reports.xml'), 'utf8'), /<testsuites /);

  // The second time, it is built.
  const options = { steps: isVerify, inputs: { 'read-only': 'true', 'max-skipped': '0' } };
  const read = await verify({ ...options, statuses: [1] });
  assert.equal(read.outputs.failed, '0');
  assert.ok(Number(read.outputs.passed) > Number(passed), 'The key lets it check more.');
  assert.match(read.log, /checks were skipped, 0 may be/);
  assert.match(read.summary, /^- \d+ skipped: /m);
  assert.match(await readFile(join(folder, 'verify.xml'), 'utf8'), /<testsuites /);

  const nowhere = { url: `http://127.0.0.1:${await freePort()}` };
  const away = await verify({ steps: isVerify, inputs: nowhere, statuses: [3] });
  assert.match(away.summary, /^Nothing was verified/m);
  const marker = join(folder, 'marker');
  await verify({ steps: isVerify, inputs: { url: `$(touch ${marker})"; touch ${marker}; "` }, statuses: [2] });
  await assert.rejects(readFile(marker), 'An input was run as a command.');

  return `${passed} passed, ${skipped} skipped; read-only: ${read.outputs.passed} passed, ${read.outputs.skipped} skipped`;
};
