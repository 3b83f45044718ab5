import { readdirSync, readFileSync } from 'node:fs';
import { dirname, posix } from 'node:path';

// TypeScript 7 has no API to ask, but every import is a plain `from '…'` or `import('…')`.

const ROOTS = ['contract', 'openapi', 'migrations', 'src', 'test'];
/** Generated, or programs that use what is generated: packages of their own. */
const SDKS = ['openapi/sdk', 'test/clients/sdk', 'test/clients/package', 'test/recipes/clients'];
const IMPORT = /^(import|export)\s(type\s)?[^;'"]*?from\s+'([^']+)'|\bimport\(\s*'([^']+)'|^import\s+'([^']+)'/gm;

/** An import. */
export interface Arrow {
  importer: string;
  /** The path of a file of ours, or the name of a package or of a part of Node. */
  imported: string;
  isOurs: boolean;
  /** Whether nothing of it is left when the program runs. */
  isTypeOnly: boolean;
  /** Whether it is loaded when it is needed. */
  isDynamic: boolean;
}

/** Whether a file is in one of the folders, at any depth. */
export const isIn = (file: string, ...folders: string[]): boolean =>
  folders.some((folder) => file.startsWith(`${folder}/`));

/** Every TypeScript file of ours, by its path. */
export const files = ROOTS.flatMap((root) =>
  readdirSync(root, { recursive: true, encoding: 'utf8' })
    .map((file) => posix.join(root, file))
    .filter(
      (file) => file.endsWith('.ts') && !file.includes('/node_modules/') && !SDKS.some((folder) => isIn(file, folder)),
    ),
);

export const withoutComments = (source: string): string => source.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');

/** The imports of a file. */
export const arrowsOf = (importer: string): Arrow[] =>
  [...withoutComments(readFileSync(importer, 'utf8')).matchAll(IMPORT)].map(([, , type, from, dynamic, bare]) => {
    const specifier = from ?? dynamic ?? bare ?? '';
    const isOurs = specifier.startsWith('.');
    return {
      importer,
      imported: isOurs ? posix.join(dirname(importer), specifier) : specifier,
      isOurs,
      isTypeOnly: type !== undefined,
      isDynamic: dynamic !== undefined,
    };
  });

export const arrows: readonly Arrow[] = files.flatMap(arrowsOf);

/** The entry of `folder` that holds a file: a file or a folder. Undefined for a file elsewhere. */
export const roomOf = (file: string, folder: string): string | undefined =>
  isIn(file, folder) ? posix.join(folder, file.slice(folder.length + 1).split('/')[0] as string) : undefined;

/** Every script that runs uncompiled, by its path. */
export const scripts = [...ROOTS, '.ci'].flatMap((root) =>
  readdirSync(root, { recursive: true, encoding: 'utf8' })
    .map((file) => posix.join(root, file))
    .filter((file) => file.endsWith('.mjs') && !file.includes('/node_modules/')),
);
