import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { counted } from '../../../../contract/text.ts';
import { ask } from '../../../../openapi/kit/conformance/http/remote.ts';
import type { ConsumerContract } from '../../../../contract/consumer-contract.ts';
import { contract as api } from '../../../../contract/index.ts';
import { systemActor } from '../../../auth/audit/log.ts';
import {
  deleteContracts,
  findContracts,
  type PassedOver,
  publishedContracts,
} from '../../../consumers/contracts/store.ts';
import type { Database } from '../../../db/database.ts';
import { parsed } from '../../../../openapi/kit/conformance/http/client.ts';
import { valueAt } from '../../../../openapi/kit/conformance/values.ts';
import { idOfUser } from '../../../user/service.ts';
import { keyOption, parseBaseUrl } from '../shared/arguments.ts';
import {
  argument,
  command,
  commandGroup,
  databaseCommand,
  flag,
  jsonLines,
  option,
  required,
} from '../shared/command.ts';
import { CommandError, NO_GATEWAY, USAGE } from '../shared/common.ts';
import { note, printable, printRows } from '../shared/output.ts';
import { readContracts, tagOption } from './documents.ts';

const TIMEOUT_MS = 30_000;

interface PublishOptions {
  to: string;
  tag: string;
  key: string | undefined;
}

/** Describes, with a line for each fault, why a gateway refuses a call. */
const refusalOf = (answer: unknown): string[] => {
  const { message, data } = (valueAt(answer, ['error', 'json']) ?? {}) as {
    message?: string;
    data?: { hint?: string; issues?: { path: string; message: string }[] };
  };
  const issues = (data?.issues ?? []).map((issue) => `${issue.path} ${issue.message}`);
  return [[message, data?.hint].filter((words) => words !== undefined).join(' '), ...issues];
};

/** Publishes a contract to a gateway. @throws CommandError */
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

const publishCommand = command({
  summary: 'publish a contract at a gateway',
  description:
    'For the pipeline of a consumer: has a gateway keep its contract under a tag, in place of the one before. Ends with ' +
    'status 0 when it is kept, 2 if it cannot be read or the gateway refuses it, 3 if none answers.',
  input: {
    path: argument('<path>', 'the contract: a file, or a folder of them'),
    to: required('<url>', 'the gateway, such as https://api.example.com', parseBaseUrl),
    tag: tagOption('where this version of the consumer is in use'),
    key: keyOption('an API key with contract:write.'),
  },
  examples: ['shop-web.json --to https://api.example.com --tag production'],
  refusesRepeated: true,
  run: async ({ path, ...options }) => {
    const contracts: ConsumerContract[] = [];
    // All files are read before the first contract is sent.
    for await (const contract of readContracts([path])) contracts.push(contract);
    for (const contract of contracts) {
      await publish(contract, options);
      note(printable(`${options.to} keeps the contract of ${contract.consumer} under ${options.tag}.`));
    }
  },
});

const PLAIN_NAME = /^[a-z0-9][a-z0-9._-]*$/;
const READABLE = 40;
const HASH_DIGITS = 16;

/** A short file name that is unique for each contract. Some file systems do not distinguish upper and lower case. */
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

const exportCommand = databaseCommand({
  summary: 'write the published contracts to a folder',
  description:
    'For the operator: writes the contracts in the database that have a tag, a file each, to a new folder. It is what ' +
    '"can-i-deploy --contracts" takes, in a pipeline that cannot reach the database. It leaves out those of suspended ' +
    'users, and ends with status 2 if one cannot be read.',
  input: { folder: argument('<folder>', 'the folder to make'), tag: tagOption('the tag of the contracts') },
  examples: ['production'],
  run: async (db, { folder, tag }) => {
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
    note(printable(`${folder} has ${counted(written, 'contract')} with the tag ${tag}.`));
  },
});

const columns = {
  USER: 'userId',
  TAG: 'tag',
  VERSION: 'contract',
  NEEDS: 'needCount',
  PUBLISHED: 'publishedAt',
  CONSUMER: 'consumer',
} as const;

/** The contracts that options select. @throws AppError USER_NOT_FOUND */
const wantedBy = async (
  db: Database,
  { user, consumer, tag }: Record<'user' | 'consumer' | 'tag', string | undefined>,
) => ({
  ...(user !== undefined && { userId: await idOfUser(db, user) }),
  ...(consumer !== undefined && { consumer }),
  ...(tag !== undefined && { tag }),
});

const ofUser = 'by id or by a nickname that no other user has';
const consumer = option('<name>', 'only those of this consumer');
const withTag = option('<name>', 'only those with this tag (default: all)');

const list = databaseCommand({
  summary: 'list published contracts',
  description:
    'For the operator: lists the contracts in the database, of all users, by consumer and tag. Times are in UTC.',
  input: { user: option('<id>', `only those of this user, ${ofUser}`), consumer, tag: withTag, json: jsonLines },
  examples: ['', '--tag production --json'],
  run: async (db, options) => printRows(await findContracts(db, await wantedBy(db, options)), columns, options.json),
});

const remove = databaseCommand({
  summary: 'delete published contracts of a user',
  description:
    'For the operator: shows the contracts of a user that would go. With --yes, deletes them: what they need holds up no ' +
    'release any more. This cannot be undone. Safe while the service runs.',
  input: {
    user: required('<id>', `the user who has published them, ${ofUser}`),
    consumer,
    tag: withTag,
    yes: flag('delete them'),
    json: jsonLines,
  },
  examples: ['--user maru --consumer shop-web --tag production --yes'],
  run: async (db, { yes, json, ...options }) => {
    const wanted = { ...(await wantedBy(db, options)), userId: await idOfUser(db, options.user) };
    const found = yes
      ? await db.transaction((tx) => deleteContracts(tx, wanted, systemActor()))
      : await findContracts(db, wanted);
    printRows(found, columns, json);
    note(yes ? `Deleted ${found.length}.` : 'Nothing was deleted. Delete them with the same call and --yes.');
  },
});

export const contractCommand = commandGroup(
  'publish contracts of consumers, list, export and delete them',
  'Publishes what consumers need; for the operator, lists and deletes what they have published, and writes it for pipelines ' +
    'of the gateway.',
  { publish: publishCommand, list, export: exportCommand, delete: remove },
);
