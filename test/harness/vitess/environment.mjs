import { relative } from 'node:path';
import { tests } from '../jest/projects.mjs';
import SharedEnvironment from '../jest/shared-environment.mjs';

const nameOf = (test) => (test.parent ? [nameOf(test.parent), test.name].filter(Boolean).join(' ') : '');

/** Skips the tests that their file's docblock names in `@skipOnVitess`. */
export default class VitessEnvironment extends SharedEnvironment {
  #skips;

  constructor(config, context) {
    super(config, context);
    const path = relative(config.projectConfig.rootDir, context.testPath);
    this.#skips = tests.find((one) => one.path === path)?.skips ?? [];
  }

  handleTestEvent({ name, test }) {
    if (name === 'test_start' && this.#skips.some((skip) => nameOf(test).startsWith(skip.test))) test.mode = 'skip';
  }
}
