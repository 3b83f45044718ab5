import { keyless, label } from '../../../../contract/text.ts';
import { systemActor } from '../../../auth/audit/log.ts';
import { HIDDEN_REASON_LENGTH } from '../../../content/entity.ts';
import { selectHidden, selectToHide, selectToShow } from '../../moderation/selection.ts';
import { hideAll, hideRecord, unhideAll, unhideRecord } from '../../moderation/takedown.ts';
import { lengthOf, textOf } from '../shared/arguments.ts';
import { argument, databaseCommand, EXAMPLE_ID, flag, jsonLines, required } from '../shared/command.ts';
import { isSelecting, SELECTING, SELECTING_HIDDEN, selectionOf } from '../shared/filters.ts';
import { note, printJsonLines, printTable } from '../shared/output.ts';
import { type Named, onSelected } from './selected.ts';

const Reason = keyless(label(HIDDEN_REASON_LENGTH));
const optionalId = argument<string | undefined>('[id]', 'its id');
const json = flag('print one JSON object per line instead of a sentence or a table');

export const hide = (named: Named) =>
  databaseCommand({
    summary: `take ${named.words[1]} down`,
    description:
      `Takes ${named.words[0]} out of lists, searches and every count; asking for it fails with 404, for its author, too. The ` +
      'reason is seen by operators only. If it is hidden already, it gets this reason, and stays hidden when its ' +
      `author's records are shown again. Without an id, shows which ${named.words[1]} would be hidden by the filters, and with ` +
      '--yes hides them, a hundred at a time; those that are hidden for a reason of their own keep it. Undone by unhide. ' +
      'Safe while the service runs. If it was interrupted, run it again.',
    input: {
      id: optionalId,
      reason: required('<text>', `why, ${lengthOf(Reason)}`, textOf(Reason)),
      ...SELECTING,
      yes: flag('hide those that the filters select; one that is named by its id is hidden without it'),
      json,
    },
    examples: [`${EXAMPLE_ID} --reason ticket-4711`, '--author Maru --since 7d --reason ticket-4711 --yes'],
    run: async (db, { id, reason, ...given }) => {
      const hiding = { reason, by: systemActor() };
      if (isSelecting(id, given, SELECTING)) {
        await onSelected(db, named, given, selectToHide, {
          done: 'hidden',
          change: (_, ids) => hideAll(db, named.kind, ids, hiding),
        });
        return;
      }
      await hideRecord(db, named.kind, id!, hiding);
      if (given.json) printJsonLines([{ id, hidden: true, reason }]);
      else note(`${id} is hidden.`);
    },
  });

export const unhide = (named: Named) =>
  databaseCommand({
    summary: `show ${named.words[1]} again that were taken down`,
    description:
      `Shows ${named.words[0]} again that was hidden, with the favorites, reactions and views that it had. While its author's ` +
      `records are hidden, it stays hidden with them. Without an id, shows which ${named.words[1]} would be shown by the ` +
      'filters, and with --yes shows them, a hundred at a time. Safe while the service runs. If it was interrupted, run ' +
      'it again.',
    input: {
      id: optionalId,
      ...SELECTING_HIDDEN,
      yes: flag('show those that the filters select; one that is named by its id is shown without it'),
      json,
    },
    examples: [EXAMPLE_ID, '--reason ticket-4711 --yes'],
    run: async (db, { id, ...given }) => {
      if (isSelecting(id, given, SELECTING_HIDDEN)) {
        await onSelected(db, named, given, selectToShow, {
          done: 'shown',
          change: (_, ids) => unhideAll(db, named.kind, ids, systemActor()),
        });
        return;
      }
      const isShown = await unhideRecord(db, named.kind, id!, systemActor());
      if (given.json) printJsonLines([{ id, hidden: !isShown }]);
      else note(isShown ? `${id} is shown again.` : `${id} comes back when its author's records do.`);
    },
  });

const WITH_AUTHOR = "its author's records are hidden";

export const hidden = ({ words: [, several], kind }: Named) =>
  databaseCommand({
    summary: `list hidden ${several}`,
    description:
      `Lists the ${several} that are hidden, oldest first: since when (UTC), by which author, why, and the title. Those that ` +
      'were hidden with their author have no reason of their own.',
    input: { ...SELECTING_HIDDEN, json: jsonLines },
    examples: ['', '--json'],
    run: async (db, given) => {
      const rows: string[][] = [];
      for await (const records of selectHidden(db, kind, await selectionOf(db, given))) {
        for (const { id, authorId, title, hiddenAt, hiddenReason, authorHiddenAt } of records) {
          if (given.json) printJsonLines([{ id, authorId, title, hiddenAt, hiddenReason, authorHiddenAt }]);
          else rows.push([id, hiddenAt ?? authorHiddenAt ?? '-', authorId, title, hiddenReason ?? WITH_AUTHOR]);
        }
      }
      if (!given.json) printTable(['ID', 'SINCE', 'AUTHOR', 'TITLE', 'WHY'], rows);
    },
  });
