import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Argument, Command } from 'commander';
import { ask } from '../../../../openapi/kit/conformance/http/remote.ts';
import type { ConsumerContract } from '../../../../contract/consumer-contract.ts';
import { contract as api } from '../../../../contract/index.ts';
import { systemActor } from '../../../auth/audit/log.ts';
import {
  deleteContracts,
  findContracts,
  type OwnedContract,
  type PassedOver,
  publishedContracts,
} from '../../../consumers/contracts/store.ts';
import type { Database } from '../../../db/database.ts';
import { parsed } from '../../../../openapi/kit/conformance/http/client.ts';
import { valueAt } from '../../../../openapi/kit/conformance/values.ts';
import { idOfUser } from '../../../user/service.ts';
import { keyOption, parseBaseUrl, refuseRepeated } from '../shared/arguments.ts';
import { CommandError, examples, readSettings, withDatabase } from '../shared/common.ts';
import { note, printable, printJsonLines, printTable } from '../shared/output.ts';
import { readContracts, tagOption } from './impact.ts';

const USAGE = 2;
const NO_GATEWAY = 3;
const TIMEOUT_MS = 30_000;

interface PublishOptions {
  to: string;
  tag: string;
  key?: string;
}

/** Why a gateway refuses a call, in words, a line for each fault. */
const refusalOf = (answer: unknown): string[] => {
  const { message, data } = (valueAt(answer, ['error', 'json']) ?? {}) as {
    message?: string;
    data?: { hint?: string; issues?: { path: string; message: string }[] };
  };
  const issues = (data?.issues ?? []).map((issue) => `${issue.path} ${issue.message}`);
  return [[message, data?.hint].filter((words) => words !== undefined).join(' '), ...issues];
};

/** Publishes a contract at a gateway. @throws CommandError */
const publish = async (
  { consumer, contract, needs }: ConsumerContract,
  { to, tag, key }: PublishOptions,
): Promise<void> => {
  const address = `${to}${api.consumerContract.publish.path}`;
  const { status, isOk, text } = await ask(address, TIMEOUT_MS, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...(key && { Authorization: `Bearer ${key}` }) },
    body: JSON.stringify({ json: { tag, contract: { consumer, contract, needs } } }),
  }).catch((error: Error) => {
    throw new CommandError(printable(`No gateway answers at ${address}: ${error.message}.`), NO_GATEWAY);
  });
  const answer = parsed(text);
  if (isOk && valueAt(answer, ['result', 'data', 'json']) !== undefined) return;
  const lines = [`${address} answered ${status}${isOk ? ', but not as a gateway does' : ''}.`, ...refusalOf(answer)];
  throw new CommandError(lines.map(printable).join('\n'), USAGE);
};

const publishCommand = (): Command =>
  refuseRepeated(
    new Command('publish')
      .summary('publish a contract at a gateway')
      .description(
        'For the pipeline of a consumer: has a gateway keep its contract under a tag, in place of the one before. Ends with ' +
          'status 0 when it is kept, 2 if it cannot be read or the gateway refuses it, 3 if none answers.',
      )
      .addArgument(new Argument('<path>', 'the contract: a file, or a folder of them'))
      .requiredOption('--to <url>', 'the gateway, such as https://api.example.com', parseBaseUrl)
      .addOption(tagOption('where this version of the consumer is in use'))
      .addOption(keyOption('an API key with contract:write.'))
      .addHelpText('after', examples('contract publish shop-web.json --to https://api.example.com --tag production'))
      .action(async (path: string, options: PublishOptions) => {
        const contracts: ConsumerContract[] = [];
        // All are read before the first is sent.
        for await (const contract of readContracts([path])) contracts.push(contract);
        for (const contract of contracts) {
          await publish(contract, options);
          note(printable(`${options.to} keeps the contract of ${contract.consumer} under ${options.tag}.`));
        }
      }),
  );

const PLAIN_NAME = /^[a-z0-9][a-z0-9._-]*$/;
const READABLE = 40;
const HASH_DIGITS = 16;

/** A name of a file, other for each contract, and short. Some file systems do not tell letters of another case apart. */
const fileNameOf = (consumer: string, userId: string): string => {
  const readable = consumer.replaceAll(/[^A-Za-z0-9._-]+/g, '-').slice(0, READABLE);
  const hash = createHash('sha256').update(consumer).digest('hex').slice(0, HASH_DIGITS);
  return `${PLAIN_NAME.test(consumer) ? consumer : `${readable}~${hash}`}.${userId}.json`;
};

const tellPassedOver: PassedOver = ({ userId, consumer }, why) => {
  const fault = why === 'suspended' ? 'its user is suspended' : 'it cannot be read';
  note(printable(`The contract of ${consumer} of user ${userId} gets no file: ${fault}.`));
  if (why === 'unreadable') process.exitCode = USAGE;
};

const exportCommand = (): Command =>
  new Command('export')
    .summary('write the published contracts to a folder')
    .description(
      'For the operator: writes the contracts in the database that have a tag, a file each, to a new folder. It is what ' +
        '"can-i-deploy --contracts" takes, in a pipeline that cannot reach the database. It leaves out those of suspended ' +
        'users, and ends with status 2 if one cannot be read.',
    )
    .addArgument(new Argument('<folder>', 'the folder to make'))
    .addOption(tagOption('the tag of the contracts'))
    .addHelpText('after', examples('contract export production'))
    .action((folder: string, { tag }: { tag: string }) =>
      withDatabase(readSettings(), async (db) => {
        await mkdir(folder).catch((error: NodeJS.ErrnoException) => {
          if (error.code !== 'EEXIST') throw error;
          throw new CommandError(`${folder} exists: give another folder, or remove it first.`);
        });
        let written = 0;
        for await (const { userId, ...contract } of publishedContracts(db, tag, tellPassedOver)) {
          const file = join(folder, fileNameOf(contract.consumer, userId));
          await writeFile(file, `${JSON.stringify(contract, null, 2)}\n`, { flag: 'wx' });
          written += 1;
        }
        note(printable(`${folder} has ${written} contracts with the tag ${tag}.`));
      }),
    );

const told = (contracts: readonly OwnedContract[], json: boolean): void => {
  if (json) printJsonLines(contracts);
  else
    printTable(
      ['USER', 'TAG', 'VERSION', 'NEEDS', 'PUBLISHED', 'CONSUMER'],
      contracts.map((one) => [one.userId, one.tag, one.contract, String(one.needCount), one.publishedAt, one.consumer]),
    );
};

interface Wanted {
  user?: string;
  consumer?: string;
  tag?: string;
  json?: true;
}

/** The contracts that options name. @throws AppError USER_NOT_FOUND */
const wantedBy = async (db: Database, { user, consumer, tag }: Wanted) => ({
  ...(user !== undefined && { userId: await idOfUser(db, user) }),
  ...(consumer !== undefined && { consumer }),
  ...(tag !== undefined && { tag }),
});

const ofUser = 'by id or by a nickname that no other user has';

const list = (): Command =>
  new Command('list')
    .summary('list published contracts')
    .description(
      'For the operator: lists the contracts in the database, of all users, by consumer and tag. Times are in UTC.',
    )
    .option('--user <id>', `only those of this user, ${ofUser}`)
    .option('--consumer <name>', 'only those of this consumer')
    .option('--tag <name>', 'only those with this tag (default: all)')
    .option('--json', 'print one JSON object per line instead of a table')
    .addHelpText('after', examples('contract list', 'contract list --tag production --json'))
    .action((options: Wanted) =>
      withDatabase(readSettings(), async (db) =>
        told(await findContracts(db, await wantedBy(db, options)), options.json === true),
      ),
    );

const remove = (): Command =>
  new Command('delete')
    .summary('delete published contracts of a user')
    .description(
      'For the operator: shows the contracts of a user that would go. With --yes, deletes them: what they need holds up no ' +
        'release any more. This cannot be undone. Safe while the service runs.',
    )
    .requiredOption('--user <id>', `the user who has published them, ${ofUser}`)
    .option('--consumer <name>', 'only those of this consumer')
    .option('--tag <name>', 'only those with this tag (default: all)')
    .option('--yes', 'delete them')
    .option('--json', 'print one JSON object per line instead of a table')
    .addHelpText('after', examples('contract delete --user maru --consumer shop-web --tag production --yes'))
    .action(({ yes, ...options }: Wanted & { user: string; yes?: true }) =>
      withDatabase(readSettings(), async (db) => {
        const wanted = { ...(await wantedBy(db, options)), userId: await idOfUser(db, options.user) };
        const found = yes
          ? await db.transaction((tx) => deleteContracts(tx, wanted, systemActor()))
          : await findContracts(db, wanted);
        told(found, options.json === true);
        note(yes ? `Deleted ${found.length}.` : 'Nothing was deleted. Delete them with the same call and --yes.');
      }),
    );

/** `contract` */
export const contractCommand = (): Command =>
  new Command('contract')
    .summary('publish contracts of consumers, list, export and delete them')
    .description(
      'Publishes what consumers need; for the operator, lists and deletes what they have published, and writes it for pipelines ' +
        'of the gateway.',
    )
    .addCommand(publishCommand())
    .addCommand(list())
    .addCommand(exportCommand())
    .addCommand(remove());
