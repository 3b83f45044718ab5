import { Argument, Command, Option } from 'commander';
import { keyless, label } from '../../../../contract/text.ts';
import { systemActor } from '../../../auth/audit/log.ts';
import { HIDDEN_REASON_LENGTH } from '../../../content/entity.ts';
import type { RemovableKind } from '../../../content/write/remove.ts';
import { listHidden } from '../../moderation/hidden/read.ts';
import { hideRecord, UnhideError, unhideRecord } from '../../moderation/takedown.ts';
import { lengthOf, textOf } from '../shared/arguments.ts';
import { CommandError, examples, readSettings, withDatabase } from '../shared/common.ts';
import { note, printJsonLines, printTable } from '../shared/output.ts';

export const EXAMPLE_ID = '019a3c5e-b150-7e85-9f52-9d40ce61a205';

/** A kind of records, and what the command line calls it. */
export interface Named {
  command: string;
  /** One of them, and several. */
  words: readonly [one: string, several: string];
  removable: RemovableKind;
}

const Reason = keyless(label(HIDDEN_REASON_LENGTH));

export const hide = ({ command, words: [one], removable }: Named): Command =>
  new Command('hide')
    .summary(`take ${one} down`)
    .description(
      `Takes ${one} out of lists, searches and every count; asking for it fails with 404, for its author, too. The reason is ` +
        `seen by operators only. If it is hidden already, it gets this reason, and stays hidden when its author's records ` +
        'are shown again. Undone by unhide. Safe while the service runs. If it was interrupted, run it again.',
    )
    .addArgument(new Argument('<id>', 'its id'))
    .addOption(
      new Option('--reason <text>', `why, ${lengthOf(Reason)}`).argParser(textOf(Reason)).makeOptionMandatory(),
    )
    .option('--json', 'print a JSON object instead of a sentence')
    .addHelpText('after', examples(`${command} hide ${EXAMPLE_ID} --reason ticket-4711`))
    .action((id: string, { reason, json }: { reason: string; json?: true }) =>
      withDatabase(readSettings(), async (db) => {
        await hideRecord(db, removable, id, { reason, by: systemActor() });
        if (json) printJsonLines([{ id, hidden: true, reason }]);
        else note(`${id} is hidden.`);
      }),
    );

export const unhide = ({ command, words: [one], removable }: Named): Command =>
  new Command('unhide')
    .summary(`show ${one} again that was taken down`)
    .description(
      `Shows ${one} again that was hidden, with the favorites, reactions and views that it had. While its author's records ` +
        'are hidden, it stays hidden with them. Safe while the service runs. If it was interrupted, run it again.',
    )
    .addArgument(new Argument('<id>', 'its id'))
    .option('--json', 'print a JSON object instead of a sentence')
    .addHelpText('after', examples(`${command} unhide ${EXAMPLE_ID}`))
    .action((id: string, { json }: { json?: true }) =>
      withDatabase(readSettings(), async (db) => {
        try {
          const isShown = await unhideRecord(db, removable, id, systemActor());
          if (json) printJsonLines([{ id, hidden: !isShown }]);
          else note(isShown ? `${id} is shown again.` : `${id} comes back when its author's records do.`);
        } catch (error) {
          throw error instanceof UnhideError ? new CommandError(error.message) : error;
        }
      }),
    );

const WITH_AUTHOR = "its author's records are hidden";

export const hidden = ({ command, words: [, several], removable }: Named): Command =>
  new Command('hidden')
    .summary(`list hidden ${several}`)
    .description(
      `Lists the ${several} that are hidden, oldest first: since when (UTC), by which author, why, and the title. Those that ` +
        'were hidden with their author have no reason of their own.',
    )
    .option('--json', 'print one JSON object per line instead of a table')
    .addHelpText('after', examples(`${command} hidden`, `${command} hidden --json`))
    .action(({ json }: { json?: true }) =>
      withDatabase(readSettings(), async (db) => {
        const rows: string[][] = [];
        for await (const records of listHidden(db, removable.kind)) {
          const listed = records.map((row) => ({
            id: row.recordId,
            authorId: row.authorId,
            title: row.title,
            hiddenAt: row.hiddenAt?.toISOString() ?? null,
            hiddenReason: row.reason,
            authorHiddenAt: row.authorHiddenAt?.toISOString() ?? null,
          }));
          if (json) printJsonLines(listed);
          else {
            rows.push(
              ...listed.map(({ id, authorId, title, hiddenAt, hiddenReason, authorHiddenAt }) => [
                id,
                hiddenAt ?? authorHiddenAt ?? '-',
                authorId,
                title,
                hiddenReason ?? WITH_AUTHOR,
              ]),
            );
          }
        }
        if (!json) printTable(['ID', 'SINCE', 'AUTHOR', 'TITLE', 'WHY'], rows);
      }),
    );
