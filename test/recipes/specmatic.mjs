import { root } from './support/clone.mjs';
import { operations } from './support/document.mjs';
import { blocksOf, versionInGuide } from './support/guide.mjs';
import { run } from './support/shell.mjs';
import { need, packages, pinned } from './support/tools.mjs';

const NAME = 'specmatic';
const COUNTS = /^Tests run: (\d+), Successes: (\d+), Failures: (\d+), WIP: (\d+), Errors: (\d+)$/m;

export const recipe = async ({ folder, env }) => {
  if (versionInGuide(NAME) !== pinned[NAME])
    throw new Error(`docs/ci.md names another ${NAME} than tools/package.json`);
  await need('java');
  const options = {
    cwd: folder,
    env: {
      ...env,
      GATEWAY_HOME: root,
      SPECMATIC: `${await packages()}/specmatic/specmatic.jar`,
      // So short a run gains nothing from code that is optimized at length.
      JAVA_TOOL_OPTIONS: '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC',
    },
    seconds: 900,
  };
  const [install, prepare, test] = blocksOf('Specmatic');
  if (!install.startsWith('npm install')) throw new Error('The first lines of the guide on Specmatic install it.');
  await run(prepare, options);
  const { output } = await run(test, options);

  const [counts, ...numbers] = COUNTS.exec(output) ?? [];
  const [tests, successes] = numbers.map(Number);
  // One that succeeds and one that is refused, of each operation.
  if (tests !== operations.length * 2 || successes !== tests) throw new Error(counts ?? `no counts in:\n${output}`);
  return `${tests} tests, 0 failed`;
};
