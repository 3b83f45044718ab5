import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { run } from './shell.mjs';
import { readYaml } from './yaml.mjs';

/** Writes what the runner would for each `${{ … }}` of a text. @throws Error for one that no input or step has */
const fill = (text, contexts) =>
  String(text).replaceAll(/\$\{\{\s*(.+?)\s*\}\}/g, (_, path) => {
    const value = path.split('.').reduce((context, name) => context?.[name], contexts);
    if (value === undefined) throw new Error(`The action uses ${path}, which is not there.`);
    return value;
  });

/** The `name=value` lines that a step wrote. */
const outputsOf = (text) =>
  Object.fromEntries(text.split('\n').flatMap((line) => (line ? [line.split(/=(.*)/s)] : [])));

/**
 * Runs the steps of a composite action as GitHub's runner does: each `run` by `bash -e -o pipefail`, with the inputs, their
 * defaults, and the runner's files. Steps that use another action are left out: they are the runner's.
 *
 * @param file the action.yml
 * @param options `inputs`; `env`, of the step that uses the action; `workspace`, where it runs; `statuses` that the last step
 *   may end with; `steps`, those to run (default: all)
 * @returns `status`, that of the last step, `outputs` of the action, the `summary`, and the `log`
 */
export const runAction = async (file, { inputs, env, workspace, statuses = [0], steps: chosen = () => true }) => {
  const { inputs: declared, outputs, runs } = await readYaml(file);
  const foreign = Object.keys(inputs).find((name) => !(name in declared));
  if (foreign) throw new Error(`The action has no input ${foreign}.`);
  const lacking = Object.entries(declared).find(([name, { required }]) => required && !inputs[name]);
  if (lacking) throw new Error(`The action needs the input ${lacking[0]}.`);

  const contexts = {
    inputs: {
      ...Object.fromEntries(Object.entries(declared).map(([name, { default: text = '' }]) => [name, text])),
      ...inputs,
    },
    github: { action_path: dirname(file) },
    steps: {},
  };
  const files = Object.fromEntries(
    ['GITHUB_OUTPUT', 'GITHUB_STEP_SUMMARY', 'GITHUB_ENV'].map((name) => [name, join(workspace, name)]),
  );
  await writeFile(files.GITHUB_STEP_SUMMARY, '');
  let log = '';
  let status = 0;
  const steps = runs.steps.filter(({ run: lines }) => lines !== undefined).filter(chosen);
  for (const [index, step] of steps.entries()) {
    for (const name of ['GITHUB_OUTPUT', 'GITHUB_ENV']) await writeFile(files[name], '');
    const own = Object.fromEntries(Object.entries(step.env ?? {}).map(([name, text]) => [name, fill(text, contexts)]));
    const ended = await run(fill(step.run, contexts), {
      cwd: step['working-directory'] ? fill(step['working-directory'], contexts) : workspace,
      env: { ...env, ...own, ...files, CI: 'true', GITHUB_ACTIONS: 'true', GITHUB_WORKSPACE: workspace },
      statuses: index === steps.length - 1 ? statuses : [0],
    });
    log += ended.output;
    status = ended.status;
    if (step.id) contexts.steps[step.id] = { outputs: outputsOf(await readFile(files.GITHUB_OUTPUT, 'utf8')) };
  }
  return {
    status,
    log,
    summary: await readFile(files.GITHUB_STEP_SUMMARY, 'utf8'),
    outputs: Object.fromEntries(Object.entries(outputs).map(([name, { value }]) => [name, fill(value, contexts)])),
  };
};
