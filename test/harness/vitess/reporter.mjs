/** Prints at the end which tests were skipped, and why. Jest loads reporters untransformed, therefore plain JavaScript. */
import { tests } from '../jest/projects.mjs';

export default class VitessReporter {
  onRunComplete() {
    const skips = tests.flatMap((test) => test.skips);
    const lines = skips.map(({ path, test, reason }) => `  ${path}: ${test}\n    ${reason}`);
    process.stderr.write(`\nSkipped on Vitess, where it cannot hold:\n${lines.join('\n')}\n`);
  }
}
