import { AsyncLocalStorage } from 'node:async_hooks';
import { TestEnvironment } from 'jest-environment-node';

/** What values of the service's modules are instances of, which Node.js itself loads: see shared-modules.cjs. */
const SHARED = {
  AggregateError,
  Buffer,
  Date,
  Error,
  Map,
  RangeError,
  RegExp,
  Set,
  SyntaxError,
  TypeError,
  URIError,
  process,
};

/**
 * Those that are in use. Jest has one for each test file; until Node.js 22, each promise costs time for every one that was
 * ever used, also by files that have ended.
 */
const storages = new Set();
const ENABLE = '_enable';
const { [ENABLE]: enable } = AsyncLocalStorage.prototype;
if (enable) {
  AsyncLocalStorage.prototype[ENABLE] = function enableAndRemember() {
    storages.add(this);
    enable.call(this);
  };
}

/** An environment whose `process` and classes are those of Node.js. What a file sets in `process.env` ends with it. */
export default class SharedEnvironment extends TestEnvironment {
  #env = { ...process.env };

  constructor(config, context) {
    super(config, context);
    this.sharesModules = context.docblockPragmas.modules !== 'own';
    if (this.sharesModules) Object.assign(this.global, SHARED);
  }

  async teardown() {
    for (const storage of storages) storage.disable();
    storages.clear();
    for (const name of Object.keys(process.env)) if (!(name in this.#env)) delete process.env[name];
    Object.assign(process.env, this.#env);
    await super.teardown();
  }
}
