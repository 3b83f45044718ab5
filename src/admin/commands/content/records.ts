import { systemActor } from '../../../auth/audit/log.ts';
import { gameKind } from '../../../game/kind.ts';
import { imageKind } from '../../../image/kind.ts';
import { deleteRecord, readRecordState } from '../../moderation/records.ts';
import { argument, commandGroup, databaseCommand, EXAMPLE_ID, flag, jsonLines, jsonObject } from '../shared/command.ts';
import { CommandError, PROGRAM } from '../shared/common.ts';
import { note, printObject, printRows } from '../shared/output.ts';
import { list, move, type Named } from './selected.ts';
import { hidden, hide, unhide } from './takedown.ts';

const OTHER_ID = '019a3c5e-b151-7a01-8f6e-2b7c1d9e4f30';

const show = ({ words: [one], kind }: Named) =>
  databaseCommand({
    summary: `show ${one}`,
    description:
      `Shows ${one} with its author, tags, counts and all that it holds, and whether it is hidden. It counts no view. ` +
      'Times are in UTC.',
    input: { id: argument('<id>', 'its id'), json: jsonObject },
    examples: [EXAMPLE_ID],
    run: async (db, { id, json }) => {
      const { details, ...record } = await readRecordState(db, kind, id);
      printObject({ ...record, ...details }, json);
    },
  });

const remove = ({ command, words: [, several], kind }: Named) =>
  databaseCommand({
    summary: `delete ${several}`,
    description:
      `Shows which ${several} would be deleted. With --yes, deletes them, hidden ones included, with their favorites and ` +
      'reactions, and takes them out of lists, searches and every count; tags stay. This cannot be undone. Safe while ' +
      'the service runs.',
    input: {
      ids: argument<string[]>('<id...>', `the ids of the ${several}`),
      yes: flag('delete them'),
      json: jsonLines,
    },
    examples: [EXAMPLE_ID, `${EXAMPLE_ID} ${OTHER_ID} --yes`],
    run: async (db, { ids, yes, json }) => {
      // All ids are looked up before the first record is deleted, so that a typo deletes none.
      const records = [];
      for (const id of new Set(ids)) records.push(await readRecordState(db, kind, id));
      const by = systemActor();
      const rows = [];
      for (const { id, author, title, favorites, likes, dislikes } of records) {
        if (yes && !(await deleteRecord(db, kind, id, by))) throw new CommandError(`${id} has gone meanwhile.`);
        rows.push({ id, authorId: author.id, favorites, likes, dislikes, title, deleted: yes });
      }
      printRows(
        rows,
        {
          ID: 'id',
          AUTHOR: 'authorId',
          FAVORITES: 'favorites',
          LIKES: 'likes',
          DISLIKES: 'dislikes',
          TITLE: 'title',
        },
        json,
      );
      if (yes) note(`Deleted ${rows.length}.`);
      else note(`Nothing was deleted. Delete with: ${PROGRAM} ${command} delete ${ids.join(' ')} --yes`);
    },
  });

const recordsCommand = (named: Named) =>
  commandGroup(
    `list, show, hide, move and delete ${named.words[1]}`,
    `Lists, shows, hides, moves and deletes ${named.words[1]}.`,
    {
      list: list(named),
      show: show(named),
      hide: hide(named),
      unhide: unhide(named),
      hidden: hidden(named),
      move: move(named),
      delete: remove(named),
    },
  );

export const gamesCommand = recordsCommand({
  command: 'games',
  words: ['a game', 'games'],
  kind: gameKind,
});

export const imagesCommand = recordsCommand({
  command: 'images',
  words: ['an image post', 'image posts'],
  kind: imageKind,
});
