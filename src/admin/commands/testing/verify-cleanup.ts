import type { ContentKind } from '../../../content/kind.ts';
import { InvalidArgumentError } from 'commander';
import { counted } from '../../../../contract/text.ts';
import { systemActor } from '../../../auth/audit/log.ts';
import { publishedKinds } from '../../moderation/kinds.ts';
import { noteRecords } from '../../moderation/removal.ts';
import { findMarked, type Marking } from '../../../content/read/find.ts';
import { removeRecords } from '../../../content/write/remove.ts';
import type { Database } from '../../../db/database.ts';
import { databaseCommand, flag, jsonNotSentence, option } from '../shared/command.ts';
import { PROGRAM } from '../shared/common.ts';
import { note, print, printJsonLines } from '../shared/output.ts';

/** The mark of `verify`'s records: this tag, and titles that begin with the tag in a bracket. */
const TAG = 'verify';

/** Counts the records of a kind that runs of verify published and, with `yes`, removes them. */
const cleanUp = async (db: Database, kind: ContentKind, marking: Marking, yes: boolean): Promise<number> => {
  const before = noteRecords({ by: systemActor(), action: 'verify-cleanup' }, kind);
  const shouldDelete = ({ title }: { title: string }): boolean => title.startsWith(marking.titleStart);
  let n = 0;
  for await (const ids of findMarked(db, kind, marking)) {
    n += yes ? await removeRecords(db, kind, ids, { shouldDelete, before }) : ids.length;
  }
  return n;
};

const parseRun = (text: string): string => {
  if (/^[0-9a-f]{12}$/.test(text)) return text;
  throw new InvalidArgumentError('It must be the name of a run: the twelve hexadecimal digits that verify printed.');
};

export const verifyCleanupCommand = databaseCommand({
  summary: 'remove the records that verify published',
  description:
    'Counts the games and image posts that runs of verify have published: those with the tag "verify" and a title ' +
    'that begins with "[verify ". With --yes, removes them and their favorites, reactions and views from lists, ' +
    'searches and every count; the tags stay. Safe while the service runs. If it was interrupted, run it again.',
  input: {
    run: option('<name>', 'only the records of this run (default: of all runs)', parseRun),
    yes: flag('remove them'),
    json: jsonNotSentence,
  },
  examples: ['', '--run 0123456789ab --yes'],
  run: async (db, { run, yes, json }) => {
    const marking: Marking = { tagSlug: TAG, titleStart: run === undefined ? `[${TAG} ` : `[${TAG} ${run}] ` };
    const counts: number[] = [];
    for (const kind of publishedKinds) counts.push(await cleanUp(db, kind, marking, yes));
    const [games = 0, posts = 0] = counts;
    if (json) {
      printJsonLines([{ games, imagePosts: posts, removed: yes }]);
      return;
    }
    print(`${counted(games, 'game')} and ${counted(posts, 'image post')} of verify ${yes ? 'removed' : 'are there'}.`);
    if (!yes && games + posts > 0) {
      note(`Remove them with: ${PROGRAM} verify-cleanup${run === undefined ? '' : ` --run ${run}`} --yes`);
    }
  },
});
