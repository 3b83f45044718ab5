import type { ContentKind } from '../../../content/kind.ts';
import { counted } from '../../../../contract/text.ts';
import { systemActor } from '../../../auth/audit/log.ts';
import type { Database } from '../../../db/database.ts';
import { type Bytes, storedIdToBytes } from '../../../db/values.ts';
import { idOfUser } from '../../../user/service.ts';
import { moveRecords } from '../../moderation/move.ts';
import { type Select, selectAll, selectPublished } from '../../moderation/selection.ts';
import { databaseCommand, flag, jsonLines, required } from '../shared/command.ts';
import { CommandError } from '../shared/common.ts';
import { type Filtered, filters, SELECTING, selectionOf } from '../shared/filters.ts';
import { note, printJsonLines, printTable } from '../shared/output.ts';

/** A kind of records, and its names on the command line. */
export interface Named {
  command: string;
  /** The singular and the plural. */
  words: readonly [one: string, several: string];
  kind: ContentKind;
}

/** The options of a command for selected records. */
export interface SelectedOptions extends Filtered {
  yes?: boolean;
  json: boolean;
}

/** A change of selected records. */
interface Change {
  /** The state of the records after the change; it also names a member of the output. */
  done: 'hidden' | 'shown' | 'moved';
  /** Changes some records together. Returns how many it changed. */
  change: (db: Database, ids: readonly Bytes[]) => Promise<number>;
}

/** Prints the records that filters select and, with `--yes`, changes them in batches. */
export const onSelected = async (
  db: Database,
  { kind, words }: Named,
  { yes = false, json, ...filtered }: SelectedOptions,
  select: Select,
  { done, change }: Partial<Change> = {},
): Promise<void> => {
  const [singular, plural] = [words[0].replace(/^an? /, ''), words[1]];
  const rows: string[][] = [];
  let [found, changed] = [0, 0];
  for await (const records of select(db, kind, await selectionOf(db, filtered))) {
    const ids = records.map(({ id }) => storedIdToBytes(id));
    if (yes && change && ids.length > 0) changed += await change(db, ids);
    found += ids.length;
    const listed = records.map(({ id, createdAt, authorId, title }) => ({ id, createdAt, authorId, title }));
    if (json) printJsonLines(listed.map((one) => ({ ...one, ...(done && { [done]: yes }) })));
    else rows.push(...listed.map(({ id, createdAt, authorId, title }) => [id, createdAt, authorId, title]));
  }
  if (!json) printTable(['ID', 'PUBLISHED', 'AUTHOR', 'TITLE'], rows);
  if (done)
    note(
      yes
        ? `${counted(changed, `${singular} is`, `${plural} are`)} ${done}.`
        : `${counted(found, singular, plural)} would be ${done}: add --yes to do it.`,
    );
};

export const list = (named: Named) =>
  databaseCommand({
    summary: `list ${named.words[1]}`,
    description:
      `Lists the ${named.words[1]} that are shown, oldest first: when they were published (UTC), by which author, and the ` +
      'title. Those that are hidden are listed by hidden.',
    input: { ...SELECTING, json: jsonLines },
    examples: ['', '--author Maru --since 2026-04-01 --search sale --json'],
    run: (db, given) => onSelected(db, named, given, selectPublished),
  });

const { since, until, search } = filters;

export const move = (named: Named) =>
  databaseCommand({
    summary: `give the ${named.words[1]} of a user to another one`,
    description:
      `Shows which ${named.words[1]} of a user another one would get. With --yes, gives them to that one, hidden ones ` +
      'included, a hundred at a time: from then on the new owner may change and delete them, and replies, counts and ' +
      'events tell of the new owner. Safe while the service runs. If it was interrupted, run it again.',
    input: {
      from: required('<user>', 'whose they are: the id, or a nickname that no other user has'),
      to: required('<user>', 'whose they become, likewise'),
      since,
      until,
      search,
      yes: flag('move them'),
      json: jsonLines,
    },
    examples: ['--from Maru --to Kei', '--from Maru --to Kei --yes'],
    run: async (db, { from, to, ...given }) => {
      const owners = { from: await idOfUser(db, from), to: await idOfUser(db, to) };
      if (owners.from === owners.to) throw new CommandError('They are the same user.');
      await onSelected(db, named, { ...given, author: owners.from }, selectAll, {
        done: 'moved',
        change: (_, ids) => moveRecords(db, named.kind, ids, owners, systemActor()),
      });
    },
  });
