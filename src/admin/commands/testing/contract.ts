import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Argument, Command } from 'commander';
import { timeoutSignal } from '../../../base/runtime.ts';
import type { ConsumerContract } from '../../../../contract/consumer-contract.ts';
import { contract as api } from '../../../../contract/index.ts';
import { publishedContracts } from '../../../consumers/contracts/store.ts';
import { valueAt } from '../../../testkit/conformance/values.ts';
import { keyOption } from '../shared/arguments.ts';
import { CommandError, examples, readSettings, withDatabase } from '../shared/common.ts';
import { note, printable } from '../shared/output.ts';
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
  const address = `${to.replace(/\/+$/, '')}${api.consumerContract.publish.path}`;
  const reply = await fetch(address, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...(key && { Authorization: `Bearer ${key}` }) },
    body: JSON.stringify({ json: { tag, contract: { consumer, contract, needs } } }),
    signal: timeoutSignal(TIMEOUT_MS),
  }).catch((error: unknown) => {
    throw new CommandError(`No gateway answers at ${address}: ${(error as Error).message}`, NO_GATEWAY);
  });
  if (reply.ok) return;
  const lines = [`${address} answered ${reply.status}.`, ...refusalOf(await reply.json().catch(() => undefined))];
  throw new CommandError(lines.map(printable).join('\n'), USAGE);
};

const publishCommand = (): Command =>
  new Command('publish')
    .summary('publish a contract at a gateway')
    .description(
      'For the pipeline of a consumer: has a gateway keep its contract under a tag, in place of the one before. Ends with ' +
        'status 0 when it is kept, 2 if it cannot be read or the gateway refuses it, 3 if none answers.',
    )
    .addArgument(new Argument('<path>', 'the contract: a file, or a folder of them'))
    .requiredOption('--to <url>', 'the gateway, such as https://api.example.com')
    .addOption(tagOption('where this version of the consumer is in use'))
    .addOption(keyOption('an API key with contract:write.'))
    .addHelpText('after', examples('contract publish shop-web.json --to https://api.example.com --tag production'))
    .action(async (path: string, options: PublishOptions) => {
      for (const contract of await readContracts([path])) {
        await publish(contract, options);
        note(printable(`${options.to} keeps the contract of ${contract.consumer} under ${options.tag}.`));
      }
    });

const exportCommand = (): Command =>
  new Command('export')
    .summary('write the published contracts to a folder')
    .description(
      'For the operator: writes the contracts in the database that have a tag, a file each, to a new folder. It is what ' +
        '"can-i-deploy --contracts" takes, in a pipeline that cannot reach the database.',
    )
    .addArgument(new Argument('<folder>', 'the folder to make'))
    .addOption(tagOption('the tag of the contracts'))
    .addHelpText('after', examples('contract export production'))
    .action(async (folder: string, { tag }: { tag: string }) => {
      const contracts = await withDatabase(readSettings(), (db) => publishedContracts(db, tag));
      await mkdir(folder).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
        throw new CommandError(`${folder} exists: give another folder, or remove it first.`);
      });
      for (const { userId, ...contract } of contracts) {
        const file = join(folder, `${encodeURIComponent(contract.consumer)}.${userId}.json`);
        await writeFile(file, `${JSON.stringify(contract, null, 2)}\n`);
      }
      note(printable(`${folder} has ${contracts.length} contracts with the tag ${tag}.`));
    });

/** `contract` */
export const contractCommand = (): Command =>
  new Command('contract')
    .summary('publish contracts of consumers, and export them')
    .description('Publishes what consumers need, and writes what they have published for pipelines of the gateway.')
    .addCommand(publishCommand())
    .addCommand(exportCommand());
