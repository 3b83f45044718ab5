// npm run test:file -- test/game/game.test.ts … [options of Jest]: runs the test files whose paths contain one of the words before
// the options, in the suites that they belong to, without the table of replies.
import { spawnSync } from 'node:child_process';
import { tests } from './projects.mjs';

const words = process.argv.slice(2);
const firstOption = words.findIndex((word) => word.startsWith('-'));
const patterns = firstOption === -1 ? words : words.slice(0, firstOption);
const options = words.slice(patterns.length);
const lacking = patterns.filter((pattern) => !tests.some(({ path }) => path.includes(pattern)));
if (patterns.length === 0 || lacking.length > 0) {
  console.error(
    patterns.length === 0
      ? 'Name a test file, or a part of its path.'
      : `No test file is named ${lacking.join(', nor ')}.`,
  );
  process.exit(2);
}
const found = tests.filter(({ path }) => patterns.some((pattern) => path.includes(pattern)));
const tiersOf = ({ tier, serverTier, engines }) => [tier, ...(engines.includes('server') ? [serverTier] : [])];
for (const tier of new Set(found.flatMap(tiersOf))) {
  const paths = found.filter((test) => tiersOf(test).includes(tier)).map(({ path }) => path);
  const jest = ['run', '-s', 'test', '--', '--coverage=false', ...options, '--runTestsByPath', ...paths];
  const { status } = spawnSync('npm', jest, { stdio: 'inherit', env: { ...process.env, TEST_TIER: tier } });
  if (status !== 0) process.exitCode = status ?? 1;
}
