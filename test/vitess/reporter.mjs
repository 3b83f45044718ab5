/** Says at the end what was left out, and why. Jest loads reporters untransformed, therefore plain JavaScript. */
import { exceptions } from './exceptions.mjs';

export default class VitessReporter {
  onRunComplete() {
    const lines = exceptions.map(({ file, test, reason }) => `  ${file}${test ? `: ${test}` : ''}\n    ${reason}`);
    process.stderr.write(`\nLeft out on Vitess, since it cannot hold there:\n${lines.join('\n')}\n`);
  }
}
