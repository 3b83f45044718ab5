import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, posix } from 'node:path';
import { describe, expect, test } from '@jest/globals';

// Which file may import which. TypeScript 7 has no API to ask, but every import is a plain `from '…'` or `import('…')`.

const ROOTS = ['contract', 'openapi', 'migrations', 'src', 'test'];
/** Generated, or programs that use what is generated: packages of their own. */
const SDKS = ['openapi/sdk', 'test/clients/sdk'];
/** The folders that know Express: what every reply has, the procedures' two transports, the sandbox, and the pages. */
const TRANSPORTS = ['src/http', 'src/rpc', 'src/testkit/sandbox', 'src/site'];
const FEATURES = ['game', 'image', 'user'];
const IMPORT = /^(import|export)\s(type\s)?[^;'"]*?from\s+'([^']+)'|\bimport\(\s*'([^']+)'|^import\s+'([^']+)'/gm;

interface Arrow {
  importer: string;
  /** The path of a file of ours, or the name of a package or of a part of Node. */
  imported: string;
  isOurs: boolean;
  /** Whether nothing of it is left when the program runs. */
  isTypeOnly: boolean;
}

const isIn = (file: string, ...folders: string[]): boolean => folders.some((folder) => file.startsWith(`${folder}/`));

const files = ROOTS.flatMap((root) =>
  readdirSync(root, { recursive: true, encoding: 'utf8' })
    .map((file) => posix.join(root, file))
    .filter(
      (file) => file.endsWith('.ts') && !file.includes('/node_modules/') && !SDKS.some((folder) => isIn(file, folder)),
    ),
);

const withoutComments = (source: string): string => source.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');

const arrowsOf = (importer: string): Arrow[] =>
  [...withoutComments(readFileSync(importer, 'utf8')).matchAll(IMPORT)].map(([, , type, from, dynamic, bare]) => {
    const specifier = from ?? dynamic ?? bare ?? '';
    const isOurs = specifier.startsWith('.');
    return {
      importer,
      imported: isOurs ? posix.join(dirname(importer), specifier) : specifier,
      isOurs,
      isTypeOnly: type !== undefined,
    };
  });

const arrows = files.flatMap(arrowsOf);

/** Plain JavaScript with its types beside it: programs that run uncompiled share it. */
const isTypedScript = (file: string): boolean => file.endsWith('.mjs') && existsSync(file.replace(/mjs$/, 'd.mts'));

/** `express` of `express/lib/router`, `@ts-rest/core` of itself. */
const packageOf = (specifier: string): string => specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');

/** The arrows that break a rule, as lines that say how to mend them. */
const broken = (advice: string, isBroken: (arrow: Arrow) => boolean): string[] =>
  arrows.filter(isBroken).map(({ importer, imported }) => `${importer} imports ${imported}: ${advice}`);

const isNamed = (file: string, ...names: string[]): boolean => names.includes(posix.basename(file, '.ts'));
const isFile = (file: string, ...paths: string[]): boolean => paths.includes(file);

test('the imports are all seen', () => {
  expect(arrows).toContainEqual({
    importer: 'src/game/handlers.ts',
    imported: 'src/game/service.ts',
    isOurs: true,
    isTypeOnly: false,
  });
  expect(arrows).toContainEqual({
    importer: 'src/game/handlers.ts',
    imported: 'contract/index.ts',
    isOurs: true,
    isTypeOnly: true,
  });
  const unknown = arrows.filter(
    ({ imported, isOurs }) => isOurs && !files.includes(imported) && !isTypedScript(imported),
  );
  expect(unknown).toEqual([]);
  for (const file of files) {
    const statements =
      withoutComments(readFileSync(file, 'utf8')).match(/^(?:import|export [{*]).* from '|^\} from '|\bimport\('/gm) ??
      [];
    expect([file, arrowsOf(file).length]).toEqual([file, statements.length]);
  }
});

describe('the contract', () => {
  test('imports zod and @ts-rest/core, and nothing of ours', () => {
    const allowed = ['zod', '@ts-rest/core'];
    expect(
      broken(
        'the contract is what everything else is derived from; move what it needs into contract/.',
        ({ importer, imported, isOurs }) =>
          isIn(importer, 'contract') && !(isOurs ? isIn(imported, 'contract') : allowed.includes(packageOf(imported))),
      ),
    ).toEqual([]);
  });

  test('is all that the document is made from', () => {
    expect(
      broken(
        'the document is made without the server; only contract/ may be imported.',
        ({ importer, imported, isOurs }) =>
          isIn(importer, 'openapi') && isOurs && !isIn(imported, 'contract') && !isIn(imported, 'openapi'),
      ),
    ).toEqual([]);
  });
});

describe('the document', () => {
  test('is read, not made, by the service', () => {
    expect(
      broken(
        'openapi/ makes the documents with packages that the service lacks; read openapi/*.json.',
        ({ importer, imported, isTypeOnly }) => isIn(importer, 'src') && isIn(imported, 'openapi') && !isTypeOnly,
      ),
    ).toEqual([]);
  });
});

describe('HTTP', () => {
  test('is known to its doors and app.ts only', () => {
    const packages = ['express', '@ts-rest/express', '@ts-rest/core'];
    expect(
      broken(
        'only src/http/, src/rpc/, src/site/ and the app know Express and ts-rest; throw an AppError, or move this there.',
        ({ importer, imported, isOurs }) =>
          isIn(importer, 'src') &&
          !isIn(importer, ...TRANSPORTS) &&
          !(importer === 'src/app.ts' && imported === 'express') &&
          !isOurs &&
          packages.includes(packageOf(imported)),
      ),
    ).toEqual([]);
  });

  test('is used by the app and the server only', () => {
    expect(
      broken(
        'what is below HTTP must work without it; hand it over as a parameter or through the context.',
        ({ importer, imported }) =>
          isIn(importer, 'src') &&
          !isIn(importer, ...TRANSPORTS) &&
          isIn(imported, ...TRANSPORTS) &&
          !isFile(importer, 'src/app.ts', 'src/server.ts') &&
          imported !== 'src/http/routes.ts',
      ),
    ).toEqual([]);
  });

  test('has doors of which none leads through another', () => {
    const doors = ['src/rpc/trpc', 'src/rpc/mcp', 'src/site'];
    expect(
      broken(
        'each transport leads to src/rpc/; what two of them need belongs there or in src/http/.',
        ({ importer, imported }) =>
          isIn(importer, 'src') &&
          doors.some((door) => isIn(imported, door) && isIn(importer, ...TRANSPORTS) && !isIn(importer, door)),
      ),
    ).toEqual([]);
  });

  test('has the SDK of the Model Context Protocol in one room, and loads it when it is needed', () => {
    const loaders = ['src/rpc/mcp/http.ts', 'src/server.ts'];
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
        ({ importer, imported }) =>
          isIn(importer, 'src/http', 'src/rpc', 'src/site') &&
          isIn(imported, ...folders) &&
          !isNamed(imported, 'handlers'),
      ),
    ).toEqual([]);
  });
});

describe('a router’s folder', () => {
  test('has handlers that translate with services and views', () => {
    const allowed = ['src/context.ts', 'src/procedure.ts', 'src/content/view.ts', 'contract/index.ts'];
    expect(
      broken(
        'a handler takes the input to a service and its answer to a view; move what decides into the service.',
        ({ importer, imported }) =>
          isNamed(importer, 'handlers') && !allowed.includes(imported) && !isNamed(imported, 'service', 'view'),
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

  test('uses another one in one direction only', () => {
    const folderOf = (file: string): string | undefined => FEATURES.find((name) => isIn(file, `src/${name}`));
    const pairs = new Set(
      arrows
        .map(({ importer, imported }) => [folderOf(importer), folderOf(imported)])
        .filter(([from, to]) => from !== undefined && to !== undefined && from !== to)
        .map((pair) => pair.join(' → ')),
    );
    const mutual = [...pairs].filter((pair) => pairs.has(pair.split(' → ').toReversed().join(' → ')));
    expect(
      mutual.map((pair) => `src/ ${pair}: move what both need into a folder of its own, as src/content/ is.`),
    ).toEqual([]);
  });

  test('holds nothing that what they share depends on', () => {
    const shared = ['content', 'search', 'auth', 'db'].map((folder) => `src/${folder}`);
    expect(
      broken(
        'what the routers share knows none of them; hand it over as a parameter, as a ContentKind is.',
        ({ importer, imported }) => isIn(importer, ...shared) && FEATURES.some((name) => isIn(imported, `src/${name}`)),
      ),
    ).toEqual([]);
  });
});

describe('the rest', () => {
  test('only the database layer, entities and migrations know TypeORM and the drivers', () => {
    const packages = ['typeorm', 'mysql2', '@photostructure/sqlite'];
    expect(
      broken(
        'go through Database and Transaction of src/db/database.ts.',
        ({ importer, imported, isOurs }) =>
          (isIn(importer, 'src') || isIn(importer, 'contract')) &&
          !isOurs &&
          packages.includes(packageOf(imported)) &&
          !isIn(importer, 'src/db') &&
          !isNamed(importer, 'entity') &&
          importer !== 'src/content/write/counters.ts',
      ),
    ).toEqual([]);
  });

  test('overload protection and limits know neither HTTP nor the tables', () => {
    expect(
      broken(
        'src/overload/ and src/rate-limit/ go by what they are told; hand them what they need as a parameter.',
        ({ importer, imported, isOurs, isTypeOnly }) =>
          isIn(importer, 'src/overload', 'src/rate-limit') &&
          isOurs &&
          !isTypeOnly &&
          !isIn(imported, 'src/overload', 'src/rate-limit', 'contract') &&
          !isFile(imported, 'src/errors.ts', 'src/deadline.ts'),
      ),
    ).toEqual([]);
  });

  test('the database layer knows nothing of what is stored', () => {
    expect(
      broken(
        'src/db/ serves any tables; hand it what it needs as a parameter, as the Schema is.',
        ({ importer, imported, isOurs }) =>
          isIn(importer, 'src/db') &&
          isOurs &&
          !isIn(imported, 'src/db') &&
          !isFile(imported, 'src/errors.ts', 'src/deadline.ts'),
      ),
    ).toEqual([]);
  });

  test('the conformance kit stands on the contract alone', () => {
    expect(
      broken(
        'src/testkit/conformance/ proves deployments from outside and must not share what it proves; only contract/ may be imported.',
        ({ importer, imported, isOurs }) =>
          isIn(importer, 'src/testkit/conformance') &&
          isOurs &&
          !isIn(imported, 'src/testkit/conformance') &&
          !isIn(imported, 'contract'),
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

  test('only config.ts reads the environment', () => {
    // Code samples show how somebody else's program reads its own.
    const readers = files.filter(
      (file) =>
        !isIn(file, 'test', 'openapi/samples') &&
        /\bprocess\.env\b|\benv\b.*from 'node:process'/.test(readFileSync(file, 'utf8')),
    );
    expect(
      readers
        .filter((file) => file !== 'src/runtime/config.ts')
        .map(
          (file) =>
            `${file} reads process.env: add a variable to src/runtime/config.ts, which checks and describes it.`,
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

  test('nothing imports in a circle, be it only types', () => {
    const targets = new Map(
      files.map((file) => [file, arrows.filter(({ importer }) => importer === file).map(({ imported }) => imported)]),
    );
    const done = new Set<string>();
    const circles: string[] = [];
    const visit = (file: string, path: readonly string[]): void => {
      if (path.includes(file)) {
        circles.push([...path.slice(path.indexOf(file)), file].join(' → '));
      } else if (!done.has(file)) {
        for (const target of targets.get(file) ?? []) visit(target, [...path, file]);
        done.add(file);
      }
    };
    for (const file of files) visit(file, []);
    expect(circles.map((circle) => `${circle}: move what both ends need into a file of its own.`)).toEqual([]);
  });
});
