import { Command } from 'commander';
import { systemActor } from '../../../auth/audit/log.ts';
import type { RemovableKind } from '../../../content/write/remove.ts';
import type { Database } from '../../../db/database.ts';
import { type Bytes, storedIdToBytes } from '../../../db/values.ts';
import { idOfUser } from '../../../user/service.ts';
import { MoveError, moveRecords } from '../../moderation/move.ts';
import { type Select, selectAll, selectPublished } from '../../moderation/selection.ts';
import { CommandError, examples, readSettings, withDatabase } from '../shared/common.ts';
import { type Filtered, SELECTING, selectionOf, withFilters } from '../shared/filters.ts';
import { note, printJsonLines, printTable } from '../shared/output.ts';

/** A kind of records, and what the command line calls it. */
export interface Named {
  command: string;
  /** One of them, and several. */
  words: readonly [one: string, several: string];
  removable: RemovableKind;
}

/** The options of a command for selected records. */
export interface SelectedOptions extends Filtered {
  yes?: true;
  json?: true;
}

/** A change of selected records. */
interface Change {
  /** The state of the records afterwards, also a member of the output. */
  done: 'hidden' | 'shown' | 'moved';
  /** Changes some in one go. Returns how many it changed. */
  change: (db: Database, ids: readonly Bytes[]) => Promise<number>;
}

/** Prints the records that filters select and, with `--yes`, changes them, part by part. */
export const onSelected = async (
  db: Database,
  { removable, words: [, several] }: Named,
  { yes, json, ...filters }: SelectedOptions,
  select: Select,
  { done, change }: Partial<Change> = {},
): Promise<void> => {
  const rows: string[][] = [];
  let [found, changed] = [0, 0];
  for await (const records of select(db, removable.kind, await selectionOf(db, filters))) {
    const ids = records.map(({ id }) => storedIdToBytes(id));
    if (yes && change && ids.length > 0) changed += await change(db, ids);
    found += ids.length;
    const listed = records.map(({ id, createdAt, authorId, title }) => ({ id, createdAt, authorId, title }));
    if (json) printJsonLines(listed.map((one) => ({ ...one, ...(done && { [done]: yes === true }) })));
    else rows.push(...listed.map(({ id, createdAt, authorId, title }) => [id, createdAt, authorId, title]));
  }
  if (!json) printTable(['ID', 'PUBLISHED', 'AUTHOR', 'TITLE'], rows);
  if (done)
    note(yes ? `${changed} ${several} are ${done}.` : `${found} ${several} would be ${done}: add --yes to do it.`);
};

/** `games list` */
export const list = (named: Named): Command =>
  withFilters(
    new Command('list')
      .summary(`list ${named.words[1]}`)
      .description(
        `Lists the ${named.words[1]} that are shown, oldest first: when they were published (UTC), by which author, and the ` +
          'title. Those that are hidden are listed by hidden.',
      ),
    SELECTING,
  )
    .option('--json', 'print one JSON object per line instead of a table')
    .addHelpText(
      'after',
      examples(`${named.command} list`, `${named.command} list --author Maru --since 2026-04-01 --search sale --json`),
    )
    .action((options: SelectedOptions) =>
      withDatabase(readSettings(), (db) => onSelected(db, named, options, selectPublished)),
    );

/** `games move` */
export const move = (named: Named): Command =>
  withFilters(
    new Command('move')
      .summary(`give the ${named.words[1]} of a user to another one`)
      .description(
        `Shows which ${named.words[1]} of a user another one would get. With --yes, gives them to that one, hidden ones ` +
          'included, a hundred at a time: from then on the new owner may change and delete them, and replies, counts and ' +
          'events tell of the new owner. Safe while the service runs. If it was interrupted, run it again.',
      )
      .requiredOption('--from <user>', 'whose they are: the id, or a nickname that no other user has')
      .requiredOption('--to <user>', 'whose they become, likewise'),
    ['since', 'until', 'search'],
  )
    .option('--yes', 'move them')
    .option('--json', 'print one JSON object per line instead of a table')
    .addHelpText(
      'after',
      examples(`${named.command} move --from Maru --to Kei`, `${named.command} move --from Maru --to Kei --yes`),
    )
    .action(({ from, to, ...options }: SelectedOptions & { from: string; to: string }) =>
      withDatabase(readSettings(), async (db) => {
        const owners = { from: await idOfUser(db, from), to: await idOfUser(db, to) };
        if (owners.from === owners.to) throw new CommandError('They are the same user.');
        await onSelected(db, named, { ...options, author: owners.from }, selectAll, {
          done: 'moved',
          change: (_, ids) => moveRecords(db, named.removable.kind, ids, owners, systemActor()),
        }).catch((error: unknown) => {
          throw error instanceof MoveError ? new CommandError(error.message) : error;
        });
      }),
    );
