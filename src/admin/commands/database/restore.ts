import { counted } from '../../../../contract/text.ts';
import type { CheckResult } from '../../backup/restore.ts';
import { placeOf } from '../../../app/deployment/place.ts';
import type { Config } from '../../../config/config.ts';
import type { WebhookSecrets } from '../../../event/webhook/secrets.ts';
import { argument, command, flag } from '../shared/command.ts';
import { PROGRAM, readSettings, tellDatabase } from '../shared/common.ts';
import { note, print, printJsonLines } from '../shared/output.ts';
import { databaseFile, knownMigrations, withCopyProgress } from './sqlite-file.ts';

const nextStep = ({ pending }: CheckResult, { autoMigrate }: Config): string => {
  if (pending.length === 0) return 'Its tables are those of this version.';
  const lacks = `It is of an older version and lacks ${pending.join(', ')}`;
  return autoMigrate ? `${lacks}: the next start migrates it.` : `${lacks}. Run: ${PROGRAM} migrate`;
};

/** Says that backups lack the key of the secrets, and whether the local keys decrypt this backup's. */
const tellOfKey = ({ webhooks: { total, unreadable } }: CheckResult, { place }: WebhookSecrets): void => {
  if (total === 0) return;
  const of = `the secrets of ${unreadable > 0 ? `${unreadable} of ` : ''}its webhooks`;
  note(
    unreadable === 0
      ? `A backup does not hold the key of webhooks' secrets. The key here decrypts ${of}.`
      : `warning: a backup does not hold the key of webhooks' secrets, and the keys here do not decrypt ${of}. ` +
          `Until the key that they were encrypted with is in ${place}, nothing is sent to them.`,
  );
};

/** Tells the operator if the service will hold webhooks. */
const tellOfHold = ({ heldOf, webhooks: { total } }: CheckResult): void => {
  if (heldOf === null || total === 0) return;
  note(
    `warning: it is of the deployment at ${heldOf}, and this is another one: its ${counted(total, 'webhook is', 'webhooks are')} held, since receivers would ` +
      `hear from both. If the deployment has moved here for good, run: ${PROGRAM} webhooks resume --here`,
  );
};

export const restoreCommand = command({
  summary: 'put a backup in the place of the SQLite database',
  description:
    'Checks a backup and puts a copy of it in the place of the SQLite database of DATABASE_URL, whose service must be ' +
    'stopped: it refuses while any process has the database open. The database that was there is kept beside it, ' +
    'under a name that it prints. Backups of older versions are migrated afterwards as any database is. For MySQL ' +
    'and MariaDB see docs/backup.md.',
  input: {
    file: argument('<file>', 'the backup'),
    check: flag('change nothing: only check the backup'),
    json: flag('print one JSON object'),
  },
  examples: ['content-backup.db', 'content-backup.db --check'],
  run: async ({ file, check, json }) => {
    const config = readSettings();
    const database = databaseFile(config);
    const [{ checkBackup, restore }, known, { WebhookSecrets: Secrets }] = await Promise.all([
      import('../../backup/restore.ts'),
      knownMigrations(),
      import('../../../event/webhook/secrets.ts'),
    ]);
    const here = { known, secrets: new Secrets(config), place: placeOf(config) };
    const tell = (result: CheckResult): void => {
      tellOfKey(result, here.secrets);
      tellOfHold(result);
      if (json) printJsonLines([result]);
    };
    if (check) {
      const checked = await checkBackup(file, here);
      tell(checked);
      if (json) return;
      print(checked.file);
      note(`It is whole. ${nextStep(checked, config)}`);
      return;
    }
    tellDatabase(config.databaseUrl);
    const restored = await withCopyProgress(file, (onProgress) => restore({ database, file, ...here, onProgress }));
    tell(restored);
    if (json) return;
    print(restored.database);
    note(
      restored.kept === null ? 'There was no database before.' : `The database that was there is now ${restored.kept}`,
    );
    note(nextStep(restored, config));
  },
});
