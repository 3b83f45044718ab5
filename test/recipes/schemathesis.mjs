import { readFile } from 'node:fs/promises';
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

/** What it is told alone is where the document is: neither a key nor an option. */
export const recipe = async ({ folder, env }) => {
  const { GATEWAY_KEY: _, ...anonymous } = env;
  const options = { cwd: folder, env: anonymous, seconds: 600 };
  const [install, test] = blocksOf('Schemathesis');
  const [, version] = /==(\S+)/.exec(install);
  const requirements = await readFile(join(root, 'test/fuzz/requirements.txt'), 'utf8');
  if (!requirements.includes(`schemathesis==${version} `)) throw new Error(`docs/ci.md names another: ${version}`);

  const PATH = `${await commands(options)}:${env.PATH}`;
  const { output } = await run(test, { ...options, env: { ...anonymous, PATH } });
  const [, tested] = /^ +Tested: (\d+)$/m.exec(output) ?? [];
  const [, generated, passed] = /^ +(\d+) generated, (\d+) passed/m.exec(output) ?? [];
  if (Number(tested) !== operations.length || !(Number(generated) > 0) || /^Failures:/m.test(output))
    throw new Error(output);
  return `${tested} operations, ${generated} cases, ${passed} passed, no failure`;
};
