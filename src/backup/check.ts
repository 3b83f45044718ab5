import type { Inspection } from '../db/sqlite/copy.ts';
import { BackupError } from './errors.ts';

const SHOWN = 3;

/**
 * Checks that a file is whole, holds the tables of the service, and that this version knows them all. `what` names the file in
 * the message, and `known` are the migrations of this version. @throws BackupError
 */
export const checkInspection = ({ faults, migrations }: Inspection, what: string, known: readonly string[]): void => {
  if (faults.length > 0) throw new BackupError(`${what} is damaged: ${faults.slice(0, SHOWN).join('; ')}.`);
  if (migrations.length === 0) throw new BackupError(`${what} holds no database of this service.`);
  const unknown = migrations.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    throw new BackupError(
      `${what} was made by a newer version: this one does not know the migration ${unknown.join(', ')}. ` +
        'Use that version, or a later one.',
    );
  }
};
