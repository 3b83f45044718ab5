import { createReadStream } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { Argument, Command, Option } from 'commander';
import { ask, boundedText } from '../../../testkit/conformance/http/remote.ts';
import { valueAt } from '../../../testkit/conformance/values.ts';
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
import { changesFor } from '../../../testkit/conformance/document/compare.ts';
import {
  type ConsumerContract,
  ConsumerContractError,
  parseConsumerContract,
} from '../../../../contract/consumer-contract.ts';
import { type Impact, impactOf, isBroken, isUnknown } from '../../../testkit/consumers/impact.ts';
import { unknownParts } from '../../../testkit/consumers/needs.ts';
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
const CANNOT_TELL = 4;
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
  allowUnknown?: true;
  allowNone?: true;
}

/** The documents that are compared, the consumers that are asked about, and the form of the answer. */
interface Question extends FileOptions, Output {
  before: ClientDocument;
  now: ClientDocument;
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

/** The contracts; tells of each what it needs that no document has. */
async function* examined<Contract extends ConsumerContract>(
  contracts: Iterable<Contract> | AsyncIterable<Contract>,
  { before, now }: Pick<Question, 'before' | 'now'>,
  doubt: (why: string) => void,
): AsyncGenerator<Contract> {
  for await (const contract of contracts) {
    for (const part of unknownParts(contract, before, now)) {
      doubt(`${contract.consumer} needs ${part}, which neither document has`);
    }
    if (contract.needs.length === 0) doubt(`${contract.consumer} says of nothing that it needs it`);
    if (!isTestedWith(contract.contract, before)) {
      doubt(`${contract.consumer} was tested with ${contract.contract}, and this compares with ${versionOf(before)}`);
    }
    yield contract;
  }
}

const versionOf = ({ document }: ClientDocument): string => String(valueAt(document, ['info', 'version']));

/** Whether the needs of a contract were met by a document, or by an earlier one of the same first number. */
const isTestedWith = (tested: string, { document }: ClientDocument): boolean => {
  const version = String(valueAt(document, ['info', 'version']));
  const isVersion = /^\d+\.\d+\.\d+/.test(tested);
  return (
    isVersion &&
    tested.split('.')[0] === version.split('.')[0] &&
    tested.localeCompare(version, 'en', { numeric: true }) <= 0
  );
};

/** Whom the changes break, among those whom files name or the database has. `passOver` is told who of these counts for nothing. @throws CommandError */
const answerTo = async (
  { before, now, use, contracts = [], days, tag, testedWith }: Question,
  passOver: PassedOver,
  isAsked: boolean,
  doubt: (why: string) => void,
): Promise<Awaited<ReturnType<typeof impactOf>> & { changes: number }> => {
  const changes = changesFor(before, now);
  const counted = (uses: readonly NamedUse[]): NamedUse[] =>
    uses.filter(({ consumer, key }) => {
      if (key?.isSuspended) passOver({ userId: key.userId, consumer, tag }, 'suspended');
      return !key?.isSuspended;
    });
  if (!isAsked) {
    const read = readContracts(contracts);
    const found = await impactOf(changes, {
      uses: use === undefined ? [] : counted(await readWith(use, parseUses, (file) => readFile(file, 'utf8'))),
      contracts: examined(testedWith === undefined ? read : allTestedWith(testedWith, read), { before, now }, doubt),
    });
    return { ...found, changes: changes.length };
  }
  try {
    const found = await withDatabase(readSettings(), async (db) =>
      impactOf(changes, {
        uses: counted(await withKeys(db, await readConsumerUses(db, { now: currentDate(), days }))),
        contracts: examined(publishedContracts(db, tag, passOver), { before, now }, doubt),
      }),
    );
    return { ...found, changes: changes.length };
  } catch (error) {
    // Status 1 would name it a broken consumer.
    throw new CommandError(faultsOf(error).join('\n'), USAGE);
  }
};

/** What a comparison found: how many changes break somebody, or may, and what else cannot be told. */
interface Findings {
  changes: number;
  broken: number;
  unknown: number;
  harmless: number;
  names: number;
  /** Why there is no yes even where nobody is known to break. */
  doubts: string[];
}

const verdictOf = (impact: Impact): string => (isBroken(impact) ? 'BREAKS' : isUnknown(impact) ? 'unsure' : 'nobody');

/** Prints the changes that may break clients, with the consumers that they break. */
const report = async (question: Question): Promise<Findings> => {
  const passed = { suspended: 0, unreadable: 0 };
  const passOver: PassedOver = ({ userId, consumer }, why) => {
    passed[why] += 1;
    if (why === 'unreadable') note(printable(`The contract of ${consumer} of user ${userId} cannot be read.`));
  };
  const doubts: string[] = [];
  await assertReportFile(question.junit);
  const { impacts, names, changes } = await answerTo(question, passOver, !namesFiles(question), (doubt) =>
    doubts.push(doubt),
  );
  await writeReport(question.junit, () => junitOf(impacts, names));
  if (question.json) printJsonLines(impacts);
  else {
    for (const impact of impacts) {
      print(printable(`${verdictOf(impact)}  ${changeText(impact)}`));
      for (const one of impact.affected) print(printable(`          ${affectedText(one)}`));
      for (const one of impact.anonymous) print(printable(`          (anonymous: ${affectedText(one)})`));
    }
  }
  if (passed.suspended > 0)
    note(`Contracts and uses of suspended users, which count for nothing: ${passed.suspended}.`);
  const unnamed = new Set(impacts.flatMap(({ anonymous }) => anonymous.map(({ consumer }) => consumer)));
  if (unnamed.size > 0)
    note(`Clients of anonymous callers, which count for nothing, since anyone can name one: ${unnamed.size}.`);
  const broken = impacts.filter(isBroken).length;
  const unknown = impacts.filter(isUnknown).length;
  if (names.length === 0 && !question.allowNone) doubts.push('there is no consumer: --allow-none takes that for a yes');
  if (broken === 0 && passed.unreadable > 0) throw new CommandError('What cannot be read is no yes.', USAGE);
  for (const doubt of doubts) note(printable(`Cannot tell: ${doubt}.`));
  if (broken > 0) process.exitCode = BROKEN;
  else if (unknown > 0 || doubts.length > 0) {
    if (question.allowUnknown) note('PASSES WITHOUT A YES, as --allow-unknown says.');
    else process.exitCode = CANNOT_TELL;
  }
  return { changes, broken, unknown, harmless: changes - broken - unknown, names: names.length, doubts };
};

const listed = (value: string, earlier: readonly string[] = []): string[] => [...earlier, value];
const jsonOption = (): Option => new Option('--json', 'print one JSON object per change and line');
const junitOption = (): Option => new Option('--junit <file>', 'also write JUnit XML, with a case for each consumer');
const allowUnknownOption = (): Option =>
  new Option('--allow-unknown', 'end with status 0, too, where it cannot be told whether somebody breaks');
const allowNoneOption = (): Option => new Option('--allow-none', 'take it for a yes that there is no consumer');
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
        'somebody is, 2 for what cannot be read or written, 4 where it cannot tell. What was recorded does not tell what a consumer reads of a reply: all ' +
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
    .addOption(allowUnknownOption())
    .addOption(allowNoneOption())
    .addHelpText(
      'after',
      examples('impact old.json', 'impact old.json new.json --use use.jsonl --contracts consumers/'),
    )
    .action(async (old: string, fresh: string | undefined, options: ImpactOptions) => {
      const before = await readDocument(old);
      const now = fresh === undefined ? ownDocument() : await readDocument(fresh);
      const { changes, broken, unknown, harmless, names } = await report({ ...options, before, now });
      note(
        `Of ${changes} changes, ${broken} break somebody of ${names} consumers, ${unknown} may, and ${harmless} break nobody.`,
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
        'deployment serves what its contract needs. Ends with status 0 for yes, 1 for no, 2 for what cannot be read or written, 3 if no gateway answers, 4 where it cannot tell.',
    )
    .addOption(new Option('--document <file>', 'the document of the gateway to release').conflicts('to'))
    .option('--to <url>', 'the deployment that the consumers would call', parseBaseUrl)
    .option('--from <file>', 'the document that consumers were tested with; by default that of this version')
    .addOption(contractsOption())
    .addOption(useOption())
    .addOption(databaseTag())
    .addOption(jsonOption())
    .addOption(junitOption())
    .addOption(allowUnknownOption())
    .addOption(allowNoneOption())
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
      const { broken, unknown, names, doubts } = await report({ ...options, before, now, days: KEPT_DAYS, testedWith });
      if (broken > 0) note(`No: ${broken} changes break somebody.`);
      else if (unknown + doubts.length > 0) note(`Cannot tell: ${unknown + doubts.length} reasons stand above.`);
      else note(`Yes: none of ${names} consumers breaks.`);
    });
