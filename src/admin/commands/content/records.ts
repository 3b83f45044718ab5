import { Argument, Command } from 'commander';
import { systemActor } from '../../../auth/audit/log.ts';
import { removableGames, removableImages } from '../../moderation/kinds.ts';
import { deleteRecord, readRecordState } from '../../moderation/records.ts';
import { CommandError, examples, PROGRAM, readSettings, withDatabase } from '../shared/common.ts';
import { note, printJsonLines, printObject, printTable } from '../shared/output.ts';
import { list, move, type Named } from './selected.ts';
import { EXAMPLE_ID, hidden, hide, unhide } from './takedown.ts';

const OTHER_ID = '019a3c5e-b151-7a01-8f6e-2b7c1d9e4f30';

const show = ({ command, words: [one], removable }: Named): Command =>
  new Command('show')
    .summary(`show ${one}`)
    .description(
      `Shows ${one} with its author, tags, counts and all that it holds, and whether it is hidden. It counts no view. ` +
        'Times are in UTC.',
    )
    .addArgument(new Argument('<id>', 'its id'))
    .option('--json', 'print a JSON object instead of a table')
    .addHelpText('after', examples(`${command} show ${EXAMPLE_ID}`))
    .action((id: string, { json }: { json?: true }) =>
      withDatabase(readSettings(), async (db) => {
        const { details, ...record } = await readRecordState(db, removable.kind, id);
        printObject({ ...record, ...details }, json);
      }),
    );

const remove = ({ command, words: [, several], removable }: Named): Command =>
  new Command('delete')
    .summary(`delete ${several}`)
    .description(
      `Shows which ${several} would be deleted. With --yes, deletes them, hidden ones included, with their favorites and ` +
        'reactions, and takes them out of lists, searches and every count; tags stay. This cannot be undone. Safe while ' +
        'the service runs.',
    )
    .addArgument(new Argument('<id...>', `the ids of the ${several}`))
    .option('--yes', 'delete them')
    .option('--json', 'print one JSON object per line instead of a table')
    .addHelpText(
      'after',
      examples(`${command} delete ${EXAMPLE_ID}`, `${command} delete ${EXAMPLE_ID} ${OTHER_ID} --yes`),
    )
    .action((ids: string[], { yes, json }: { yes?: true; json?: true }) =>
      withDatabase(readSettings(), async (db) => {
        const { kind } = removable;
        // All are looked up before the first is deleted, so that a typo deletes none.
        const records = [];
        for (const id of new Set(ids)) records.push(await readRecordState(db, kind, id));
        const by = systemActor();
        const rows = [];
        for (const { id, author, title, favorites, likes, dislikes } of records) {
          if (yes && !(await deleteRecord(db, removable, id, by))) {
            throw new CommandError(`${id} has gone meanwhile.`);
          }
          rows.push({ id, authorId: author.id, favorites, likes, dislikes, title, deleted: yes === true });
        }
        if (json) printJsonLines(rows);
        else
          printTable(
            ['ID', 'AUTHOR', 'FAVORITES', 'LIKES', 'DISLIKES', 'TITLE'],
            rows.map((row) => [
              row.id,
              row.authorId,
              String(row.favorites),
              String(row.likes),
              String(row.dislikes),
              row.title,
            ]),
          );
        if (yes) note(`Deleted ${rows.length}.`);
        else note(`Nothing was deleted. Delete with: ${PROGRAM} ${command} delete ${ids.join(' ')} --yes`);
      }),
    );

const recordsCommand = (named: Named): Command =>
  new Command(named.command)
    .summary(`list, show, hide, move and delete ${named.words[1]}`)
    .description(`Lists, shows, hides, moves and deletes ${named.words[1]}.`)
    .addCommand(list(named))
    .addCommand(show(named))
    .addCommand(hide(named))
    .addCommand(unhide(named))
    .addCommand(hidden(named))
    .addCommand(move(named))
    .addCommand(remove(named));

export const gamesCommand = (): Command =>
  recordsCommand({ command: 'games', words: ['a game', 'games'], removable: removableGames });

export const imagesCommand = (): Command =>
  recordsCommand({ command: 'images', words: ['an image post', 'image posts'], removable: removableImages });
