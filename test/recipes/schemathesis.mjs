import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from './support/clone.mjs';
import { operations } from './support/document.mjs';
import { blocksOf } from './support/guide.mjs';
import { Lacking } from './support/lacking.mjs';
import { run } from './support/shell.mjs';

/** The folder of the `schemathesis` that CI has. @throws Lacking */
const commands = async (options) => {
  try {
    const { output } = await run('dirname "$("$ROOT/.ci/schemathesis")"', {
      ...options,
      env: { ...options.env, ROOT: root },
    });
    return output.trim().split('\n').at(-1);
  } catch (error) {
    throw new Lacking(`schemathesis cannot be had: ${error.message}`);
  }
};

/** A home of the gateway with what Schemathesis reads, where it makes one case of each kind: `npm run fuzz` proves the breadth. */
const smallHome = async (folder) => {
  const home = join(folder, 'home');
  await cp(join(root, 'deploy/ci'), join(home, 'deploy/ci'), { recursive: true });
  const file = join(home, 'deploy/ci/schemathesis.toml');
  const lines = await readFile(file, 'utf8');
  const fewer = lines.replace(/^max-examples = \d+$/m, 'max-examples = 1');
  if (fewer === lines) throw new Error(`${file} says nothing of max-examples.`);
  await writeFile(file, fewer);
  return home;
};

/** Runs the guide's lines with a key and without one: each operation is tested, and only without one does any refuse alone. */
export const recipe = async ({ folder, env }) => {
  const { GATEWAY_KEY: _, ...anonymous } = env;
  const options = { cwd: folder, env: anonymous, seconds: 900 };
  const [install, withKey, withoutKey] = blocksOf('Schemathesis');
  const [, version] = /==(\S+)/.exec(install);
  const requirements = await readFile(join(root, 'test/fuzz/requirements.txt'), 'utf8');
  if (!requirements.includes(`schemathesis==${version} `)) throw new Error(`docs/ci.md names another: ${version}`);

  const tools = {
    PATH: `${await commands(options)}:${env.PATH}`,
    GATEWAY_HOME: await smallHome(folder),
    PYTHONDONTWRITEBYTECODE: '1',
  };
  const test = async (lines, variables, wantedRefusing) => {
    const { output } = await run(lines, { ...options, env: { ...variables, ...tools } });
    const [, tested] = /^ +Tested: (\d+)$/m.exec(output) ?? [];
    const [, refusing = 0] = /Authentication failed: (\d+) operations?/.exec(output) ?? [];
    const [, generated, passed] = /^ +(\d+) generated, (\d+) passed/m.exec(output) ?? [];
    if (Number(tested) !== operations.length || Number(refusing) !== wantedRefusing || !(Number(passed) > 0))
      throw new Error(output);
    return `${generated} cases`;
  };
  const cases = await test(withKey, env, 0);
  const anonymousCases = await test(withoutKey, anonymous, operations.filter(({ isPublic }) => !isPublic).length);
  return `${operations.length} operations, ${cases} with a key and ${anonymousCases} without, no failure`;
};
