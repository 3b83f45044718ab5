import {
  chmodSync,
  chownSync,
  linkSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  type Stats,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { currentDate } from '../../base/runtime.ts';
import type { Place } from '../../app/deployment/entity.ts';
import { describePlace, isSamePlace } from '../../app/deployment/place.ts';
import { DEFAULT_DATABASE_URL, sqliteFile } from '../../db/address.ts';
import { holdExclusively } from '../../db/sqlite/files/exclusive.ts';
import { atRest, copyDatabase, inspect, type Inspection } from '../../db/sqlite/files/copy.ts';
import { isBusy, isCorrupt } from '../../db/sqlite/errors.ts';
import { idFromBytes } from '../../db/values.ts';
import type { StoredSecrets, WebhookSecrets } from '../../event/webhook/secrets.ts';
import { checkInspection, checkSchema } from './check.ts';
import { BackupError, faultOf } from './errors.ts';
import { companionsOf, isSame, type Partial, sync, withPartial } from './partial.ts';

const OWNER_ONLY_FOLDER = 0o700;

interface RestoreOptions {
  /** The file of the database; it may be missing. */
  database: string;
  /** The backup. */
  file: string;
  /** The migrations that this version knows. */
  known: readonly string[];
  /** The local keys for the secrets of webhooks. */
  secrets: WebhookSecrets;
  /** The place of the local deployment. */
  place: Place;
  onProgress: (done: number, total: number) => void;
}

export interface CheckResult {
  file: string;
  /** The last migration that its tables have. */
  migration: string;
  /** The migrations of this version that the backup lacks. */
  pending: string[];
  /** The number of its webhooks, and how many of their secrets the local keys do not decrypt. */
  webhooks: Pick<StoredSecrets, 'total' | 'unreadable'>;
  /** The deployment that the backup belongs to, if it is another one: it would get the same webhooks. */
  heldOf: string | null;
}

export interface RestoreResult extends CheckResult {
  database: string;
  /** The new path of the former database; null if none existed. */
  kept: string | null;
}

const exists = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined;

const resultOf = (
  file: string,
  { migrations, secrets: stored, place: json }: Inspection,
  { known, secrets, place: own }: Pick<RestoreOptions, 'known' | 'secrets' | 'place'>,
): CheckResult => {
  const place = json === undefined ? own : (JSON.parse(json) as Place);
  return {
    heldOf: isSamePlace(place, own) ? null : describePlace(place),
    file,
    migration: migrations.at(-1) ?? '',
    pending: known.filter((name) => !migrations.includes(name)),
    webhooks: {
      total: stored.length,
      unreadable: stored.filter(({ id, secret }) => !secrets.canDecrypt(secret, idFromBytes(id))).length,
    },
  };
};

/** The absolute path of a backup file. @throws BackupError */
const backupAt = (path: string): string => {
  const file = resolve(path);
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) throw new BackupError(`There is no file ${file}.`);
  return file;
};

/** Inspects a backup and changes nothing. @throws BackupError */
export const checkBackup = async (
  path: string,
  { known, secrets, place }: Pick<RestoreOptions, 'known' | 'secrets' | 'place'>,
): Promise<CheckResult> => {
  const file = backupAt(path);
  try {
    const inspection = await inspect(atRest(file));
    checkInspection(inspection, file, known);
    await checkSchema(inspection, file);
    return resultOf(file, inspection, { known, secrets, place });
  } catch (error) {
    throw faultOf(error, { read: file, written: file, bytes: 0 });
  }
};

/** The path of a database, existing or not; links are resolved. @throws BackupError when its folder is missing */
const placeOf = (path: string): string => {
  if (exists(path)) return realpathSync(path);
  const folder = dirname(path);
  if (resolve(path) === resolve(sqliteFile(DEFAULT_DATABASE_URL))) {
    mkdirSync(folder, { recursive: true, mode: OWNER_ONLY_FOLDER });
  }
  if (!exists(folder)) throw new BackupError(`There is no folder ${folder}: make it first, or check DATABASE_URL.`);
  return join(realpathSync(folder), basename(path));
};

/** Locks an existing database against other processes. @throws BackupError when that is not possible */
const takeOver = (database: string): (() => void) => {
  const [beside] = companionsOf(database);
  if (!exists(database)) {
    if (beside === undefined) return () => undefined;
    throw new BackupError(
      `${beside} is there without its database: a service may still use both. Stop it, and move that file away.`,
    );
  }
  try {
    return holdExclusively(database);
  } catch (error) {
    if (isBusy(error)) {
      throw new BackupError(`${database} is in use: stop the service, and whatever else has the database open, first.`);
    }
    if (!isCorrupt(error)) throw error;
    throw new BackupError(
      `${database} is so damaged that nobody can tell whether it is in use. Stop the service, move this file and all ` +
        'whose names begin with its name away, and run this again.',
    );
  }
};

/** Gives a restored file the owner and mode of the former file; without one, root gives it the owner of the folder. */
const adopt = (path: string, before: Stats | undefined, folder: string): void => {
  const { uid, gid } = before ?? statSync(folder);
  const own = statSync(path);
  const isRoot = process.getuid?.() === 0;
  if ((own.uid !== uid || own.gid !== gid) && (before || isRoot)) chownSync(path, uid, gid);
  if (before) chmodSync(path, before.mode & 0o777);
};

/** The name under which the former database is kept. */
const keptName = (database: string): string =>
  `${database}.before-restore-${currentDate()
    .toISOString()
    .replaceAll(/[-:]|(?=\.)/g, '')}`;

/** Removes second names of the database, which a killed process left before it removed the first. */
const forgetSecondNames = (database: string): void => {
  const folder = dirname(database);
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (name.startsWith(`${basename(database)}.before-restore-`) && isSame(path, database)) rmSync(path);
  }
};

/** Gives the database a second name, so that a database exists under the first name at each moment. */
const keep = (database: string, kept: string): void => {
  try {
    linkSync(database, kept);
  } catch (error) {
    if (['EEXIST', 'ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    // The file system has no links.
    renameSync(database, kept);
  }
};

/** Removes the second name of the database. Renames the file back if nothing has the first name. */
const unkeep = (database: string, kept: string): void => {
  if (!exists(database)) renameSync(kept, database);
  forgetSecondNames(database);
};

/** Puts a file in place of the existing database and keeps that under another name. @throws whatever prevents it */
const replace = (database: string, kept: string, partial: Partial): void => {
  forgetSecondNames(database);
  keep(database, kept);
  try {
    sync(dirname(database));
    partial.publish(true);
  } catch (error) {
    unkeep(database, kept);
    throw error;
  }
};

/**
 * Replaces a database that no process uses with a backup, after checking it and atomically. The former file is kept
 * beside it. @throws BackupError
 */
export const restore = async ({
  database: path,
  file: given,
  known,
  secrets,
  place,
  onProgress,
}: RestoreOptions): Promise<RestoreResult> => {
  const file = backupAt(given);
  const database = placeOf(path);
  if (isSame(file, database)) throw new BackupError(`${file} is the database itself.`);
  const before = statSync(database, { throwIfNoEntry: false });
  try {
    const release = takeOver(database);
    try {
      return await withPartial(database, async (partial) => {
        await copyDatabase(atRest(file), partial.path, onProgress);
        const inspection = await inspect(partial.path);
        checkInspection(inspection, file, known);
        await checkSchema(inspection, file);
        adopt(partial.path, before, dirname(database));
        const kept = before ? keptName(database) : null;
        if (kept === null) partial.publish(false);
        else replace(database, kept, partial);
        return { ...resultOf(file, inspection, { known, secrets, place }), database, kept };
      });
    } finally {
      release();
    }
  } catch (error) {
    throw faultOf(error, { read: file, written: database, bytes: statSync(file).size });
  }
};
