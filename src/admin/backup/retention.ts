import { lstatSync, readdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isOfSeries, type Series } from './target.ts';

/**
 * Deletes the oldest backups of a series, so that `keep` are left, and returns their paths. Goes by the times in their names;
 * leaves all other files alone, and always the new one.
 */
export const prune = (series: Series, newest: string, keep: number): string[] => {
  const others = readdirSync(series.folder)
    .filter((name) => name !== basename(newest) && isOfSeries(series, name))
    .map((name) => join(series.folder, name))
    .filter((path) => lstatSync(path).isFile())
    .toSorted()
    .toReversed();
  const old = others.slice(keep - 1);
  for (const path of old) rmSync(path);
  return old;
};
