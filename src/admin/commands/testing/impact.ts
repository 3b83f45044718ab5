import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { Argument, Command, Option } from 'commander';
import { currentDate, timeoutSignal } from '../../../base/runtime.ts';
import { version } from '../../../base/version.ts';
import { publishedContracts } from '../../../consumers/contracts/store.ts';
import { KEPT_DAYS } from '../../../consumers/use/days.ts';
import { readConsumerUses } from '../../../consumers/use/store.ts';
import {
  type ClientDocument,
  documented,
  parseDocument,
} from '../../../testkit/conformance/document/client-document.ts';
import { changesFor } from '../../../testkit/conformance/document/compare.ts';
import {
  type ConsumerContract,
  ConsumerContractError,
  parseConsumerContract,
} from '../../../../contract/consumer-contract.ts';
import { type Consumers, type Impact, impactOf } from '../../../testkit/consumers/impact.ts';
import { affectedText, changeText, junitOf, namesOf } from '../../../testkit/consumers/report.ts';
import { parseUses, UseError } from '../../../testkit/consumers/uses.ts';
import { withKeys } from '../access/keys-use.ts';
import { wholeNumberUpTo } from '../shared/arguments.ts';
import { CommandError, examples, readSettings, withDatabase } from '../shared/common.ts';
import { faultsOf } from '../shared/faults.ts';
import { note, print, printable, printJsonLines } from '../shared/output.ts';
import { readDocument } from './verify.ts';

const BROKEN = 1;
const USAGE = 2;
const NO_GATEWAY = 3;
const TIMEOUT_MS = 10_000;

/** The document of this version. */
const ownDocument = (): ClientDocument =>
  documented('openapi.json', createRequire(import.meta.url)('#openapi/openapi.json') as object);

/** Reads a file. @throws CommandError */
const readWith = async <T>(file: string, parse: (name: string, text: string) => T): Promise<T> => {
  try {
    return parse(basename(file), await readFile(file, 'utf8'));
  } catch (error) {
    if (error instanceof UseError || error instanceof ConsumerContractError)
      throw new CommandError(error.message, USAGE);
    throw new CommandError(`${file} cannot be read: ${(error as Error).message}.`, USAGE);
  }
};

/** The contracts in files, and in the folders among them. @throws CommandError */
export const readContracts = async (paths: readonly string[]): Promise<ConsumerContract[]> => {
  const contracts: ConsumerContract[] = [];
  for (const path of paths) {
    const isFolder = await stat(path).then(
      (found) => found.isDirectory(),
      () => false,
    );
    const names = isFolder ? (await readdir(path)).filter((name) => name.endsWith('.json')).toSorted() : undefined;
    if (names?.length === 0) throw new CommandError(`${path} has no .json file.`, USAGE);
    for (const file of names?.map((name) => join(path, name)) ?? [path]) {
      contracts.push(await readWith(file, parseConsumerContract));
    }
  }
  return contracts;
};

/** The document that a gateway publishes. @throws CommandError */
const fetchDocument = async (url: string): Promise<ClientDocument> => {
  const address = `${url.replace(/\/+$/, '')}/openapi.json`;
  try {
    const reply = await fetch(address, { signal: timeoutSignal(TIMEOUT_MS) });
    if (!reply.ok) throw new Error(`status ${reply.status}`);
    return parseDocument(address, await reply.text());
  } catch (error) {
    throw new CommandError(`There is no gateway's document at ${address}: ${(error as Error).message}`, NO_GATEWAY);
  }
};

/** The consumers in the database: their uses of the last days, and the contracts that have a tag. @throws CommandError */
const readDatabase = async (days: number, tag: string): Promise<Required<Consumers>> => {
  try {
    return await withDatabase(readSettings(), async (db) => ({
      uses: await withKeys(db, await readConsumerUses(db, { now: currentDate(), days })),
      contracts: await publishedContracts(db, tag),
    }));
  } catch (error) {
    // Status 1 would name it a broken consumer.
    throw new CommandError(faultsOf(error).join('\n'), USAGE);
  }
};

const namesFiles = ({ use, contracts }: FileOptions): boolean => use !== undefined || contracts !== undefined;

/** The consumers that files know. @throws CommandError */
const readFiles = async ({ use, contracts = [] }: FileOptions): Promise<Required<Consumers>> => ({
  uses: use === undefined ? [] : await readWith(use, parseUses),
  contracts: await readContracts(contracts),
});

/** The files that say what consumers use and need. Without any, the database says it. */
interface FileOptions {
  use?: string;
  contracts?: string[];
}

interface Output {
  json?: true;
  junit?: string;
}

/** Prints each change that may break clients, with the consumers that it breaks. Returns how many changes break one. */
const report = async (impacts: readonly Impact[], consumers: Consumers, { json, junit }: Output): Promise<number> => {
  if (junit !== undefined) await writeFile(junit, junitOf(impacts, consumers));
  if (json) printJsonLines(impacts);
  else {
    for (const impact of impacts) {
      print(printable(`${impact.affected.length > 0 ? 'BREAKS' : 'nobody'}  ${changeText(impact)}`));
      for (const one of impact.affected) print(printable(`          ${affectedText(one)}`));
    }
  }
  return impacts.filter(({ affected }) => affected.length > 0).length;
};

const listed = (value: string, earlier: readonly string[] = []): string[] => [...earlier, value];
const jsonOption = (): Option => new Option('--json', 'print one JSON object per change and line');
const junitOption = (): Option => new Option('--junit <file>', 'also write JUnit XML, with a case for each consumer');
const useOption = (): Option => new Option('--use <file>', 'what a deployment wrote by `keys use --days 90 --json`');
const contractsOption = (): Option =>
  new Option('--contracts <path>', 'contracts of consumers: a file, or a folder of them; may be repeated').argParser(
    listed,
  );

export const tagOption = (description: string): Option => new Option('--tag <name>', description).default('production');
const databaseTag = (): Option => tagOption('without either: the contracts in the database that have this tag');

interface ImpactOptions extends FileOptions, Output {
  days: number;
  tag: string;
}

/** `impact` */
export const impactCommand = (): Command =>
  new Command('impact')
    .summary('name whom a new document breaks')
    .description(
      'Compares two OpenAPI documents of the gateway, and names each change that may break clients with the consumers that ' +
        'it breaks: by what a deployment has recorded, and by their contracts. Ends with status 0 if nobody is broken, 1 if ' +
        'somebody is, 2 for what cannot be read. What was recorded does not tell what a consumer reads of a reply: all ' +
        'callers of the operation are named.',
    )
    .addArgument(new Argument('<old>', 'the document that consumers use'))
    .addArgument(new Argument('[new]', 'the document that would take its place; by default that of this version'))
    .addOption(useOption())
    .addOption(contractsOption())
    .addOption(
      new Option('--days <number>', 'without either: the uses of so many days in the database, today included')
        .argParser(wholeNumberUpTo(KEPT_DAYS))
        .default(KEPT_DAYS),
    )
    .addOption(databaseTag())
    .addOption(jsonOption())
    .addOption(junitOption())
    .addHelpText(
      'after',
      examples('impact old.json', 'impact old.json new.json --use use.jsonl --contracts consumers/'),
    )
    .action(async (old: string, fresh: string | undefined, { days, tag, ...options }: ImpactOptions) => {
      const changes = changesFor(
        await readDocument(old),
        fresh === undefined ? ownDocument() : await readDocument(fresh),
      );
      const consumers = namesFiles(options) ? await readFiles(options) : await readDatabase(days, tag);
      const impacts = impactOf(changes, consumers);
      const broken = await report(impacts, consumers, options);
      note(
        `Of ${changes.length} changes, ${broken} break somebody, ${impacts.length - broken} could but break nobody of ` +
          `${namesOf(consumers).length} consumers, and ${changes.length - impacts.length} break no client.`,
      );
      if (broken > 0) process.exitCode = BROKEN;
    });

interface DeployOptions extends FileOptions, Output {
  document?: string;
  to?: string;
  from?: string;
  tag: string;
}

/** The documents of what is deployed, and of what would be. @throws CommandError */
const documentsOf = async ({ document, to, from }: DeployOptions, contracts: Required<Consumers>['contracts']) => {
  if (document !== undefined) {
    return { before: from === undefined ? ownDocument() : await readDocument(from), now: await readDocument(document) };
  }
  if (to === undefined) throw new CommandError('Say what would be deployed: --document FILE, or --to URL.', USAGE);
  const other = contracts.find((one) => one.contract !== version);
  if (from === undefined && other) {
    throw new CommandError(
      `${other.consumer} was tested with ${other.contract}, and this is ${version}: name the document of that with --from.`,
      USAGE,
    );
  }
  return { before: from === undefined ? ownDocument() : await readDocument(from), now: await fetchDocument(to) };
};

/** `can-i-deploy` */
export const canIDeployCommand = (): Command =>
  new Command('can-i-deploy')
    .summary('say whether a release breaks a consumer')
    .description(
      'For whoever releases the gateway: whether a document breaks consumers, by their contracts and by what the ' +
        'deployment has recorded; without files, it asks the database for both. For whoever releases a consumer: whether a ' +
        'deployment serves what its contract needs. Ends with status 0 for yes, 1 for no, 2 for what cannot be read, 3 if no gateway answers.',
    )
    .addOption(new Option('--document <file>', 'the document of the gateway to release').conflicts('to'))
    .option('--to <url>', 'the deployment that the consumers would call')
    .option('--from <file>', 'the document that consumers were tested with; by default that of this version')
    .addOption(contractsOption())
    .addOption(useOption())
    .addOption(databaseTag())
    .addOption(jsonOption())
    .addOption(junitOption())
    .addHelpText(
      'after',
      examples(
        'can-i-deploy --document new.json',
        'can-i-deploy --document new.json --contracts production/ --use use.jsonl',
        'can-i-deploy --to https://api.example.com --contracts shop-web.json',
      ),
    )
    .action(async (options: DeployOptions) => {
      const isAsked = !namesFiles(options);
      if (isAsked && options.document === undefined) {
        throw new CommandError('Say of whom: --contracts PATH, or --use FILE.', USAGE);
      }
      const consumers = isAsked ? await readDatabase(KEPT_DAYS, options.tag) : await readFiles(options);
      const { before, now } = await documentsOf(options, consumers.contracts);
      const broken = await report(impactOf(changesFor(before, now), consumers), consumers, options);
      const names = namesOf(consumers);
      note(broken === 0 ? `Yes: none of ${names.length} consumers breaks.` : `No: ${broken} changes break somebody.`);
      if (broken > 0) process.exitCode = BROKEN;
    });
