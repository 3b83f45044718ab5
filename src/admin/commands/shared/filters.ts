import { label } from '../../../../contract/text.ts';
import { lengths } from '../../../../contract/limits.ts';
import { currentDate } from '../../../base/runtime.ts';
import type { Database } from '../../../db/database.ts';
import { searchTerms } from '../../../search/text.ts';
import { idOfUser } from '../../../user/service.ts';
import type { Selection } from '../../moderation/selection.ts';
import { parseStart, textOf } from './arguments.ts';
import { type Given, option } from './command.ts';
import { CommandError, USAGE } from './common.ts';

/** The filters that all commands for many rows share. */
export const filters = {
  author: option('<user>', 'only those of this user, by id or by a nickname that no other user has'),
  since: option(
    '<when>',
    'only from then on: a duration ago in days, hours, minutes or seconds (7d, 12h, 45m, 30s), a date in UTC ' +
      '(2026-04-01), or a time (2026-04-01T18:00:00Z)',
    parseStart,
  ),
  until: option('<when>', 'only before then, in the same forms', parseStart),
  search: option('<text>', 'only those that a search for this text finds', textOf(label(lengths.search))),
  reason: option('<text>', 'only those that were hidden for this reason'),
  subject: option('<text>', 'only with this text in what it was done to; by an id, also what names it in its details'),
  actor: option('<text>', 'only by those whose name holds this text'),
  action: option('<command>', 'only what this command did, such as "games hide", or "games" for all of these'),
};

/** The values of filters as they were typed. */
export type Filtered = Partial<Given<typeof filters>>;

const { author, since, until, search, reason } = filters;
/** The filters that select records, and the filters that select hidden records. */
export const SELECTING = { author, since, until, search };
export const SELECTING_HIDDEN = { ...SELECTING, reason };

/** Whether a command got filters instead of an id: it needs one or the other. @throws CommandError */
export const isSelecting = (id: string | undefined, given: Filtered, of: Partial<typeof filters>): boolean => {
  const names = Object.keys(of) as (keyof Filtered)[];
  const isSelected = names.some((name) => given[name] !== undefined);
  if (isSelected !== (id === undefined)) {
    const options = names.map((name) => `--${name}`).join(', ');
    throw new CommandError(`Give either an id, or what selects several: ${options}.`, USAGE);
  }
  return isSelected;
};

/** The records that filters select. @throws AppError USER_NOT_FOUND */
export const selectionOf = async (db: Database, given: Filtered): Promise<Selection> => {
  const now = currentDate();
  return {
    authorId: given.author === undefined ? undefined : await idOfUser(db, given.author),
    since: given.since?.(now),
    until: given.until?.(now),
    terms: searchTerms(given.search),
    reason: given.reason,
  };
};
