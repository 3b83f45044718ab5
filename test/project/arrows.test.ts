/**
 * @engines none
 * @tier fast
 */
import { existsSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { basename, dirname } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { floors } from './floors.ts';
import { type Arrow, arrows, arrowsOf, files, isIn, roomOf, scripts, withoutComments } from './imports.ts';

/** The folders that know Express: HTTP itself, the transports of calls, the sandbox, and the pages. */
const EXPRESS = ['src/http', 'src/rpc', 'src/sandbox', 'src/site', 'src/app'];
const FEATURES = ['game', 'image', 'user', 'event'];
/** A file of fewer lines, with one importer, is part of that file, unless there is a reason. */
const SHORT = 40;
/** Why such a file stands by itself, by a pattern of paths. */
const REASONS: readonly (readonly [path: RegExp, reason: string])[] = [
  [
    /^src\/(?:[\w-]+\/)+(?:handlers|entity)\.ts$/,
    'each router has its handlers, and each table its entity, in a file of that name',
  ],
  [/^src\/admin\/commands\//, 'each command has its file'],
  [/^src\/db\/sqlite\/threads\/thread\.ts$/, 'it runs in a thread of its own'],
  [/^src\/search\/indexing\/bulk\.ts$/, 'only src/search/ knows how documents are stored'],
  [/^src\/db\/sqlite\/files\/exclusive\.ts$/, 'only src/db/ knows the drivers'],
];
/** Plain JavaScript with its types beside it: programs that run uncompiled share it. */
const isTypedScript = (file: string): boolean => file.endsWith('.mjs') && existsSync(file.replace(/mjs$/, 'd.mts'));

/** `express` of `express/lib/router`, `@ts-rest/core` of itself. */
const packageOf = (specifier: string): string => specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');

const isNamed = (file: string, ...names: string[]): boolean => names.includes(basename(file, '.ts'));

const TRANSPORTS = ['src/rpc/trpc', 'src/rpc/mcp'];
const DRIVERS = ['mysql2', '@photostructure/sqlite'];

const { dependencies, devDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as Record<
  'dependencies' | 'devDependencies',
  Record<string, string>
>;
const isDeclared = ({ importer, imported, isTypeOnly }: Arrow): boolean =>
  packageOf(imported) in dependencies ||
  ((isTypeOnly || isIn(importer, 'test', 'openapi')) && packageOf(imported) in devDependencies);

const floorOf = (path: string): number => floors.findIndex((floor) => floor.includes(path.split('/')[1] ?? ''));

/** What no import may do, and how to mend one that does. */
const rules: readonly (readonly [rule: string, advice: string, isBroken: (arrow: Arrow) => boolean])[] = [
  [
    'the contract imports zod and @ts-rest/core, and nothing of ours',
    'the contract is what everything else is derived from; move what it needs into contract/.',
    ({ importer, imported, isOurs }) =>
      isIn(importer, 'contract') &&
      !(isOurs ? isIn(imported, 'contract') : ['zod', '@ts-rest/core'].includes(packageOf(imported))),
  ],
  [
    'openapi/ imports the contract only',
    'the document and the kit are made without the server; only contract/ may be imported.',
    ({ importer, imported, isOurs }) => isIn(importer, 'openapi') && isOurs && !isIn(imported, 'contract', 'openapi'),
  ],
  [
    'the service reads the document, and does not make it',
    'openapi/ makes the documents with packages that the service lacks; read openapi/*.json.',
    ({ importer, imported, isTypeOnly }) =>
      isIn(importer, 'src') &&
      isIn(imported, 'openapi') &&
      !isTypeOnly &&
      !(isIn(importer, 'src/admin') && isIn(imported, 'openapi/kit')),
  ],
  [
    'only the rooms that answer requests know HTTP',
    `only ${EXPRESS.join(', ')} know Express and ts-rest; throw an AppError, or move this there.`,
    ({ importer, imported, isOurs }) =>
      isIn(importer, 'src') &&
      !isIn(importer, ...EXPRESS) &&
      !isOurs &&
      ['express', '@ts-rest/express', '@ts-rest/core'].includes(packageOf(imported)),
  ],
  [
    'no transport imports another',
    'what both transports need belongs in src/rpc/ or src/http/.',
    ({ importer, imported }) =>
      isIn(importer, 'src/rpc') &&
      TRANSPORTS.some((transport) => isIn(imported, transport) && !isIn(importer, transport)),
  ],
  [
    'one room has the SDK of the Model Context Protocol',
    'only src/rpc/mcp/ knows the SDK, which takes a while to load: `await import` it where it is needed.',
    ({ importer, imported, isTypeOnly }) =>
      isIn(importer, 'src') &&
      !isTypeOnly &&
      imported.startsWith('@modelcontextprotocol/') &&
      !isIn(importer, 'src/rpc/mcp'),
  ],
  [
    'calls reach the records through handlers',
    'src/rpc/ calls handlers, which translate; what decides or stores is theirs to call.',
    // The transport of tails is handed the service's hub, and knows its type.
    ({ importer, imported, isTypeOnly }) =>
      isIn(importer, 'src/http', 'src/rpc', 'src/site') &&
      isIn(imported, ...[...FEATURES, 'content', 'search'].map((folder) => `src/${folder}`)) &&
      !isTypeOnly &&
      !isNamed(imported, 'handlers'),
  ],
  [
    'handlers translate with what their folder and auth/ do',
    'a handler takes the input to the functions of its folder, and answers by a view; reading and storing is theirs.',
    ({ importer, imported, isTypeOnly }) =>
      isNamed(importer, 'handlers') &&
      !isTypeOnly &&
      !isNamed(imported, 'service') &&
      !isIn(imported, dirname(importer), 'src/auth', 'contract') &&
      !['src/content/view.ts', 'src/base/errors.ts', 'src/base/version.ts'].includes(imported),
  ],
  [
    'only calls reach handlers',
    'handlers are for src/rpc/; share through a service instead.',
    ({ importer, imported }) => isIn(importer, 'src') && isNamed(imported, 'handlers') && !isIn(importer, 'src/rpc'),
  ],
  [
    'views query nothing',
    'a view turns what was read into the wire shape; reading is the service’s.',
    ({ importer, imported, isTypeOnly }) =>
      isIn(importer, 'src') &&
      isNamed(importer, 'view') &&
      !isTypeOnly &&
      isNamed(imported, 'service', 'database', 'entity', 'handlers'),
  ],
  [
    'only the database layer knows the drivers; the contract, HTTP, pages and limits know no TypeORM either',
    'go through Database and Transaction of src/db/database.ts.',
    ({ importer, imported, isOurs }) =>
      !isOurs &&
      ((DRIVERS.includes(packageOf(imported)) && isIn(importer, 'src', 'contract') && !isIn(importer, 'src/db')) ||
        (packageOf(imported) === 'typeorm' && isIn(importer, 'contract', 'src/http', 'src/site', 'src/limits'))),
  ],
  [
    'limits know neither HTTP nor the tables',
    'src/limits/ goes by what it is told; hand it what it needs as a parameter.',
    ({ importer, imported, isOurs, isTypeOnly }) =>
      isIn(importer, 'src/limits') && isOurs && !isTypeOnly && !isIn(imported, 'src/limits', 'src/base', 'contract'),
  ],
  [
    'migrations stand on nothing of the service',
    'an applied migration must not change when the code does; write out what it needs.',
    ({ importer, imported, isOurs }) => isIn(importer, 'migrations') && isOurs && !isIn(imported, 'migrations'),
  ],
  [
    'nothing imports a test',
    'a program must run without its tests.',
    ({ importer, imported }) => !isIn(importer, 'test') && isIn(imported, 'test'),
  ],
  [
    'every package is declared',
    'add it to package.json, to `dependencies` unless only tests, types or the making of the document need it.',
    (arrow) => !arrow.isOurs && !arrow.imported.startsWith('#') && !isBuiltin(arrow.imported) && !isDeclared(arrow),
  ],
  [
    'rooms import from floors below their own only',
    'see floors.ts; move what both need a floor down, or hand it over as a parameter.',
    ({ importer, imported, isOurs }) =>
      isOurs &&
      isIn(importer, 'src') &&
      isIn(imported, 'src') &&
      roomOf(importer, 'src') !== roomOf(imported, 'src') &&
      floorOf(importer) >= floorOf(imported),
  ],
];

/** Finds the files whose text, without its comments, has a pattern. */
const having = (pattern: RegExp, ...folders: string[]): string[] =>
  files.filter((file) => isIn(file, ...folders) && pattern.test(withoutComments(readFileSync(file, 'utf8'))));

describe('imports', () => {
  test('the imports are all seen', () => {
    expect(arrows).toContainEqual({
      importer: 'src/game/handlers.ts',
      imported: 'src/game/service.ts',
      isOurs: true,
      isTypeOnly: false,
      isDynamic: false,
    });
    expect(arrows).toContainEqual({
      importer: 'src/game/handlers.ts',
      imported: 'contract/index.ts',
      isOurs: true,
      isTypeOnly: true,
      isDynamic: false,
    });
    const unknown = arrows.filter(
      ({ imported, isOurs }) => isOurs && !files.includes(imported) && !isTypedScript(imported),
    );
    expect(unknown).toEqual([]);
    for (const file of files) {
      const statements =
        withoutComments(readFileSync(file, 'utf8')).match(
          /^(?:import|export [{*]).* from '|^\} from '|\bimport\('/gm,
        ) ?? [];
      expect([file, arrowsOf(file).length]).toEqual([file, statements.length]);
    }
  });

  describe('the scripts', () => {
    const BUILT = /dist\/((?:src|contract|migrations)\/[\w/.-]+)\.js/g;

    test('run only what the build makes of a file that is there', () => {
      const built = scripts.flatMap((script) =>
        [...readFileSync(script, 'utf8').matchAll(BUILT)].map(([, path]) => ({ script, source: `${path}.ts` })),
      );
      expect(built.length).toBeGreaterThan(0);
      expect(built.filter(({ source }) => !files.includes(source))).toEqual([]);
    });

    test('name it whole, so that the test above sees it', () => {
      expect(scripts.filter((script) => readFileSync(script, 'utf8').includes('dist/src/${'))).toEqual([]);
    });
  });

  test.each(rules)('%s', (_, advice, isBroken) => {
    const found = arrows.filter(isBroken);
    expect(found.map(({ importer, imported }) => `${importer} imports ${imported}: ${advice}`)).toEqual([]);
  });

  test('load the Model Context Protocol when it is needed', () => {
    for (const loader of ['src/rpc/mcp/http.ts', 'src/app/mcp-stdio.ts']) {
      const source = readFileSync(loader, 'utf8');
      const early = source.match(/^import (?!type).*mcp\/(streamable-http|server|stdio)\.ts'/gm);
      expect([loader, early]).toEqual([loader, null]);
    }
  });
});

describe('only', () => {
  test('the database layer asks whether there are shards', () => {
    // A dump of one server is no backup of several.
    expect(having(/\bisSharded\b/, 'src').filter((file) => !isIn(file, 'src/db'))).toEqual([
      'src/admin/backup/dump/dump.ts',
    ]);
  });

  test('config.ts reads the environment', () => {
    // Code samples show how somebody else's program reads its own.
    const readers = having(/\bprocess\.env\b|\benv\b.*from 'node:process'/, 'src', 'contract', 'openapi', 'migrations');
    expect(readers.filter((file) => !isIn(file, 'openapi/samples'))).toEqual(['src/config/config.ts']);
  });

  test('runtime.ts reads the clock, which only tests and simulations replace', () => {
    // The linter forbids all other ways: it cannot tell `new Date()` from `new Date(text)`.
    expect(having(/\bDate\(\)|\bV7Generator\(\)|\breplaceRuntime\b/, 'src', 'contract')).toEqual([
      'src/base/runtime.ts',
    ]);
  });
});

/** The rooms at one level of `src/`: its files and folders, by the folder that holds them. */
const levels = new Map<string, Set<string>>();
for (const file of files.filter((one) => isIn(one, 'src'))) {
  for (let entry = file; entry !== 'src'; entry = dirname(entry)) {
    const rooms = levels.get(dirname(entry)) ?? new Set();
    levels.set(dirname(entry), rooms.add(entry));
  }
}

describe('rooms', () => {
  // The linter finds circles of files.
  test.each([...levels.keys()])('of %s import in no circle, be it only of types', (folder) => {
    const targets = new Map<string, Set<string>>();
    for (const { importer, imported } of arrows) {
      const [from, to] = [roomOf(importer, folder), roomOf(imported, folder)];
      if (from !== undefined && to !== undefined && from !== to)
        targets.set(from, (targets.get(from) ?? new Set()).add(to));
    }
    const done = new Set<string>();
    const circles: string[] = [];
    const visit = (room: string, path: readonly string[]): void => {
      if (path.includes(room)) circles.push([...path.slice(path.indexOf(room)), room].join(' → '));
      else if (!done.has(room)) {
        for (const target of targets.get(room) ?? []) visit(target, [...path, room]);
        done.add(room);
      }
    };
    for (const room of targets.keys()) visit(room, []);
    expect(circles).toEqual([]);
  });

  test('stand on the floors of floors.ts, each on one', () => {
    const rooms = [...(levels.get('src') ?? [])].map((room) => room.slice('src/'.length));
    expect(floors.flat().toSorted()).toEqual(rooms.toSorted());
  });

  test('are few enough to see at once', () => {
    expect(floors.flat().length).toBeLessThanOrEqual(20);
    expect(floors.length).toBeLessThanOrEqual(12);
  });

  test('hold no crumbs', () => {
    const isShort = (file: string): boolean => readFileSync(file, 'utf8').split('\n').length - 1 < SHORT;
    const crumbs = files.filter((file) => {
      const importers = arrows.filter(({ importer, imported }) => imported === file && isIn(importer, 'src'));
      // What is loaded when it is needed, or runs in a thread, must be a file.
      const isPart = importers.length === 1 && !importers.some(({ isDynamic }) => isDynamic);
      return isIn(file, 'src') && isPart && isShort(file) && !REASONS.some(([path]) => path.test(file));
    });
    expect(crumbs.map((file) => `${file}: fold it into its importer, or give a reason above.`)).toEqual([]);
  });
});
