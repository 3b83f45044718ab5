/**
 * @engines none
 * @tier fast
 */
import { existsSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, posix } from 'node:path';
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

/** The arrows that break a rule, as lines that say how to mend them. */
const broken = (advice: string, isBroken: (arrow: Arrow) => boolean): string[] =>
  arrows.filter(isBroken).map(({ importer, imported }) => `${importer} imports ${imported}: ${advice}`);

const isNamed = (file: string, ...names: string[]): boolean => names.includes(posix.basename(file, '.ts'));

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

  describe('the contract', () => {
    test('imports zod and @ts-rest/core, and nothing of ours', () => {
      const allowed = ['zod', '@ts-rest/core'];
      expect(
        broken(
          'the contract is what everything else is derived from; move what it needs into contract/.',
          ({ importer, imported, isOurs }) =>
            isIn(importer, 'contract') &&
            !(isOurs ? isIn(imported, 'contract') : allowed.includes(packageOf(imported))),
        ),
      ).toEqual([]);
    });

    test('is all that openapi/ imports', () => {
      expect(
        broken(
          'the document and the kit are made without the server; only contract/ may be imported.',
          ({ importer, imported, isOurs }) =>
            isIn(importer, 'openapi') && isOurs && !isIn(imported, 'contract', 'openapi'),
        ),
      ).toEqual([]);
    });
  });

  describe('the document', () => {
    test('is read, not made, by the service', () => {
      expect(
        broken(
          'openapi/ makes the documents with packages that the service lacks; read openapi/*.json.',
          ({ importer, imported, isTypeOnly }) =>
            isIn(importer, 'src') &&
            isIn(imported, 'openapi') &&
            !isTypeOnly &&
            !(isIn(importer, 'src/admin') && isIn(imported, 'openapi/kit')),
        ),
      ).toEqual([]);
    });
  });

  describe('HTTP', () => {
    test('is known to the rooms that answer requests', () => {
      const packages = ['express', '@ts-rest/express', '@ts-rest/core'];
      expect(
        broken(
          `only ${EXPRESS.join(', ')} know Express and ts-rest; throw an AppError, or move this there.`,
          ({ importer, imported, isOurs }) =>
            isIn(importer, 'src') && !isIn(importer, ...EXPRESS) && !isOurs && packages.includes(packageOf(imported)),
        ),
      ).toEqual([]);
    });

    test('has transports of which none imports another', () => {
      const transports = ['src/rpc/trpc', 'src/rpc/mcp'];
      expect(
        broken(
          'what both transports need belongs in src/rpc/ or src/http/.',
          ({ importer, imported }) =>
            isIn(importer, 'src/rpc') &&
            transports.some((transport) => isIn(imported, transport) && !isIn(importer, transport)),
        ),
      ).toEqual([]);
    });

    test('has the SDK of the Model Context Protocol in one room, and loads it when it is needed', () => {
      const loaders = ['src/rpc/mcp/http.ts', 'src/app/mcp-stdio.ts'];
      expect(
        broken(
          'only src/rpc/mcp/ knows the SDK, which takes a while to load: `await import` it where it is needed.',
          ({ importer, imported, isTypeOnly }) =>
            isIn(importer, 'src') &&
            !isTypeOnly &&
            imported.startsWith('@modelcontextprotocol/') &&
            !isIn(importer, 'src/rpc/mcp'),
        ),
      ).toEqual([]);
      for (const loader of loaders) {
        const source = readFileSync(loader, 'utf8');
        expect([loader, source.match(/^import (?!type).*mcp\/(streamable-http|server|stdio)\.ts'/gm)]).toEqual([
          loader,
          null,
        ]);
      }
    });

    test('reaches the records through handlers', () => {
      const folders = [...FEATURES, 'content', 'search'].map((folder) => `src/${folder}`);
      expect(
        broken(
          'src/rpc/ calls handlers, which translate; what decides or stores is theirs to call.',
          // The transport of tails is handed the service's hub, and knows its type.
          ({ importer, imported, isTypeOnly }) =>
            isIn(importer, 'src/http', 'src/rpc', 'src/site') &&
            isIn(imported, ...folders) &&
            !isTypeOnly &&
            !isNamed(imported, 'handlers'),
        ),
      ).toEqual([]);
    });
  });

  describe('a router’s folder', () => {
    test('has handlers that translate with what their folder and auth/ do', () => {
      const allowed = ['src/content/view.ts', 'src/base/errors.ts', 'src/base/version.ts'];
      expect(
        broken(
          'a handler takes the input to the functions of its folder, and answers by a view; reading and storing is theirs.',
          ({ importer, imported, isTypeOnly }) =>
            isNamed(importer, 'handlers') &&
            !isTypeOnly &&
            !isNamed(imported, 'service') &&
            !isIn(imported, dirname(importer), 'src/auth', 'contract') &&
            !allowed.includes(imported),
        ),
      ).toEqual([]);
    });

    test('has handlers that only calls reach', () => {
      expect(
        broken(
          'handlers are for src/rpc/; share through a service instead.',
          ({ importer, imported }) =>
            isIn(importer, 'src') && isNamed(imported, 'handlers') && !isIn(importer, 'src/rpc'),
        ),
      ).toEqual([]);
    });

    test('has views that query nothing', () => {
      expect(
        broken(
          'a view turns what was read into the wire shape; reading is the service’s.',
          ({ importer, imported, isTypeOnly }) =>
            isIn(importer, 'src') &&
            isNamed(importer, 'view') &&
            !isTypeOnly &&
            isNamed(imported, 'service', 'database', 'entity', 'handlers'),
        ),
      ).toEqual([]);
    });
  });

  describe('the rest', () => {
    test('only the database layer knows the drivers; the contract, HTTP, pages and limits know no TypeORM either', () => {
      const drivers = ['mysql2', '@photostructure/sqlite'];
      expect(
        broken(
          'go through Database and Transaction of src/db/database.ts.',
          ({ importer, imported, isOurs }) =>
            !isOurs &&
            ((drivers.includes(packageOf(imported)) &&
              isIn(importer, 'src', 'contract') &&
              !isIn(importer, 'src/db')) ||
              (packageOf(imported) === 'typeorm' && isIn(importer, 'contract', 'src/http', 'src/site', 'src/limits'))),
        ),
      ).toEqual([]);
    });

    test('limits know neither HTTP nor the tables', () => {
      expect(
        broken(
          'src/limits/ goes by what it is told; hand it what it needs as a parameter.',
          ({ importer, imported, isOurs, isTypeOnly }) =>
            isIn(importer, 'src/limits') &&
            isOurs &&
            !isTypeOnly &&
            !isIn(imported, 'src/limits', 'src/base', 'contract'),
        ),
      ).toEqual([]);
    });

    test('migrations stand on nothing of the service', () => {
      expect(
        broken(
          'an applied migration must not change when the code does; write out what it needs.',
          ({ importer, imported, isOurs }) => isIn(importer, 'migrations') && isOurs && !isIn(imported, 'migrations'),
        ),
      ).toEqual([]);
    });

    test('only the database layer asks whether there are shards', () => {
      const asking = files.filter(
        (file) => isIn(file, 'src') && /\bisSharded\b/.test(withoutComments(readFileSync(file, 'utf8'))),
      );
      // A dump of one server is no backup of several.
      expect(asking.filter((file) => !isIn(file, 'src/db'))).toEqual(['src/admin/backup/dump/dump.ts']);
    });

    test('only config.ts reads the environment', () => {
      // Code samples show how somebody else's program reads its own.
      const readers = files.filter(
        (file) =>
          !isIn(file, 'test', 'openapi/samples') &&
          /\bprocess\.env\b|\benv\b.*from 'node:process'/.test(readFileSync(file, 'utf8')),
      );
      expect(
        readers
          .filter((file) => file !== 'src/config/config.ts')
          .map(
            (file) =>
              `${file} reads process.env: add a variable to src/config/variables.ts, which checks and describes it.`,
          ),
      ).toEqual([]);
    });

    test('only runtime.ts reads the clock', () => {
      // The linter forbids all other ways: it cannot tell `new Date()` from `new Date(text)`.
      const RUNTIME = 'src/base/runtime.ts';
      const readers = files.filter(
        (file) =>
          isIn(file, 'src', 'contract') &&
          file !== RUNTIME &&
          /\bDate\(\)|\bV7Generator\(\)|\breplaceRuntime\b/.test(withoutComments(readFileSync(file, 'utf8'))),
      );
      expect(
        readers.map(
          (file) => `${file}: take the time and ids from ${RUNTIME}, which only tests and simulations replace.`,
        ),
      ).toEqual([]);
    });

    test('nothing imports a test', () => {
      expect(
        broken(
          'a program must run without its tests.',
          ({ importer, imported }) => !isIn(importer, 'test') && isIn(imported, 'test'),
        ),
      ).toEqual([]);
    });

    test('every package is declared', () => {
      const { dependencies, devDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as Record<
        'dependencies' | 'devDependencies',
        Record<string, string>
      >;
      const isForDevelopers = ({ importer, isTypeOnly }: Arrow): boolean =>
        isTypeOnly || isIn(importer, 'test') || isIn(importer, 'openapi');
      const isDeclared = (name: string, arrow: Arrow): boolean =>
        name in dependencies || (isForDevelopers(arrow) && name in devDependencies);
      expect(
        broken(
          'add it to package.json, to `dependencies` unless only tests, types or the making of the document need it.',
          (arrow) =>
            !arrow.isOurs &&
            !arrow.imported.startsWith('#') &&
            !isBuiltin(arrow.imported) &&
            !isDeclared(packageOf(arrow.imported), arrow),
        ),
      ).toEqual([]);
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

  /** A way along `targets` that ends where it began, for each one found. */
  const circlesIn = (targets: ReadonlyMap<string, ReadonlySet<string>>): string[] => {
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
    return circles;
  };

  describe('circles, be they only of types,', () => {
    const ADVICE = 'move what both ends need a floor down, or hand it over as a parameter.';

    test('are closed by no files', () => {
      const targets = new Map(
        files.map((file) => [
          file,
          new Set(arrows.filter(({ importer }) => importer === file).map(({ imported }) => imported)),
        ]),
      );
      expect(circlesIn(targets).map((circle) => `${circle}: ${ADVICE}`)).toEqual([]);
    });

    test.each([...levels.keys()])('are closed by no rooms of %s', (folder) => {
      const targets = new Map<string, Set<string>>();
      for (const { importer, imported } of arrows) {
        const [from, to] = [roomOf(importer, folder), roomOf(imported, folder)];
        if (from !== undefined && to !== undefined && from !== to)
          targets.set(from, (targets.get(from) ?? new Set()).add(to));
      }
      expect(circlesIn(targets).map((circle) => `${circle}: ${ADVICE}`)).toEqual([]);
    });
  });

  describe('rooms', () => {
    const floorOf = (path: string): number => floors.findIndex((floor) => floor.includes(path.split('/')[1] ?? ''));

    test('stand on the floors of floors.ts, each on one', () => {
      const rooms = [...(levels.get('src') ?? [])].map((room) => room.slice('src/'.length));
      expect(floors.flat().toSorted()).toEqual(rooms.toSorted());
    });

    test('import from floors below their own only', () => {
      expect(
        broken(
          'a room imports from floors below its own; see floors.ts.',
          ({ importer, imported, isOurs }) =>
            isOurs &&
            isIn(importer, 'src') &&
            isIn(imported, 'src') &&
            roomOf(importer, 'src') !== roomOf(imported, 'src') &&
            floorOf(importer) >= floorOf(imported),
        ),
      ).toEqual([]);
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
});
