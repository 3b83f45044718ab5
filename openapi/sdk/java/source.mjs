// What the emitters here have in common: the document in <build>, names, and how a class is written.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readSettings } from '../settings.mjs';

const build = process.argv[2];
export const { java } = readSettings();
export const folder = join(build, 'java/src/main/java', ...java.package.split('.'));
const read = (name) => JSON.parse(readFileSync(join(build, name), 'utf8'));
export const operations = read('operations.json');
export const { tags, components } = read('openapi.json');

const HEAD = '// Made from the contract. Don’t edit.';
export const pascal = (name) => name[0].toUpperCase() + name.slice(1);
export const constantOf = ({ id }) => id.replace('.', '_').replace(/[A-Z]/g, '_$&').toUpperCase();
export const pageOf = ({ id }) => `${id.split('.').map(pascal).join('')}Page`;
export const resultOf = (operation) => (operation.item ? pageOf(operation) : operation.output);
export const byName = (left, right) => (left < right ? -1 : 1);

export const comment = (lines, indent = '  ') =>
  [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */`].join('\n');

export const write = (name, body, imports = []) => {
  const used = imports.filter((path) => new RegExp(`\\b${path.split('.').pop()}\\b`).test(body)).toSorted(byName);
  const lines = used.map((path) => `import ${path};\n`).join('');
  writeFileSync(join(folder, `${name}.java`), `${HEAD}\npackage ${java.package};\n\n${lines}${lines && '\n'}${body}`);
};

export const models = Object.keys(components.schemas).map((name) => `${java.package}.model.${name}`);
export const FUTURE = 'java.util.concurrent.CompletableFuture';
export const LIST = 'java.util.List';
