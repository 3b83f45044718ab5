// The languages there are SDKs in, and with what each is generated.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const build = fileURLToPath(new URL('../../build/sdk/', import.meta.url));

/**
 * `pin` is the file that pins the generator's version, and where in it; `needs` are the commands that must be installed;
 * `extension` that of the sources.
 */
const languages = [
  {
    name: 'typescript',
    generator: '@hey-api/openapi-ts',
    pin: ['typescript/package.json', /"@hey-api\/openapi-ts": "(.+)"/],
    needs: ['npm'],
    extension: '.ts',
  },
  {
    name: 'python',
    generator: 'openapi-python-client',
    pin: ['python/requirements.txt', /^openapi-python-client==(\S+)/m],
    needs: ['python3'],
    extension: '.py',
  },
  {
    name: 'go',
    generator: 'oapi-codegen',
    pin: ['go/go.mod', /oapi-codegen\/v2 v(\S+)/],
    needs: ['go'],
    extension: '.go',
  },
  {
    name: 'java',
    generator: 'openapi-generator',
    pin: ['java/generate', /^version=(.+)$/m],
    needs: ['java', 'javac', 'mvn'],
    extension: '.java',
  },
  {
    name: 'rust',
    generator: 'progenitor',
    pin: ['rust/Cargo.toml', /^progenitor-impl = "=(.+)"$/m],
    needs: ['cargo', 'cargo-clippy'],
    extension: '.rs',
  },
];

/** The languages that the command line names, or all. Ends the program where it names one there is none of. */
export const languagesFromArguments = () => {
  const names = process.argv.slice(2);
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
export const generatedLines = ({ name, extension }) =>
  filesIn(join(build, name))
    .filter((path) => path.endsWith(extension))
    .filter((path) => !existsSync(path.replace(join(build, name), join(here, name, 'sdk'))))
    .reduce((lines, path) => lines + readFileSync(path, 'utf8').split('\n').length - 1, 0);
