// What runs in production: the description of the package and its lock file, without what only developers need. npm 11 with
// --omit=dev leaves out packages that also serve developers, zod among them.
import { readFileSync } from 'node:fs';

const read = (name) => JSON.parse(readFileSync(new URL(`../${name}`, import.meta.url), 'utf8'));

// `private` keeps a clone from being published: its scripts compile, and its lock file holds all that developers need.
const { private: _, devDependencies: __, overrides, ...rest } = read('package.json');
const whole = read('package-lock.json');
const { devDependencies: ___, ...root } = whole.packages[''];
const packages = Object.entries(whole.packages).filter(([path, { dev, link }]) => path !== '' && !dev && !link);

/** `package.json`. */
export const description = {
  ...rest,
  // Others are those of developers' packages.
  overrides: Object.fromEntries(Object.entries(overrides).filter(([name]) => name in rest.dependencies)),
};

/** `package-lock.json`. */
export const lock = { ...whole, packages: { '': root, ...Object.fromEntries(packages) } };
