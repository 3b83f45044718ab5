import { createReadStream } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { Argument, Command, Option } from 'commander';
import { ask, boundedText } from '../../../testkit/conformance/http/remote.ts';
import { currentDate } from '../../../base/runtime.ts';
import { version } from '../../../base/version.ts';
import { type PassedOver, publishedContracts } from '../../../consumers/contracts/store.ts';
import { KEPT_DAYS } from '../../../consumers/use/days.ts';
import { readConsumerUses } from '../../../consumers/use/store.ts';
import {
  type ClientDocument,
  documented,
  parseDocument,
} from '../../../testkit/conformance/document/client-document.ts';
import { type Change, changesFor } from '../../../testkit/conformance/document/compare.ts';
import {
  type ConsumerContract,
  ConsumerContractError,
  parseConsumerContract,
} from '../../../../contract/consumer-contract.ts';
import { impactOf } from '../../../testkit/consumers/impact.ts';
import { affectedText, changeText, junitOf } from '../../../testkit/consumers/report.ts';
import { type NamedUse, parseUses, UseError } from '../../../testkit/consumers/uses.ts';
import { withKeys } from '../access/keys-use.ts';
import { parseBaseUrl, wholeNumberUpTo } from '../shared/arguments.ts';
import { CommandError, examples, readSettings, withDatabase } from '../shared/common.ts';
import { faultsOf } from '../shared/faults.ts';
import { note, print, printable, printJsonLines } from '../shared/output.ts';
import { assertReportFile, writeReport } from '../shared/report-file.ts';
import { readDocument } from './verify.ts';

const BROKEN = 1;
const USAGE = 2;
const NO_GATEWAY = 3;
const TIMEOUT_MS = 10_000;

/** The document of this version. */
const ownDocument = (): ClientDocument =>
  documented('openapi.json', createRequire(import.meta.url)('#openapi/openapi.json') as object);

/** Reads a file. @throws CommandError */
const readWith = async <T>(
  file: string,
  parse: (name: string, text: string) => T,
  read: (file: string) => Promise<string> = (path) => boundedText(createReadStream(path)),
): Promise<T> => {
  try {
    return parse(basename(file), await read(file));
  } catch (error) {
    if (error instanceof UseError || error instanceof ConsumerContractError)
      throw new CommandError(error.message, USAGE);
    throw new CommandError(`${file} cannot be read: ${(error as Error).message}.`, USAGE);
  }
};

/** The contracts in files, and in the folders among them, one by one. @throws CommandError */
export async function* readContracts(paths: readonly string[]): AsyncGenerator<ConsumerContract> {
  for (const path of paths) {
    const isFolder = await stat(path).then(
      (found) => found.isDirectory(),
      () => false,
    );
    const names = isFolder ? (await readdir(path)).filter((name) => name.endsWith('.json')).toSorted() : undefined;
    if (names?.length === 0) throw new CommandError(`${path} has no .json file.`, USAGE);
    for (const file of names?.map((name) => join(path, name)) ?? [path]) {
      yield await readWith(file, parseConsumerContract);
    }
  }
}

/** The document that a gateway publishes. @throws CommandError */
const fetchDocument = async (url: string): Promise<ClientDocument> => {
  const address = `${url}/openapi.json`;
  try {
    const { status, isOk, text } = await ask(address, TIMEOUT_MS);
    if (!isOk) throw new Error(`status ${status}`);
    return parseDocument(address, text);
  } catch (error) {
    const words = `There is no gateway's document at ${address}: ${(error as Error).message}`;
    throw new CommandError(printable(words), NO_GATEWAY);
  }
};

/** The files that say what consumers use and need. Without any, the database says it. */
interface FileOptions {
  use?: string;
  contracts?: string[];
}

const namesFiles = ({ use, contracts }: FileOptions): boolean => use !== undefined || contracts !== undefined;

interface Output {
  json?: true;
  junit?: string;
}

/** The changes, the consumers that are asked about, and the form of the answer. */
interface Question extends FileOptions, Output {
  changes: readonly Change[];
  days: number;
  tag: string;
  /** The version that all contracts must have been tested with; undefined for any. */
  testedWith?: string | undefined;
}

async function* allTestedWith(
  wanted: string,
  contracts: AsyncIterable<ConsumerContract>,
): AsyncGenerator<ConsumerContract> {
  for await (const contract of contracts) {
    if (contract.contract !== wanted) {
      throw new CommandError(
        `${contract.consumer} was tested with ${contract.contract}, and this is ${wanted}: name the document of that with --from.`,
        USAGE,
      );
    }
    yield contract;
  }
}

/** Whom the changes break, among those whom files name or the database has. `passOver` is told who of these counts for nothing. @throws CommandError */
const answerTo = async (
  { changes, use, contracts = [], days, tag, testedWith }: Question,
  passOver: PassedOver,
  isAsked: boolean,
): ReturnType<typeof impactOf> => {
  const counted = (uses: readonly NamedUse[]): NamedUse[] =>
    uses.filter(({ consumer, key }) => {
      if (key?.isSuspended) passOver({ userId: key.userId, consumer, tag }, 'suspended');
      return !key?.isSuspended;
    });
  if (!isAsked) {
    const read = readContracts(contracts);
    return impactOf(changes, {
      uses: use === undefined ? [] : counted(await readWith(use, parseUses, (file) => readFile(file, 'utf8'))),
      contracts: testedWith === undefined ? read : allTestedWith(testedWith, read),
    });
  }
  try {
    return await withDatabase(readSettings(), async (db) =>
      impactOf(changes, {
        uses: counted(await withKeys(db, await readConsumerUses(db, { now: currentDate(), days }))),
        contracts: publishedContracts(db, tag, passOver),
      }),
    );
  } catch (error) {
    // Status 1 would name it a broken consumer.
    throw new CommandError(faultsOf(error).join('\n'), USAGE);
  }
};

/** Prints the changes that may break clients, with the consumers that they break. Returns how many break one, and how many do not. */
const report = async (question: Question): Promise<{ broken: number; rest: number; names: number }> => {
  const passed = { suspended: 0, unreadable: 0 };
  const passOver: PassedOver = ({ userId, consumer }, why) => {
    passed[why] += 1;
    if (why === 'unreadable') note(printable(`The contract of ${consumer} of user ${userId} cannot be read.`));
  };
  await assertReportFile(question.junit);
  const { impacts, names } = await answerTo(question, passOver, !namesFiles(question));
  await writeReport(question.junit, () => junitOf(impacts, names));
  if (question.json) printJsonLines(impacts);
  else {
    for (const impact of impacts) {
      print(printable(`${impact.affected.length > 0 ? 'BREAKS' : 'nobody'}  ${changeText(impact)}`));
      for (const one of impact.affected) print(printable(`          ${affectedText(one)}`));
      for (const one of impact.anonymous) print(printable(`          (anonymous: ${affectedText(one)})`));
    }
  }
  if (passed.suspended > 0)
    note(`Contracts and uses of suspended users, which count for nothing: ${passed.suspended}.`);
  const unnamed = new Set(impacts.flatMap(({ anonymous }) => anonymous.map(({ consumer }) => consumer)));
  if (unnamed.size > 0)
    note(`Clients of anonymous callers, which count for nothing, since anyone can name one: ${unnamed.size}.`);
  const broken = impacts.filter(({ affected }) => affected.length > 0).length;
  if (broken > 0) process.exitCode = BROKEN;
  else if (passed.unreadable > 0) {
    throw new CommandError('What cannot be read is no yes.', USAGE);
  }
  return { broken, rest: impacts.length - broken, names: names.length };
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
        'somebody is, 2 for what cannot be read or written. What was recorded does not tell what a consumer reads of a reply: all ' +
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
    .action(async (old: string, fresh: string | undefined, options: ImpactOptions) => {
      const changes = changesFor(
        await readDocument(old),
        fresh === undefined ? ownDocument() : await readDocument(fresh),
      );
      const { broken, rest, names } = await report({ ...options, changes });
      note(
        `Of ${changes.length} changes, ${broken} break somebody, ${rest} could but break nobody of ` +
          `${names} consumers, and ${changes.length - broken - rest} break no client.`,
      );
    });

interface DeployOptions extends FileOptions, Output {
  document?: string;
  to?: string;
  from?: string;
  tag: string;
}

/** The documents of what is deployed, and of what would be. @throws CommandError */
const documentsOf = async ({ document, to, from }: DeployOptions) => {
  const before = from === undefined ? ownDocument() : await readDocument(from);
  if (document !== undefined) return { before, now: await readDocument(document) };
  if (to !== undefined) return { before, now: await fetchDocument(to) };
  throw new CommandError('Say what would be deployed: --document FILE, or --to URL.', USAGE);
};

/** `can-i-deploy` */
export const canIDeployCommand = (): Command =>
  new Command('can-i-deploy')
    .summary('say whether a release breaks a consumer')
    .description(
      'For whoever releases the gateway: whether a document breaks consumers, by their contracts and by what the ' +
        'deployment has recorded; without files, it asks the database for both. For whoever releases a consumer: whether a ' +
        'deployment serves what its contract needs. Ends with status 0 for yes, 1 for no, 2 for what cannot be read or written, 3 if no gateway answers.',
    )
    .addOption(new Option('--document <file>', 'the document of the gateway to release').conflicts('to'))
    .option('--to <url>', 'the deployment that the consumers would call', parseBaseUrl)
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
      if (!namesFiles(options) && options.document === undefined) {
        throw new CommandError('Say of whom: --contracts PATH, or --use FILE.', USAGE);
      }
      const { before, now } = await documentsOf(options);
      const testedWith = options.document === undefined && options.from === undefined ? version : undefined;
      const changes = changesFor(before, now);
      const { broken, names } = await report({ ...options, changes, days: KEPT_DAYS, testedWith });
      note(broken === 0 ? `Yes: none of ${names} consumers breaks.` : `No: ${broken} changes break somebody.`);
    });
