import { root } from './support/clone.mjs';
import { operations } from './support/document.mjs';
import { blocksAfterInstall } from './support/guide.mjs';
import { run } from './support/shell.mjs';
import { need, packages } from './support/tools.mjs';

const COUNTS = /^Tests run: (\d+), Successes: (\d+), Failures: (\d+), WIP: (\d+), Errors: (\d+)$/m;

export const recipe = async ({ folder, env }) => {
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
  const [prepare, test] = blocksAfterInstall('Specmatic', 'specmatic');
  await run(prepare, options);
  const { output } = await run(test, options);

  const [counts, ...numbers] = COUNTS.exec(output) ?? [];
  const [tests, successes] = numbers.map(Number);
  // One that succeeds and one that is refused, of each operation.
  if (tests !== operations.length * 2 || successes !== tests) throw new Error(counts ?? `no counts in:\n${output}`);
  return `${tests} tests, 0 failed`;
};
