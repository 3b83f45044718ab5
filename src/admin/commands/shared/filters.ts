import { type Command, Option } from 'commander';
import { label } from '../../../../contract/text.ts';
import { lengths } from '../../../../contract/limits.ts';
import { currentDate } from '../../../base/runtime.ts';
import type { Database } from '../../../db/database.ts';
import { searchTerms } from '../../../search/text.ts';
import { idOfUser } from '../../../user/service.ts';
import type { Selection } from '../../moderation/selection.ts';
import { parseStart, type StartDate, textOf } from './arguments.ts';
import { CommandError } from './common.ts';

const USAGE = 2;
const Text = label(lengths.search);

/** The filters of all commands for many rows: how an option is written, what it leaves, and how its value is read. */
const filters = {
  author: ['--author <user>', 'only those of this user, by id or by a nickname that no other user has'],
  since: [
    '--since <when>',
    'only from then on: a duration ago in days, hours, minutes or seconds (7d, 12h, 45m, 30s), a date in UTC ' +
      '(2026-04-01), or a time (2026-04-01T18:00:00Z)',
    parseStart,
  ],
  until: ['--until <when>', 'only before then, in the same forms', parseStart],
  search: ['--search <text>', 'only those that a search for this text finds', textOf(Text)],
  reason: ['--reason <text>', 'only those that were hidden for this reason'],
  subject: [
    '--subject <text>',
    'only with this text in what it was done to; by an id, also what names it in its details',
  ],
  actor: ['--actor <text>', 'only by those whose name holds this text'],
  action: ['--action <command>', 'only what this command did, such as "games hide", or "games" for all of these'],
} as const satisfies Record<string, readonly [flags: string, meaning: string, parse?: (text: string) => unknown]>;

type Filter = keyof typeof filters;

/** The values of filters, as they were given. */
export type Filtered = Partial<
  Record<Exclude<Filter, 'since' | 'until'>, string> & Record<'since' | 'until', StartDate>
>;

/** The filters by which several records are selected. */
export const SELECTING = ['author', 'since', 'until', 'search'] as const;

/** Gives a command these filters. */
export const withFilters = (command: Command, names: readonly Filter[]): Command => {
  for (const name of names) {
    const [flags, meaning, parse]: readonly [string, string, ((text: string) => unknown)?] = filters[name];
    const option = new Option(flags, meaning);
    command.addOption(parse ? option.argParser(parse) : option);
  }
  return command;
};

/** Whether a command is given filters instead of an id: one or the other is needed. @throws CommandError */
export const isSelecting = (id: string | undefined, given: Filtered, names: readonly Filter[]): boolean => {
  const isSelected = names.some((name) => given[name] !== undefined);
  if (isSelected !== (id === undefined)) {
    const options = names.map((name) => `--${name}`).join(', ');
    throw new CommandError(`Give either an id, or what selects several: ${options}.`, USAGE);
  }
  return isSelected;
};

/** The records that filters select. @throws AppError USER_NOT_FOUND */
export const selectionOf = async (
  db: Database,
  { author, since, until, search, reason }: Filtered,
): Promise<Selection> => {
  const now = currentDate();
  return {
    authorId: author === undefined ? undefined : await idOfUser(db, author),
    since: since?.(now),
    until: until?.(now),
    terms: searchTerms(search),
    reason,
  };
};
