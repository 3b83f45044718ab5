import { createReadStream } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Argument, Command, Option } from 'commander';
import { boundedText } from '../../../../openapi/kit/conformance/http/remote.ts';
import { currentDate } from '../../../base/runtime.ts';
import {
  findContracts,
  type PassedOver,
  type PublishedContract,
  publishedContracts,
} from '../../../consumers/contracts/store.ts';
import { KEPT_DAYS } from '../../../consumers/use/days.ts';
import { readConsumerUses } from '../../../consumers/use/store.ts';
import type { Database } from '../../../db/database.ts';
import type { ClientDocument } from '../../../../openapi/kit/conformance/document/client-document.ts';
import type { Change } from '../../../../openapi/kit/conformance/document/change.ts';
import { changesFor } from '../../../../openapi/kit/conformance/document/compare.ts';
import {
  type ConsumerContract,
  ConsumerContractError,
  parseConsumerContract,
} from '../../../../contract/consumer-contract.ts';
import { type Consumers, impactOf } from '../../../../openapi/kit/consumers/impact.ts';
import { unknownParts } from '../../../../openapi/kit/consumers/needs.ts';
import { changesOf, junitOf, linesOf } from '../../../../openapi/kit/consumers/report.ts';
import { type NamedUse, parseUses, UseError } from '../../../../openapi/kit/consumers/uses.ts';
import { withKeys } from '../access/keys-use.ts';
import { parseBaseUrl, refuseRepeated, wholeNumberUpTo } from '../shared/arguments.ts';
import { CommandError, examples, readSettings, withDatabase } from '../shared/common.ts';
import { faultsOf } from '../shared/faults.ts';
import { note, print, printable, printJsonLines } from '../shared/output.ts';
import { assertReportFile, writeReport } from '../shared/report-file.ts';
import { fetchDocument, ownDocument, readDocument, releasedDocument, versionOf } from './documents.ts';

const BROKEN = 1;
const USAGE = 2;
const CANNOT_TELL = 4;

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
}

/** Tells why there is no yes even where no consumer is known to break. */
type Doubt = (why: string) => void;

/** Judges contracts by the documents that they were tested with: the one that is compared, or one that this package holds. */
class ByTestedVersion {
  readonly #question: Question;
  readonly #doubt: Doubt;
  readonly #changes = new Map<string, readonly Change[]>();
  /** The changes from the document that is compared. */
  readonly changes: readonly Change[];

  constructor(question: Question, doubt: Doubt) {
    this.#question = question;
    this.#doubt = doubt;
    this.changes = changesFor(question.before, question.now);
    this.#changes.set(versionOf(question.before), this.changes);
  }

  /** The document of a version; undefined where it is not at hand. */
  #documentOf(tested: string): ClientDocument | undefined {
    const { before, now } = this.#question;
    return [before, now, ownDocument()].find((one) => versionOf(one) === tested) ?? releasedDocument(tested);
  }

  /** The changes since the document that a contract was tested with. Doubts what it needs and no document has. */
  changesFor(contract: ConsumerContract): readonly Change[] {
    const { before, now } = this.#question;
    const { consumer, needs } = contract;
    // A build behind a plus sign has the document of its version.
    const [tested = ''] = contract.contract.split('+');
    const document = this.#documentOf(tested);
    if (!document)
      this.#doubt(`${consumer} was tested with ${tested}, whose document is not at hand: name it by --from`);
    if (needs.length === 0) this.#doubt(`${consumer} says of nothing that it needs it`);
    for (const part of unknownParts(contract, document ?? before, now)) {
      this.#doubt(`${consumer} needs ${part}, which neither document has`);
    }
    const known = this.#changes.get(tested) ?? (document ? changesFor(document, now) : this.changes);
    this.#changes.set(tested, known);
    return known;
  }
}

/** The contracts in the database with a tag. Doubts a tag that none has while others have others. */
async function* contractsTagged(
  db: Database,
  tag: string,
  { passOver, doubt }: { passOver: PassedOver; doubt: Doubt },
): AsyncGenerator<PublishedContract> {
  const tags = new Set((await findContracts(db, {})).map((one) => one.tag));
  if (tags.size > 0 && !tags.has(tag)) {
    doubt(`no contract has the tag ${tag}; there are contracts with ${[...tags].toSorted().join(', ')}`);
  }
  yield* publishedContracts(db, tag, passOver);
}

/** Whom the changes break, among those whom files name or the database has. `passOver` is told who of these counts for nothing. @throws CommandError */
const answerTo = async (
  question: Question,
  passOver: PassedOver,
  doubt: Doubt,
): Promise<Awaited<ReturnType<typeof impactOf>>> => {
  const { use, contracts = [], days, tag } = question;
  const judge = new ByTestedVersion(question, doubt);
  const judged = (consumers: Consumers) => impactOf(judge.changes, consumers, (contract) => judge.changesFor(contract));
  const counted = (uses: readonly NamedUse[]): NamedUse[] =>
    uses.filter(({ consumer, key }) => {
      if (key?.isSuspended) passOver({ userId: key.userId, consumer, tag }, 'suspended');
      return !key?.isSuspended;
    });
  if (namesFiles(question)) {
    const uses = use === undefined ? [] : await readWith(use, parseUses, (file) => readFile(file, 'utf8'));
    return judged({ uses: counted(uses), contracts: readContracts(contracts) });
  }
  try {
    return await withDatabase(readSettings(), async (db) =>
      judged({
        uses: counted(await withKeys(db, await readConsumerUses(db, { now: currentDate(), days }))),
        contracts: contractsTagged(db, tag, { passOver, doubt }),
      }),
    );
  } catch (error) {
    // Status 1 would name it a broken consumer.
    throw new CommandError(faultsOf(error).join('\n'), USAGE);
  }
};

/** The findings of a comparison: how many changes break a consumer, or may, and how many doubts there are. */
interface Findings {
  changes: number;
  broken: number;
  unknown: number;
  names: number;
  /** The reasons why there is no yes even where no consumer is known to break. */
  doubts: number;
}

/** Prints the changes that may break clients, with the consumers that they break, and sets the exit status. `known` are doubts. */
const report = async (question: Question, known: readonly string[] = []): Promise<Findings> => {
  const passed = { suspended: 0, unreadable: 0 };
  const passOver: PassedOver = ({ userId, consumer }, why) => {
    passed[why] += 1;
    if (why === 'unreadable') note(printable(`The contract of ${consumer} of user ${userId} cannot be read.`));
  };
  const doubts = new Set(known);
  await assertReportFile(question.junit);
  const { impacts, names } = await answerTo(question, passOver, (why) => doubts.add(why));
  await writeReport(question.junit, () => junitOf(impacts, names));
  const changes = changesOf(impacts);
  if (question.json) printJsonLines(impacts);
  else for (const change of changes) for (const line of linesOf(change)) print(printable(line));
  if (passed.suspended > 0)
    note(`Contracts and uses of suspended users, which count for nothing: ${passed.suspended}.`);
  const unnamed = new Set(impacts.flatMap(({ anonymous }) => anonymous.map(({ consumer }) => consumer)));
  if (unnamed.size > 0)
    note(`Clients of anonymous callers, which count for nothing, since anyone can name one: ${unnamed.size}.`);
  if (names.length === 0 && !question.allowNone) doubts.add('there is no consumer: --allow-none takes that for a yes');
  const broken = changes.filter(({ verdict }) => verdict === 'BREAKS').length;
  const unknown = changes.filter(({ verdict }) => verdict === 'unsure').length;
  if (broken === 0 && passed.unreadable > 0) throw new CommandError('What cannot be read is no yes.', USAGE);
  for (const doubt of doubts) note(printable(`Cannot tell: ${doubt}.`));
  if (broken > 0) process.exitCode = BROKEN;
  else if (unknown > 0 || doubts.size > 0) {
    if (question.allowUnknown) note('PASSES WITHOUT A YES, as --allow-unknown says.');
    else process.exitCode = CANNOT_TELL;
  }
  return { changes: changes.length, broken, unknown, names: names.length, doubts: doubts.size };
};

const LISTS = ['--contracts'];
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

/** Why an answer would say nothing: a document is compared with itself. */
const SAME =
  'is the document that it would be compared with: --from FILE names the one that consumers were tested with';

/** `impact` */
export const impactCommand = (): Command =>
  refuseRepeated(
    new Command('impact')
      .summary('name whom a new document breaks')
      .description(
        'Compares two OpenAPI documents of the gateway, and names each change that may break clients with the consumers that ' +
          'it breaks: by what a deployment has recorded, and by their contracts. Ends with status 0 if nobody is broken, 1 if ' +
          'somebody is, 2 for what cannot be read or written, 4 where it cannot tell. What was recorded does not tell what a ' +
          'consumer reads of a reply: all callers of the operation are named.',
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
        const { changes, broken, unknown, names } = await report({ ...options, before, now });
        note(
          `Of ${changes} changes, ${broken} break somebody of ${names} consumers, ${unknown} may, and ${changes - broken - unknown} break nobody.`,
        );
      }),
    LISTS,
  );

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

/** Whether a document that was to be released is the very one that it is compared with. */
const isSame = ({ document, from }: DeployOptions, { before, now }: Pick<Question, 'before' | 'now'>): boolean =>
  document !== undefined &&
  (from === undefined ? isDeepStrictEqual(before.document, now.document) : resolve(from) === resolve(document));

/** `can-i-deploy` */
export const canIDeployCommand = (): Command =>
  refuseRepeated(
    new Command('can-i-deploy')
      .summary('say whether a release breaks a consumer')
      .description(
        'For whoever releases the gateway: whether a document breaks consumers, by their contracts and by what the ' +
          'deployment has recorded; without files, it asks the database for both. For whoever releases a consumer: whether a ' +
          'deployment serves what its contract needs. Ends with status 0 for yes, 1 for no, 2 for what cannot be read or ' +
          'written, 3 if no gateway answers, 4 where it cannot tell.',
      )
      .addOption(new Option('--document <file>', 'the document of the gateway to release').conflicts('to'))
      .option('--to <url>', 'the deployment that the consumers would call', parseBaseUrl)
      .option(
        '--from <file>',
        'the document that consumers were tested with; by default that of this version. A contract that names an earlier release is compared with the document of that',
      )
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
        const documents = await documentsOf(options);
        const doubts = isSame(options, documents) ? [`${String(options.document)} ${SAME}`] : [];
        const found = await report({ ...options, ...documents, days: KEPT_DAYS }, doubts);
        const { broken, unknown, names } = found;
        if (broken > 0) note(`No: ${broken} changes break somebody.`);
        else if (unknown + found.doubts > 0) note(`Cannot tell: ${unknown + found.doubts} reasons stand above.`);
        else note(`Yes: none of ${names} consumers breaks.`);
      }),
    LISTS,
  );
