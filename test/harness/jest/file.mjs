// npm run test:file -- test/game/game.test.ts [options of Jest]: runs the test files whose paths contain the first word, in
// the suites that they belong to, without the table of replies.
import { spawnSync } from 'node:child_process';
import { tests } from './projects.mjs';

const [pattern, ...options] = process.argv.slice(2);
const found = pattern === undefined ? [] : tests.filter(({ path }) => path.includes(pattern));
if (found.length === 0) {
  console.error(
    pattern === undefined ? 'Name a test file, or a part of its path.' : `No test file is named ${pattern}.`,
  );
  process.exit(2);
}
for (const tier of new Set(found.map((test) => test.tier))) {
  const paths = found.filter((test) => test.tier === tier).map(({ path }) => path);
  const jest = ['run', '-s', 'test', '--', '--coverage=false', ...options, '--runTestsByPath', ...paths];
  const { status } = spawnSync('npm', jest, { stdio: 'inherit', env: { ...process.env, TEST_TIER: tier } });
  if (status !== 0) process.exitCode = status ?? 1;
}
