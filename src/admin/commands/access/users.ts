import { Argument, Command } from 'commander';
import { currentDate } from '../../../base/runtime.ts';
import { contract } from '../../../../contract/index.ts';
import { systemActor } from '../../../auth/audit/log.ts';
import { deleteUser, readUserState, suspendUser, unsuspendUser } from '../../moderation/users.ts';
import { createUser, idOfUser, listUsers, readUser, renameUser } from '../../../user/service.ts';
import { lengthOf, textOf } from '../shared/arguments.ts';
import { examples, PROGRAM, readSettings, withDatabase } from '../shared/common.ts';
import { type Filtered, withFilters } from '../shared/filters.ts';
import { erase, EXAMPLE_ID, exportOne, userIdArgument } from './person.ts';
import { note, print, printable, printJsonLines, printObject, printTable } from '../shared/output.ts';

const Nickname = contract.user.updateProfile.body.shape.json.shape.nickname.unwrap();

interface Output {
  json?: true;
}
interface Dangerous extends Output {
  yes?: true;
}

const create = (): Command =>
  new Command('create')
    .summary('create a user')
    .description('Creates a user and prints the id, nothing else.')
    .requiredOption(
      '--nickname <text>',
      `the display name, ${lengthOf(Nickname)}; it need not be unique`,
      textOf(Nickname),
    )
    .addHelpText('after', examples('users create --nickname Maru'))
    .action((options: { nickname: string }) =>
      withDatabase(readSettings(), async (db) =>
        print(await createUser(db, options.nickname, currentDate(), systemActor())),
      ),
    );

const list = (): Command =>
  withFilters(
    new Command('list')
      .summary('list users')
      .description('Lists users, oldest first: id, when they joined (UTC), nickname.'),
    ['search'],
  )
    .option('--json', 'print one JSON object per line instead of a table')
    .addHelpText('after', examples('users list', 'users list --search maru --json'))
    .action(({ json, search }: Output & Filtered) =>
      withDatabase(readSettings(), async (db) => {
        const users = await listUsers(db, search);
        if (json) printJsonLines(users);
        else
          printTable(
            ['ID', 'CREATED', 'NICKNAME'],
            users.map(({ id, createdAt, nickname }) => [id, createdAt.toISOString(), nickname]),
          );
      }),
    );

const show = (): Command =>
  new Command('show')
    .summary('show a user')
    .description(
      'Shows the profile of a user, how many records, favorites and reactions, and keys the user has, and whether the user ' +
        'is suspended. Times are in UTC.',
    )
    .addArgument(new Argument('<user>', 'the user, by id or by a nickname that no other user has'))
    .option('--json', 'print a JSON object instead of a table')
    .addHelpText('after', examples(`users show ${EXAMPLE_ID}`, 'users show Maru'))
    .action((user: string, { json }: Output) =>
      withDatabase(readSettings(), async (db) => printObject(await readUserState(db, await idOfUser(db, user)), json)),
    );

const rename = (): Command =>
  new Command('rename')
    .summary('give a user another nickname')
    .description(
      'Gives a user another nickname, which every reply and search has from now on. The user may change it again.',
    )
    .addArgument(userIdArgument())
    .addArgument(new Argument('<nickname>', `the new nickname, ${lengthOf(Nickname)}`).argParser(textOf(Nickname)))
    .option('--json', 'print a JSON object instead of a sentence')
    .addHelpText('after', examples(`users rename ${EXAMPLE_ID} Maru`))
    .action((id: string, nickname: string, { json }: Output) =>
      withDatabase(readSettings(), async (db) => {
        const { before } = await renameUser(db, id, nickname, systemActor());
        if (json) printJsonLines([{ id, nickname, before }]);
        else note(`User ${id} is now "${printable(nickname)}". It was "${printable(before)}".`);
      }),
    );

const suspend = (): Command =>
  new Command('suspend')
    .summary('refuse the keys of a user')
    .description(
      'Suspends a user: within a second, every instance of the service answers all keys of the user with 401 ' +
        'USER_SUSPENDED. With --hide-content, takes all games and image posts of the user out of lists, searches and ' +
        'counts as well, a hundred at a time; whoever asks for one gets a 404. Both are undone by unsuspend. Safe while ' +
        'the service runs. If it was interrupted, run it again.',
    )
    .addArgument(userIdArgument())
    .option('--hide-content', 'also hide all games and image posts of the user')
    .option('--json', 'print a JSON object instead of a sentence')
    .addHelpText('after', examples(`users suspend ${EXAMPLE_ID}`, `users suspend ${EXAMPLE_ID} --hide-content`))
    .action((id: string, { hideContent, json }: Output & { hideContent?: true }) =>
      withDatabase(readSettings(), async (db) => {
        const hidden = await suspendUser(db, id, systemActor(), { hide: hideContent === true });
        if (json) printJsonLines([{ id, suspended: true, hidden }]);
        else note(`User ${id} is suspended.${hideContent ? ` Hid ${hidden} records.` : ''}`);
      }),
    );

const unsuspend = (): Command =>
  new Command('unsuspend')
    .summary('lift the suspension of a user')
    .description(
      'Lifts the suspension of a user: within a second, the same keys work again. Games and image posts that were hidden ' +
        'come back with the favorites, reactions and views they had. If it was interrupted, run it again.',
    )
    .addArgument(userIdArgument())
    .option('--json', 'print a JSON object instead of a sentence')
    .addHelpText('after', examples(`users unsuspend ${EXAMPLE_ID}`))
    .action((id: string, { json }: Output) =>
      withDatabase(readSettings(), async (db) => {
        const shown = await unsuspendUser(db, id, systemActor());
        if (json) printJsonLines([{ id, suspended: false, shown }]);
        else note(`User ${id} is not suspended any more.${shown > 0 ? ` ${shown} records are back.` : ''}`);
      }),
    );

const remove = (): Command =>
  new Command('delete')
    .summary('delete a user with all that they have published')
    .description(
      'Shows what a user has. With --yes, deletes the user, all games and image posts of the user, hidden ones included, ' +
        'all favorites and reactions that the user gave, and all keys, and takes them out of every count. It suspends the ' +
        'user first, and deletes a hundred records at a time. This cannot be undone. Safe while the service runs. If it ' +
        'was interrupted, run it again. Traces stay, such as nicknames and titles in the audit: see erase.',
    )
    .addArgument(userIdArgument())
    .option('--yes', 'delete the user')
    .option('--json', 'print a JSON object instead of a table')
    .addHelpText('after', examples(`users delete ${EXAMPLE_ID}`, `users delete ${EXAMPLE_ID} --yes`))
    .action((id: string, { yes, json }: Dangerous) =>
      withDatabase(readSettings(), async (db) => {
        await readUser(db, id);
        const { nickname, games, imagePosts, hiddenGames, hiddenImagePosts, engagement, keys } = await readUserState(
          db,
          id,
        );
        const toDelete = { id, nickname, games, imagePosts, hiddenGames, hiddenImagePosts, engagement, keys };
        if (yes) await deleteUser(db, id, systemActor());
        printObject({ ...toDelete, deleted: yes === true }, json);
        if (!yes) note(`Nothing was deleted. Delete all this with: ${PROGRAM} users delete ${id} --yes`);
      }),
    );

export const usersCommand = (): Command =>
  new Command('users')
    .summary('create, show, suspend, export, delete and erase users')
    .description(
      'Creates, shows, renames, suspends, exports, deletes and erases users. A user owns API keys and everything that is published with them.',
    )
    .addCommand(create())
    .addCommand(list())
    .addCommand(show())
    .addCommand(rename())
    .addCommand(suspend())
    .addCommand(unsuspend())
    .addCommand(exportOne())
    .addCommand(remove())
    .addCommand(erase());
