import { counted } from '../../../../contract/text.ts';
import { currentDate } from '../../../base/runtime.ts';
import { systemActor } from '../../../auth/audit/log.ts';
import { countsOf, deleteUser, readUserState, suspendUser, unsuspendUser } from '../../moderation/users.ts';
import { createUser, idOfUser, listUsers, renameUser } from '../../../user/service.ts';
import { lengthOf, Nickname, textOf } from '../shared/arguments.ts';
import {
  argument,
  commandGroup,
  databaseCommand,
  EXAMPLE_ID,
  flag,
  jsonLines,
  jsonNotSentence,
  jsonObject,
  required,
} from '../shared/command.ts';
import { PROGRAM } from '../shared/common.ts';
import { filters } from '../shared/filters.ts';
import { invitationCommands } from './invitations.ts';
import { erase, exportOne, userId } from './person.ts';
import { note, print, printable, printJsonLines, printObject, printRows } from '../shared/output.ts';

const create = databaseCommand({
  summary: 'create a user',
  description: 'Creates a user and prints the id, nothing else.',
  input: {
    nickname: required('<text>', `the display name, ${lengthOf(Nickname)}; it need not be unique`, textOf(Nickname)),
  },
  examples: ['--nickname Maru'],
  run: async (db, { nickname }) => print(await createUser(db, nickname, currentDate(), systemActor())),
});

const list = databaseCommand({
  summary: 'list users',
  description: 'Lists users, oldest first: id, when they joined (UTC), nickname.',
  input: { search: filters.search, json: jsonLines },
  examples: ['', '--search maru --json'],
  run: async (db, { search, json }) => {
    printRows(await listUsers(db, search), { ID: 'id', CREATED: 'createdAt', NICKNAME: 'nickname' }, json);
  },
});

const show = databaseCommand({
  summary: 'show a user',
  description:
    'Shows the profile of a user, how many records, favorites and reactions, and keys the user has, and whether the user ' +
    'is suspended. Times are in UTC.',
  input: { user: argument('<user>', 'the user, by id or by a nickname that no other user has'), json: jsonObject },
  examples: [EXAMPLE_ID, 'Maru'],
  run: async (db, { user, json }) => printObject(await readUserState(db, await idOfUser(db, user)), json),
});

const rename = databaseCommand({
  summary: 'give a user another nickname',
  description:
    'Gives a user another nickname, which every reply and search has from now on. The user may change it again.',
  input: {
    id: userId,
    nickname: argument('<nickname>', `the new nickname, ${lengthOf(Nickname)}`, textOf(Nickname)),
    json: jsonNotSentence,
  },
  examples: [`${EXAMPLE_ID} Maru`],
  run: async (db, { id, nickname, json }) => {
    const { before } = await renameUser(db, id, nickname, systemActor());
    if (json) printJsonLines([{ id, nickname, before }]);
    else note(`User ${id} is now "${printable(nickname)}". It was "${printable(before)}".`);
  },
});

const suspend = databaseCommand({
  summary: 'refuse the keys of a user',
  description:
    'Suspends a user: within a second, every instance of the service answers all keys of the user with 401 ' +
    'USER_SUSPENDED. With --hide-content, takes all games and image posts of the user out of lists, searches and ' +
    'counts as well, a hundred at a time; requests for one get a 404. Both are undone by unsuspend. Safe while ' +
    'the service runs. If it was interrupted, run it again.',
  input: {
    id: userId,
    hideContent: flag('also hide all games and image posts of the user'),
    json: jsonNotSentence,
  },
  examples: [EXAMPLE_ID, `${EXAMPLE_ID} --hide-content`],
  run: async (db, { id, hideContent, json }) => {
    const hidden = await suspendUser(db, id, systemActor(), { hide: hideContent });
    if (json) printJsonLines([{ id, suspended: true, hidden }]);
    else note(`User ${id} is suspended.${hideContent ? ` Hid ${counted(hidden, 'record')}.` : ''}`);
  },
});

const unsuspend = databaseCommand({
  summary: 'lift the suspension of a user',
  description:
    'Lifts the suspension of a user: within a second, the same keys work again. Games and image posts that were hidden ' +
    'come back with the favorites, reactions and views they had. If it was interrupted, run it again.',
  input: { id: userId, json: jsonNotSentence },
  examples: [EXAMPLE_ID],
  run: async (db, { id, json }) => {
    const shown = await unsuspendUser(db, id, systemActor());
    if (json) printJsonLines([{ id, suspended: false, shown }]);
    else
      note(
        `User ${id} is not suspended any more.${shown > 0 ? ` ${counted(shown, 'record is', 'records are')} back.` : ''}`,
      );
  },
});

const remove = databaseCommand({
  summary: 'delete a user with all that they have published',
  description:
    'Shows what a user has. With --yes, deletes the user, all games and image posts of the user, hidden ones included, ' +
    'all favorites and reactions that the user gave, and all keys, and takes them out of every count. It suspends the ' +
    'user first, and deletes a hundred records at a time. This cannot be undone. Safe while the service runs. If it ' +
    'was interrupted, run it again. Traces stay, such as nicknames and titles in the audit: see erase.',
  input: { id: userId, yes: flag('delete the user'), json: jsonObject },
  examples: [EXAMPLE_ID, `${EXAMPLE_ID} --yes`],
  run: async (db, { id, yes, json }) => {
    const state = await readUserState(db, id);
    if (yes) await deleteUser(db, id, systemActor());
    printObject({ id, nickname: state.nickname, ...countsOf(state), deleted: yes }, json);
    if (!yes) note(`Nothing was deleted. Delete all this with: ${PROGRAM} users delete ${id} --yes`);
  },
});

export const usersCommand = commandGroup(
  'create, invite, show, suspend, export, delete and erase users',
  'Creates, invites, shows, renames, suspends, exports, deletes and erases users. A user owns API keys and everything that is published with them.',
  { create, ...invitationCommands, list, show, rename, suspend, unsuspend, export: exportOne, delete: remove, erase },
);
