// Packs the contract and the types of tRPC's router, without the service: for clients of ts-rest and tRPC.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { minifySync } from '@swc/core';
import { build } from './languages.mjs';
import { readSettings } from './settings.mjs';

const TRPC = ['openapi/trpc.js', 'openapi/trpc.d.ts'];
const root = fileURLToPath(new URL('../..', import.meta.url));

const run = (command, args) => execFileSync(command, args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });

/**
 * The declarations of `contract/index`: the routers with their options, which the compiler would write out in full, and what
 * clients need.
 */
const INDEX = `import type { initContract } from '@ts-rest/core';
import type { apiKey } from './api-key.ts';
import type { consumerContract } from './consumer-contract.ts';
import type { event } from './event.ts';
import type { game } from './game.ts';
import type { image } from './image.ts';
import type { user } from './user.ts';
import type { webhook } from './webhook.ts';
declare const c: ReturnType<typeof initContract>;
interface Routes {
game: typeof game;
image: typeof image;
user: typeof user;
event: typeof event;
webhook: typeof webhook;
apiKey: typeof apiKey;
consumerContract: typeof consumerContract;
}
/** The whole API. */
export declare const contract: ReturnType<typeof c.router<{ [Name in keyof Routes]: Routes[Name] }, string, { strictStatusCodes: true }>>;
export type Contract = typeof contract;
export * from './errors.ts';
export { type InputOf, type OutputOf, type Route, type Scope, scopes, type SentOf, type StreamRoute } from './procedure.ts';
`;

/** Declarations without indentation and breaks, and without the texts of the error catalogue, which the program has. */
const declarations = (text) =>
  text
    .replaceAll(/^ +/gm, '')
    .replaceAll(/^readonly (message|hint|cause|fix): (?:'.*'|".*");$/gm, 'readonly $1: string;')
    .replaceAll(/([;{,])\n/g, '$1');

const exported = (path) => ({ types: `./${path}.d.ts`, default: `./${path}.js` });

/** The modules that a module declares to import or export from, and theirs, by path. */
const reachable = (path, texts, seen = new Set()) => {
  if (seen.has(path)) return seen;
  seen.add(path);
  for (const [, name] of texts.get(path).matchAll(/(?:from |import\()["']\.\/([\w-]+)\.ts["']/g)) {
    reachable(`contract/${name}.d.ts`, texts, seen);
  }
  return seen;
};

const README = ({ title, packages: { types } }) => `# ${title}: the contract

\`${types.name}/contract\` is the contract of ${title}, for [ts-rest](https://ts-rest.com) and zod. \`${types.name}/trpc\` has the
type of its router, for tRPC's clients. The guide to tRPC, at \`/guides/trpc\` of each gateway, tells how to use both.
`;

/**
 * Writes the package into \`artifacts/types\`, from the compiled contract and its declarations.
 */
const packTypes = () => {
  const settings = readSettings();
  const { name, version } = settings.packages.types;
  const { dependencies, peerDependencies, peerDependenciesMeta } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  );
  const folder = join(build, 'types');
  const artifacts = join(build, 'artifacts/types');
  for (const one of [folder, artifacts]) {
    rmSync(one, { recursive: true, force: true });
    mkdirSync(one, { recursive: true });
  }
  const files = [...readdirSync(join(root, 'dist/contract')).map((file) => `contract/${file}`), ...TRPC];
  const read = (file) => readFileSync(join(root, 'dist', file), 'utf8');
  const write = (file, text) => {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  };
  for (const file of files.filter((path) => path.endsWith('.js'))) {
    write(file, minifySync(read(file), { module: true, compress: true, mangle: true }).code);
  }
  const texts = new Map(files.filter((path) => path.endsWith('.d.ts')).map((file) => [file, declarations(read(file))]));
  texts.set('contract/index.d.ts', INDEX);
  for (const file of [...reachable('contract/index.d.ts', texts), 'openapi/trpc.d.ts']) write(file, texts.get(file));
  const description = {
    name,
    version,
    description: `The contract of ${settings.title}, and its types for tRPC's clients.`,
    license: settings.license,
    type: 'module',
    sideEffects: false,
    exports: {
      './contract': exported('contract/index'),
      './trpc': exported('openapi/trpc'),
      './package.json': './package.json',
    },
    peerDependencies: {
      '@ts-rest/core': dependencies['@ts-rest/core'],
      ...peerDependencies,
      zod: `^${dependencies.zod}`,
    },
    peerDependenciesMeta: { ...peerDependenciesMeta, '@ts-rest/core': { optional: true }, zod: { optional: true } },
  };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(description, null, 2)}\n`);
  writeFileSync(join(folder, 'README.md'), README(settings));
  cpSync(settings.licenseFile, join(folder, 'LICENSE'));
  run('npm', ['pack', folder, '--silent', '--ignore-scripts', '--pack-destination', artifacts]);
};

/** Compiles the contract with its declarations, then packs it. */
export const makeTypes = () => {
  run('npm', ['run', '-s', 'build']);
  packTypes();
};
