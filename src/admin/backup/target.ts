import { lstatSync, readdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { BackupError } from './errors.ts';

/**
 * Deletes the oldest backups of a series except `keep` of them, and returns their paths. The times in their names
 * decide. It never deletes the new backup or any other file.
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

/** The backups of a database in a folder that this service named. */
export interface Series {
  folder: string;
  /** The name of the database. */
  name: string;
  /** `.db` or `.sql.gz` */
  ending: string;
}

/** The target of a backup: a file, or a folder in which a database's backups are named by their times. */
type Target = { file: string; series?: never } | { file: string; series: Series };

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** `20261125T031500Z` */
const stampOf = (time: Date): string => time.toISOString().replaceAll(/[-:]|\.\d+/g, '');

/** Finds the file for a backup; in a folder, its name consists of the name of the database and the time. */
export const targetOf = (path: string, { name, ending }: Omit<Series, 'folder'>, now: Date): Target => {
  if (!isFolder(path)) return { file: path };
  const series = { folder: path, name: name.replaceAll(/[^\w.-]/g, '_'), ending };
  return { file: join(path, `${series.name}-${stampOf(now)}${ending}`), series };
};

const escaped = (text: string): string => text.replaceAll(/[.-]/g, String.raw`\$&`);

/** Whether a file name is one that `targetOf` gives to backups of a series. */
const isOfSeries = ({ name, ending }: Series, fileName: string): boolean =>
  new RegExp(`^${escaped(name)}-\\d{8}T\\d{6}Z${escaped(ending)}$`).test(fileName);

/** Checks that the file can be written. @throws BackupError */
export const checkPlace = (file: string, isForced: boolean): void => {
  if (!isFolder(dirname(file))) throw new BackupError(`There is no folder ${dirname(file)}: make it first.`);
  const there = lstatSync(file, { throwIfNoEntry: false });
  if (there?.isDirectory()) throw new BackupError(`${file} is a folder: name a file in it.`);
  if (there && !isForced) throw new BackupError(`${file} exists: choose another name, or replace it with --force.`);
};
