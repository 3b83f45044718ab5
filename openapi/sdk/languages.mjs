// The languages there are SDKs in, and with what each is generated.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readSettings, settingAt } from './settings.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
/** Where the SDKs are written. */
export const build = process.env.SDK_BUILD || fileURLToPath(new URL('../../build/sdk', import.meta.url));

/**
 * `pin` is the file that pins the generator's version, and where in it; `needs` are the commands that must be installed;
 * `extension` that of the sources; `variants` are the clients that the scripted exchanges are run with, beside the usual one; `records` says that it records consumer contracts.
 */
const languages = [
  {
    name: 'typescript',
    generator: 'json-schema-to-typescript',
    pin: ['typescript/package.json', /"json-schema-to-typescript": "(.+)"/],
    needs: ['npm'],
    extension: '.ts',
    variants: [undefined],
    records: true,
  },
  {
    name: 'python',
    generator: 'datamodel-code-generator',
    pin: ['python/requirements.txt', /^datamodel-code-generator==(\S+)/m],
    needs: ['python3'],
    extension: '.py',
    variants: [undefined, 'async'],
    records: true,
  },
  {
    name: 'go',
    generator: 'oapi-codegen',
    pin: ['go/go.mod', /oapi-codegen\/v2 v(\S+)/],
    needs: ['go'],
    extension: '.go',
    variants: [undefined],
  },
  {
    name: 'java',
    generator: 'openapi-generator',
    pin: ['java/generator', /^version=(.+)$/m],
    needs: ['java', 'javac', 'mvn'],
    extension: '.java',
    variants: [undefined, 'async'],
  },
  {
    name: 'rust',
    generator: 'typify',
    pin: ['rust/generator/Cargo.toml', /^typify-impl = "=(.+)"$/m],
    needs: ['cargo', 'cargo-clippy'],
    extension: '.rs',
    variants: [undefined, 'blocking'],
  },
];

/** The languages of these names, or all. Ends the program where there is none of a name. */
export const languagesNamed = (names) => {
  const unknown = names.filter((name) => !languages.some((language) => language.name === name));
  if (unknown.length > 0) {
    console.error(`No SDK for ${unknown.join(', ')}: there are ${languages.map(({ name }) => name).join(', ')}.`);
    process.exit(2);
  }
  return names.length === 0 ? languages : languages.filter(({ name }) => names.includes(name));
};

/** The pinned version of the generator. */
export const versionOf = ({ pin: [file, pattern] }) => pattern.exec(readFileSync(join(here, file), 'utf8'))[1];

const isInstalled = (command) =>
  (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, command)));

/** The commands that a language needs and this machine lacks. */
export const lackingCommands = ({ needs }) => needs.filter((command) => !isInstalled(command));

const built = new Set(['dist', 'target', 'node_modules', '__pycache__', '.mypy_cache']);

const filesIn = (folder) =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return built.has(entry.name) ? [] : filesIn(path);
    return [path];
  });

/** How many lines of an SDK are generated: all but those of the files that are kept here, written by hand. */
export const generatedLines = ({ name, extension }) => {
  const settings = readSettings();
  const source = join(here, name, 'sdk');
  const filledIn = (path) =>
    path.replaceAll(/\{\{(.+?)\}\}/g, (_, place) => settingAt(settings, place).replaceAll('.', '/'));
  const kept = new Set(filesIn(source).map((path) => filledIn(path.slice(source.length))));
  return filesIn(join(build, name))
    .filter((path) => path.endsWith(extension) && !kept.has(path.slice(join(build, name).length)))
    .reduce((lines, path) => lines + readFileSync(path, 'utf8').split('\n').length - 1, 0);
};

/** The packages of an SDK, a line each: where it is and how many bytes it has. */
export const artifactsOf = ({ name }) => {
  const folder = join(build, 'artifacts', name);
  if (!existsSync(folder)) return [];
  return filesIn(folder).map((path) => `${path.slice(build.length + 1)}: ${statSync(path).size} bytes`);
};
