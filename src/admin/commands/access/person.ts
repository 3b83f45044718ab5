import { open, rm } from 'node:fs/promises';
import { systemActor } from '../../../auth/audit/log.ts';
import { readUser } from '../../../user/service.ts';
import { argument, databaseCommand, EXAMPLE_ID, flag, jsonObject, negation, option } from '../shared/command.ts';
import { CommandError, PROGRAM } from '../shared/common.ts';
import { note, printObject } from '../shared/output.ts';
import { StandardOutput } from '../shared/standard-output.ts';

export const userId = argument('<id>', 'the id of the user, from `users list`');

/** Only the owner may read the file: it contains passwords of archives. */
const toFile = async (path: string, texts: AsyncIterable<string>): Promise<void> => {
  const file = await open(path, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EEXIST' ? new CommandError(`${path} exists: give another file, or remove it first.`) : error;
  });
  try {
    for await (const text of texts) await file.appendFile(text);
    await file.sync();
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
};

const toStandardOutput = async (texts: AsyncIterable<string>): Promise<void> => {
  const output = new StandardOutput();
  for await (const text of texts) {
    await output.write(text);
    if (output.isGone) break;
  }
};

export const exportOne = databaseCommand({
  summary: 'write all that is stored about a user',
  description:
    'Writes all that is stored about a user as one JSON object: the profile, the games and image posts, hidden ones ' +
    'included, the favorites and reactions that the user gave, the keys with their uses but not their hashes, and the ' +
    "audit entries about the user, without operators' names and what they tell of others. Safe while the service runs.",
  input: {
    id: userId,
    out: option('<file>', 'the file to write, which must not be there yet (default: the standard output)'),
  },
  examples: [`${EXAMPLE_ID} --out user.json`, EXAMPLE_ID],
  run: async (db, { id, out }) => {
    const { exportUser } = await import('../../person/export.ts');
    // This runs before a file is created.
    await readUser(db, id);
    const texts = exportUser(db, id);
    await (out === undefined ? toStandardOutput(texts) : toFile(out, texts));
  },
});

const onStep = (step: string): void => note(`Erasing: ${step}`);

export const erase = databaseCommand({
  summary: 'delete a user without a trace',
  description:
    'Shows what would go. With --yes, deletes the user as delete does, and then what that leaves: answers stored for an ' +
    'Idempotency-Key, tags and types that no other record has, names and texts in the audit (its entries stay), texts ' +
    'in the search index, and on SQLite the deleted rows in the file. A hundred records at a time, and about a minute ' +
    'for the search index. This cannot be undone. Safe while the service runs. If it was interrupted, run it again; it ' +
    'also takes the id of a user who was deleted before.',
  input: {
    id: userId,
    dryRun: flag('only show what would go, as without --yes', { conflicts: ['yes'] }),
    yes: flag('erase the user'),
    vacuum: negation('do not rewrite an SQLite file, during which nothing can be written: erase again later'),
    json: jsonObject,
  },
  examples: [`${EXAMPLE_ID} --dry-run`, `${EXAMPLE_ID} --yes`],
  run: async (db, { id, yes, vacuum, json }) => {
    const again = `${PROGRAM} users erase ${id} --yes`;
    if (!yes) {
      const { previewErasure } = await import('../../person/preview.ts');
      printObject({ id, ...(await previewErasure(db, id)), erased: false }, json);
      note(`Nothing was erased. Erase all this with: ${again}`);
      return;
    }
    const { eraseUser } = await import('../../person/erase.ts');
    const { vacuumed, ...counts } = await eraseUser(db, id, { by: systemActor(), vacuum, onStep });
    printObject({ id, ...counts, vacuumed, erased: true }, json);
    note('Backups, logs and replicas are yours to care for: docs/erasure.md');
    if (db.dialect.engine === 'sqlite' && !vacuumed) {
      note(`The file of the database may still hold deleted texts, until this runs: ${again}`);
    }
  },
});
