// The shell lines of .github/workflows/release.yml, run as a runner does, with an environment instead of expressions.
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from '../recipes/support/shell.mjs';
import { readYaml } from '../recipes/support/yaml.mjs';

const { env: ofAll, jobs } = await readYaml(
  fileURLToPath(new URL('../../.github/workflows/release.yml', import.meta.url)),
);

/** The steps with shell lines, by name. */
export const steps = new Map(
  Object.values(jobs).flatMap(({ steps: all }) =>
    all.filter(({ run: lines }) => lines).map((step) => [step.name, step]),
  ),
);

/** What a workflow's expressions would be: those of `given`, by the name of the variable. */
const declaredIn = (env = {}, given) =>
  Object.fromEntries(
    Object.entries(env).map(([name, text]) => [
      name,
      String(text).includes('${{') ? (given[name] ?? '') : String(text),
    ]),
  );

/** Stands for the client of GitHub, which is not here: it writes down what it is told. */
const writeGh = (folder) => {
  mkdirSync(join(folder, 'bin'));
  const program = join(folder, 'bin/gh');
  writeFileSync(program, `#!/bin/sh\nprintf '%s\\n' "$*" >>"${folder}/gh.log"\n[ "$2" != view ]\n`);
  chmodSync(program, 0o755);
};

/**
 * A runner on which a tag has been pushed.
 *
 * @param folder for its files
 * @param workspace the clone
 * @param env of the machine
 * @returns `temporary`, its folder; `envOf(step, given)`; `play(step, {given, statuses})`, which runs one and returns `{output, status}`;
 *   and the names of those `played`
 */
export const startRunner = ({ folder, workspace, version, env }) => {
  writeGh(folder);
  const temporary = join(folder, 'runner');
  mkdirSync(temporary);
  const envOf = (name, given) => ({
    ...env,
    PATH: `${join(folder, 'bin')}:${env.PATH}`,
    CI: 'true',
    GITHUB_REF_NAME: `v${version}`,
    GITHUB_REPOSITORY: 'example/content-gateway',
    GITHUB_WORKSPACE: workspace,
    GITHUB_OUTPUT: join(folder, 'output'),
    RUNNER_TEMP: temporary,
    ...given,
    ...declaredIn(ofAll, given),
    ...declaredIn(steps.get(name).env, given),
  });
  const played = new Set();
  return {
    temporary,
    envOf,
    played,
    play: (name, { given = {}, statuses } = {}) => {
      played.add(name);
      return run(steps.get(name).run, { cwd: workspace, env: envOf(name, given), statuses, seconds: 600 });
    },
  };
};
