/**
 * Jest's runtime, except that the service's own modules and the packages are loaded by Node.js itself, once a worker: Jest
 * would link and evaluate them again for each test file, a quarter of all the time that the tests take. A file whose docblock
 * says `@modules own` gets its own, such as one that mocks the timers of Node.js. CommonJS, as Jest loads it.
 */
const { existsSync } = require('node:fs');
const { isAbsolute, join, relative, sep } = require('node:path');
const { pathToFileURL } = require('node:url');
const { setFlagsFromString } = require('node:v8');
const { SyntheticModule } = require('node:vm');
const { default: Runtime } = require('jest-runtime');

// Most code runs too seldom here to be worth its compilation: it has to run longer than usual before V8 optimizes it.
// The V8 of Node.js 24 has no such flag.
if (process.version.startsWith('v20.')) setFlagsFromString('--interrupt-budget=500000');

const root = join(__dirname, '../../..');
const COMPILED = new Set(['contract', 'migrations', 'openapi', 'src']);
/** Plain JavaScript of the harness that takes long to load. */
const SCHEMAS = join('test', 'harness', 'app', 'schemas.mjs');

/** What Node.js is to import in place of a module, given as a test file names it; undefined where Jest is to load it. */
const replacement = (specifier, suffix, resolved) => {
  if (!isAbsolute(resolved)) return undefined;
  const path = relative(root, resolved);
  if (path.startsWith(`node_modules${sep}`) && !/^[./#]/.test(specifier) && !specifier.startsWith('@jest/')) {
    return specifier;
  }
  if (path === SCHEMAS) return pathToFileURL(resolved).href;
  if (!path.endsWith('.ts') || !COMPILED.has(path.split(sep)[0])) return undefined;
  const compiled = join(root, 'dist', path.replace(/\.ts$/, '.js'));
  return existsSync(compiled) ? pathToFileURL(compiled).href + suffix : undefined;
};

const wrapped = async (namespace, identifier, context) => {
  const names = Object.keys(namespace);
  const module = new SyntheticModule(
    names,
    () => {
      for (const name of names) module.setExport(name, namespace[name]);
    },
    { context, identifier },
  );
  if (module.status === 'unlinked') await module.link(() => {});
  await module.evaluate();
  return module;
};

module.exports = class SharedModulesRuntime extends Runtime {
  constructor(config, environment, ...more) {
    super(config, environment, ...more);
    if (!environment.sharesModules) return;
    const { esmLoader } = this;
    const { resolution } = esmLoader;
    const load = esmLoader.resolveModule.bind(esmLoader);
    const loaded = new Map();
    // Jest asks for modules one after the other then, by `resolveModule`, on every Node.js.
    resolution.hasDistinctAsyncResolver = () => true;
    esmLoader.resolveModule = async (specifier, from, context) => {
      if (specifier.startsWith('node:') || specifier.startsWith('data:') || specifier === '@jest/globals') {
        return load(specifier, from, context);
      }
      const [, path, suffix] = /^([^?]*)(.*)$/.exec(specifier);
      const instead = replacement(path, suffix, await resolution.resolveEsmAsync(from, path));
      if (instead === undefined) return load(specifier, from, context);
      if (!loaded.has(instead)) {
        loaded.set(
          instead,
          import(instead).then((namespace) => wrapped(namespace, instead, context)),
        );
      }
      return loaded.get(instead);
    };
  }
};
