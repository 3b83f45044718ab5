/**
 * Says what could not be tested, at the start and at the end, where it is seen; and how many tests each project ran.
 * Jest loads reporters untransformed, therefore plain JavaScript.
 */
export default class SummaryReporter {
  constructor(_globalConfig, { notices }) {
    this.notices = notices;
  }

  onRunStart() {
    this.#warn();
  }

  onRunComplete(_contexts, { testResults }) {
    const counts = new Map();
    for (const { displayName, numPassingTests } of testResults) {
      // A file that could not be loaded has neither name nor tests.
      if (displayName) counts.set(displayName.name, (counts.get(displayName.name) ?? 0) + numPassingTests);
    }
    const parts = [...counts].map(([name, count]) => `${name} ${count}`);
    process.stderr.write(`Passed by project: ${parts.join(', ') || 'none'}\n`);
    this.#warn();
  }

  #warn() {
    const rule = '!'.repeat(100);
    for (const lines of this.notices) {
      process.stderr.write(['', rule, ...lines.map((line) => `!! ${line}`), rule, ''].join('\n'));
    }
  }
}
