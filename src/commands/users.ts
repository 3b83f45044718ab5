import { Command } from 'commander';
import { contract } from '../../contract/index.ts';
import { readConfig } from '../config.ts';
import { createUser, listUsers } from '../user/service.ts';
import { lengthOf, textOf } from './arguments.ts';
import { examples, withDatabase } from './common.ts';
import { print, printJsonLines, printTable } from './output.ts';

const Nickname = contract.user.updateProfile.body.shape.json.shape.nickname.unwrap();

const create = (): Command =>
  new Command('create')
    .summary('make a user')
    .description('Makes a user and prints the id alone.')
    .requiredOption(
      '--nickname <text>',
      `the display name, ${lengthOf(Nickname)}; need not be unique`,
      textOf(Nickname),
    )
    .addHelpText('after', examples('users create --nickname Maru'))
    .action((options: { nickname: string }) =>
      withDatabase(readConfig(), async (db) => print(await createUser(db, options.nickname, new Date()))),
    );

const list = (): Command =>
  new Command('list')
    .summary('list all users')
    .description('Lists all users, oldest first: id, when they joined (UTC), nickname.')
    .option('--json', 'print one JSON object per line instead of a table')
    .addHelpText('after', examples('users list', 'users list --json'))
    .action(({ json }: { json?: true }) =>
      withDatabase(readConfig(), async (db) => {
        const users = await listUsers(db);
        if (json) printJsonLines(users);
        else
          printTable(
            ['ID', 'CREATED', 'NICKNAME'],
            users.map(({ id, createdAt, nickname }) => [id, createdAt.toISOString(), nickname]),
          );
      }),
    );

export const usersCommand = (): Command =>
  new Command('users')
    .summary('make and list users')
    .description('Makes and lists users. Users own keys, and what is published with them.')
    .addCommand(create())
    .addCommand(list());
