import { Argument, Command, Option } from 'commander';
import { keyless, label } from '../../../../contract/text.ts';
import { systemActor } from '../../../auth/audit/log.ts';
import { HIDDEN_REASON_LENGTH } from '../../../content/entity.ts';
import type { Database } from '../../../db/database.ts';
import type { Bytes } from '../../../db/values.ts';
import { selectHidden, selectToHide, selectToShow } from '../../moderation/selection.ts';
import { hideAll, hideRecord, unhideAll, UnhideError, unhideRecord } from '../../moderation/takedown.ts';
import { lengthOf, textOf } from '../shared/arguments.ts';
import { CommandError, examples, readSettings, withDatabase } from '../shared/common.ts';
import { isSelecting, SELECTING, selectionOf, withFilters } from '../shared/filters.ts';
import { note, printJsonLines, printTable } from '../shared/output.ts';
import { type Named, onSelected, type SelectedOptions } from './selected.ts';

export const EXAMPLE_ID = '019a3c5e-b150-7e85-9f52-9d40ce61a205';

const Reason = keyless(label(HIDDEN_REASON_LENGTH));

export const hide = (named: Named): Command =>
  withFilters(
    new Command('hide')
      .summary(`take ${named.words[1]} down`)
      .description(
        `Takes ${named.words[0]} out of lists, searches and every count; asking for it fails with 404, for its author, too. The ` +
          'reason is seen by operators only. If it is hidden already, it gets this reason, and stays hidden when its ' +
          `author's records are shown again. Without an id, shows which ${named.words[1]} would be hidden by the filters, and with ` +
          '--yes hides them, a hundred at a time; those that are hidden for a reason of their own keep it. Undone by unhide. ' +
          'Safe while the service runs. If it was interrupted, run it again.',
      )
      .addArgument(new Argument('[id]', 'its id'))
      .addOption(
        new Option('--reason <text>', `why, ${lengthOf(Reason)}`).argParser(textOf(Reason)).makeOptionMandatory(),
      ),
    SELECTING,
  )
    .option('--yes', 'hide those that the filters select; one that is named by its id is hidden without it')
    .option('--json', 'print one JSON object per line instead of a sentence or a table')
    .addHelpText(
      'after',
      examples(
        `${named.command} hide ${EXAMPLE_ID} --reason ticket-4711`,
        `${named.command} hide --author Maru --since 7d --reason ticket-4711 --yes`,
      ),
    )
    .action((id: string | undefined, { reason, ...options }: SelectedOptions & { reason: string }) =>
      withDatabase(readSettings(), async (db) => {
        const hiding = { reason, by: systemActor() };
        if (isSelecting(id, options, SELECTING)) {
          const change = (_: Database, ids: readonly Bytes[]) => hideAll(db, named.removable, ids, hiding);
          await onSelected(db, named, options, selectToHide, { done: 'hidden', change });
          return;
        }
        await hideRecord(db, named.removable, id!, hiding);
        if (options.json) printJsonLines([{ id, hidden: true, reason }]);
        else note(`${id} is hidden.`);
      }),
    );

const HIDDEN = [...SELECTING, 'reason'] as const;

export const unhide = (named: Named): Command =>
  withFilters(
    new Command('unhide')
      .summary(`show ${named.words[1]} again that were taken down`)
      .description(
        `Shows ${named.words[0]} again that was hidden, with the favorites, reactions and views that it had. While its author's ` +
          `records are hidden, it stays hidden with them. Without an id, shows which ${named.words[1]} would be shown by the ` +
          'filters, and with --yes shows them, a hundred at a time. Safe while the service runs. If it was interrupted, run ' +
          'it again.',
      )
      .addArgument(new Argument('[id]', 'its id')),
    HIDDEN,
  )
    .option('--yes', 'show those that the filters select; one that is named by its id is shown without it')
    .option('--json', 'print one JSON object per line instead of a sentence or a table')
    .addHelpText(
      'after',
      examples(`${named.command} unhide ${EXAMPLE_ID}`, `${named.command} unhide --reason ticket-4711 --yes`),
    )
    .action((id: string | undefined, options: SelectedOptions) =>
      withDatabase(readSettings(), async (db) => {
        if (isSelecting(id, options, HIDDEN)) {
          const change = (_: Database, ids: readonly Bytes[]) => unhideAll(db, named.removable, ids, systemActor());
          await onSelected(db, named, options, selectToShow, { done: 'shown', change });
          return;
        }
        try {
          const isShown = await unhideRecord(db, named.removable, id!, systemActor());
          if (options.json) printJsonLines([{ id, hidden: !isShown }]);
          else note(isShown ? `${id} is shown again.` : `${id} comes back when its author's records do.`);
        } catch (error) {
          throw error instanceof UnhideError ? new CommandError(error.message) : error;
        }
      }),
    );

const WITH_AUTHOR = "its author's records are hidden";

export const hidden = ({ command, words: [, several], removable }: Named): Command =>
  withFilters(
    new Command('hidden')
      .summary(`list hidden ${several}`)
      .description(
        `Lists the ${several} that are hidden, oldest first: since when (UTC), by which author, why, and the title. Those that ` +
          'were hidden with their author have no reason of their own.',
      ),
    HIDDEN,
  )
    .option('--json', 'print one JSON object per line instead of a table')
    .addHelpText('after', examples(`${command} hidden`, `${command} hidden --json`))
    .action(({ json, ...filters }: SelectedOptions) =>
      withDatabase(readSettings(), async (db) => {
        const rows: string[][] = [];
        for await (const records of selectHidden(db, removable.kind, await selectionOf(db, filters))) {
          for (const { id, authorId, title, hiddenAt, hiddenReason, authorHiddenAt } of records) {
            if (json) printJsonLines([{ id, authorId, title, hiddenAt, hiddenReason, authorHiddenAt }]);
            else rows.push([id, hiddenAt ?? authorHiddenAt ?? '-', authorId, title, hiddenReason ?? WITH_AUTHOR]);
          }
        }
        if (!json) printTable(['ID', 'SINCE', 'AUTHOR', 'TITLE', 'WHY'], rows);
      }),
    );
