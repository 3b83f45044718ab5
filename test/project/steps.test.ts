/**
 * @engines none
 * @tier fast
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, posix } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { liesIn, steps } from '../../.ci/check/steps.mjs';
import { tests } from '../harness/jest/projects.mjs';
import { arrowsOf, files, isIn, scripts, withoutComments } from './imports.ts';

const testsOf = (isOne: (test: (typeof tests)[number]) => boolean) => tests.filter(isOne).map(({ path }) => path);
const within = (folder: string) => [...files, ...scripts].filter((file) => isIn(file, folder));
/** The files that the steps begin with. */
const begun: Record<string, readonly string[]> = {
  recipes: within('test/recipes'),
  SDKs: [...within('test/clients/sdk'), ...within('openapi/sdk')],
  faults: testsOf(({ tier }) => tier === 'fault'),
  fuzzing: testsOf(({ tier }) => tier === 'fuzz'),
  'tests on Vitess': testsOf(({ engines }) => engines.includes('vitess')),
  image: within('test/image'),
};

/** What a file imports, or names in a text. */
const readBy = (file: string): string[] => {
  const source = withoutComments(readFileSync(file, 'utf8'));
  const imported = arrowsOf(file).flatMap(({ imported: path, isOurs }) => (isOurs ? [path] : []));
  const addressed = [...source.matchAll(/new URL\('(\.[^']+)'/g)].map(([, path = '']) =>
    posix.join(dirname(file), path),
  );
  const named = [...source.matchAll(/['"`/]((?:docs|deploy|openapi\/sdk|test)\/[\w./-]+\.\w+)['"`]/g)];
  return [
    ...[...imported, ...addressed].map((path) => path.replace(/^dist\/(.*)\.js$/, '$1.ts')),
    ...(isIn(file, 'test') ? named.map(([, path = '']) => path).filter((path) => existsSync(path)) : []),
  ];
};

describe('the steps of the check that may be carried', () => {
  test('are these', () => {
    expect(steps.flatMap(({ name, apart }) => (apart ? [name] : [])).toSorted()).toEqual(Object.keys(begun).toSorted());
  });

  test.each(Object.keys(begun))('%s reads nothing that counts as apart from it', (name) => {
    const apart = steps.find((step) => step.name === name)!.apart!;
    expect(apart.filter((path) => !existsSync(path))).toEqual([]);
    const read = new Map(begun[name]!.map((file) => [file, name]));
    for (const [file] of read) {
      // Beyond them, the service is loaded, with pages that nobody asks for.
      if (!/\.(ts|mjs)$/.test(file) || !existsSync(file) || isIn(file, 'src/app', 'src/admin/status')) continue;
      for (const path of readBy(file)) if (!read.has(path)) read.set(path, file);
    }
    expect(read.size).toBeGreaterThan(5);
    expect([...read].filter(([file]) => liesIn(file, apart)).map(([file, by]) => `${by} reads ${file}`)).toEqual([]);
  });
});
