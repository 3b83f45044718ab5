import { TestEnvironment } from 'jest-environment-node';
import { reasonAgainst } from './exceptions.mjs';

const nameOf = (test) => (test.parent ? [nameOf(test.parent), test.name].filter(Boolean).join(' ') : '');

/** Passes over the tests that are listed as exceptions. */
export default class VitessEnvironment extends TestEnvironment {
  #path;

  constructor(config, context) {
    super(config, context);
    this.#path = context.testPath;
  }

  handleTestEvent(event) {
    if (event.name === 'test_start' && reasonAgainst(this.#path, nameOf(event.test))) event.test.mode = 'skip';
  }
}
