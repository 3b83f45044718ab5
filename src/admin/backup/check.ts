import type { Inspection } from '../../db/sqlite/files/copy.ts';
import { Database } from '../../db/database.ts';
import { IN_MEMORY } from '../../db/address.ts';
import { OBJECTS, type SchemaObject, schemaFaults } from '../../db/sqlite/files/schema-objects.ts';
import { schema } from '../../app/schema.ts';
import { BackupError } from './errors.ts';

const SHOWN = 3;

/**
 * Checks that a file is undamaged and holds the tables of the service, and that this version knows all of them.
 * Messages name the file by `subject`; `known` are the migrations of this version. @throws BackupError
 */
export const checkInspection = (
  { faults, migrations }: Inspection,
  subject: string,
  known: readonly string[],
): void => {
  if (faults.length > 0) throw new BackupError(`${subject} is damaged: ${faults.join('; ')}.`);
  if (migrations.length === 0) throw new BackupError(`${subject} holds no database of this service.`);
  const unknown = migrations.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    throw new BackupError(
      `${subject} was made by a newer version: this one does not know the migration ${unknown.join(', ')}. ` +
        'Use that version, or a later one.',
    );
  }
};

/** Describes how the schema of a file differs from the schema that its applied migrations make. */
export const schemaFaultsIn = async ({ migrations, objects }: Inspection): Promise<string[]> => {
  const db = await Database.open(`sqlite:${IN_MEMORY}`, schema);
  try {
    await db.migrate(migrations.at(-1));
    const faults = schemaFaults(objects, await db.read<SchemaObject>(OBJECTS));
    // Each migration was applied after the ones before it.
    const due = await db.appliedMigrations();
    const skipped = due.filter((name) => !migrations.includes(name));
    return [...faults, ...skipped.map((name) => `the migration ${name} was left out`)];
  } finally {
    await db.close();
  }
};

/**
 * Checks that a file holds only objects of the service: a trigger would write wherever the file is used.
 * @throws BackupError
 */
export const checkSchema = async (inspection: Inspection, subject: string): Promise<void> => {
  const faults = await schemaFaultsIn(inspection);
  if (faults.length === 0) return;
  const rest = faults.length - SHOWN;
  const told = [...faults.slice(0, SHOWN), ...(rest > 0 ? [`and ${rest} more`] : [])].join('; ');
  throw new BackupError(
    `${subject} is not what this service makes: ${told}. Nothing was changed. If you know what it is and trust the rest, ` +
      'take it out of a copy of the file first.',
  );
};
