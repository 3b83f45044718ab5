import assert from 'node:assert/strict';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runAction } from './support/action.mjs';
import { machineOf, packageOf, root } from './support/clone.mjs';
import { freePort } from '../harness/free-ports.mjs';
import { run } from './support/shell.mjs';
import { goTool, need } from './support/tools.mjs';
import { readYaml } from './support/yaml.mjs';

const isVerify = ({ id }) => id === 'verify';

const WORKFLOW = join(root, 'deploy/ci/github-workflow.yml');
const ACTION = join(root, 'deploy/ci/action.yml');

/** What the guide says of GitHub Actions. */
const readGuide = async () => {
  const page = await readFile(join(root, 'docs/ci.md'), 'utf8');
  return page.split('### GitHub Actions\n')[1].split(/^##/m, 1)[0];
};

/** Has actionlint read the workflow as it will lie in a repository, and the guide's step, with the action where it uses it. */
const lint = async (folder, env) => {
  await need('go');
  const repository = join(folder, 'repository');
  const workflows = join(repository, '.github/workflows');
  await mkdir(workflows, { recursive: true });
  await cp(WORKFLOW, join(workflows, 'contract.yml'));
  const [, step] = /^```yaml\n([\s\S]*?)^```$/m.exec(await readGuide());
  const [, place] = /uses: \.\/(\S+)/.exec(step);
  await mkdir(join(repository, place), { recursive: true });
  await cp(ACTION, join(repository, place, 'action.yml'));
  const head = 'on: push\njobs:\n  verify:\n    runs-on: ubuntu-24.04\n    steps:\n';
  await writeFile(join(workflows, 'verify.yml'), head + step.replaceAll(/^(?=.)/gm, '      '));
  await run('git init --quiet . && "$ACTIONLINT" -no-color', {
    cwd: repository,
    env: { ...env, ACTIONLINT: await goTool('actionlint', 'github.com/rhysd/actionlint/cmd/actionlint') },
  });
};

/** The guide's table of the action's inputs lists all of them, and its outputs are named. */
const checkGuide = async () => {
  const { inputs, outputs } = await readYaml(ACTION);
  const section = await readGuide();
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

/** The shell lines of the workflow, in one shell, since the sandbox goes on from step to step. */
const runWorkflow = async (folder, env, gateway) => {
  const { env: shared, jobs } = await readYaml(WORKFLOW);
  const port = await freePort();
  const own = {
    PORT: String(port),
    CONTENT_GATEWAY_URL: `http://localhost:${port}`,
    GATEWAY_PACKAGE: await packageOf(env),
    GATEWAY_DEPLOYMENT: gateway.url,
    GATEWAY_KEY: gateway.key,
  };
  const lines = jobs.test.steps.flatMap(({ run: text }) => text ?? []).join('\n');
  const { output } = await run(lines, { cwd: folder, env: { ...machineOf(folder, env), ...shared, ...own } });
  assert.match(await readFile(join(folder, 'sandbox.log'), 'utf8'), /^Content Gateway .*, sandbox$/m);
  for (const report of ['verify.xml', 'can-i-deploy.xml']) {
    assert.match(await readFile(join(folder, report), 'utf8'), /<testsuites [^>]*\bfailures="0"/);
  }
  assert.match(output, /keeps the contract of my-client under production/);
};

export const recipe = async ({ gateway, folder, env }) => {
  await checkGuide();
  await lint(folder, env);
  const { GATEWAY_KEY: _, ...keyless } = env;
  await runWorkflow(folder, keyless, gateway);

  const machine = machineOf(folder, env);
  const required = { url: gateway.url, package: await packageOf(env) };
  const verify = (options) =>
    runAction(ACTION, { env: machine, workspace: folder, ...options, inputs: { ...required, ...options.inputs } });

  // As one without a key, whose environment the shell of the action has.
  const anonymous = { ...machine, GATEWAY_KEY: '' };
  const given = { seed: '7', junit: 'reports.xml' };
  const all = await verify({ env: anonymous, inputs: given });
  const { passed, failed, skipped, seed } = all.outputs;
  assert.ok(Number(passed) > 1000, all.log);
  assert.deepEqual({ failed, seed }, { failed: '0', seed: '7' });
  assert.match(all.summary, new RegExp(`^${passed} checks passed, 0 failed, ${skipped} were skipped`, 'm'));
  assert.match(await readFile(join(folder, 'reports.xml'), 'utf8'), /<testsuites /);

  // The second time, it is installed.
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
