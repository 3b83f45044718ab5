import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { counted } from '../../../../contract/text.ts';
import { currentDate } from '../../../base/runtime.ts';
import {
  findContracts,
  type PassedOver,
  type PublishedContract,
  publishedContracts,
} from '../../../consumers/contracts/store.ts';
import { KEPT_DAYS, readConsumerUses } from '../../../consumers/use/store.ts';
import type { Database } from '../../../db/database.ts';
import type { ClientDocument } from '../../../../openapi/kit/conformance/document/client-document.ts';
import type { Change } from '../../../../openapi/kit/conformance/document/change.ts';
import { changesFor } from '../../../../openapi/kit/conformance/document/compare.ts';
import type { ConsumerContract } from '../../../../contract/consumer-contract.ts';
import { type Consumers, impactOf } from '../../../../openapi/kit/consumers/impact.ts';
import { unknownParts } from '../../../../openapi/kit/consumers/needs.ts';
import { changesOf, junitOf, linesOf } from '../../../../openapi/kit/consumers/report.ts';
import { type NamedUse, parseUses } from '../../../../openapi/kit/consumers/uses.ts';
import { withKeys } from '../access/keys-use.ts';
import { parseBaseUrl, wholeNumberUpTo } from '../shared/arguments.ts';
import { argument, command, defaulted, flag, type Given, option, optionList } from '../shared/command.ts';
import { CommandError, faultsOf, readSettings, USAGE, withDatabase } from '../shared/common.ts';
import { note, print, printable, printJsonLines } from '../shared/output.ts';
import { assertReportFile, writeReport } from '../shared/report-file.ts';
import {
  fetchDocument,
  ownDocument,
  readContracts,
  readDocument,
  readWith,
  releasedDocument,
  tagOption,
  versionOf,
} from './documents.ts';

const BROKEN = 1;
const CANNOT_TELL = 4;

/** The files that list the uses and needs of consumers. Without any, the database provides them. */
const use = option('<file>', 'what a deployment wrote by `keys use --days 90 --json`');
const contracts = optionList('<path>', 'contracts of consumers: a file, or a folder of them; may be repeated');

/** Options for the form and the strictness of the answer. */
const output = {
  tag: tagOption('without either: the contracts in the database that have this tag'),
  json: flag('print one JSON object per change and line'),
  junit: option('<file>', 'also write JUnit XML, with a case for each consumer'),
  allowUnknown: flag('end with status 0, too, where it cannot tell whether a consumer breaks'),
  allowNone: flag('take it for a yes that there is no consumer'),
};

interface FileOptions {
  use: string | undefined;
  contracts: string[] | undefined;
}

const namesFiles = (files: FileOptions): boolean => files.use !== undefined || files.contracts !== undefined;

/** The compared documents, the consumers in question, and the form of the answer. */
interface Question extends FileOptions, Given<typeof output> {
  before: ClientDocument;
  now: ClientDocument;
  days: number;
}

/** Records a reason why the answer is not yes although no consumer is known to break. */
type Doubt = (why: string) => void;

/** Judges each contract by the document that it was tested with: the compared one, or one of this package. */
class ByTestedVersion {
  readonly #question: Question;
  readonly #doubt: Doubt;
  readonly #changes = new Map<string, readonly Change[]>();
  /** The changes since the compared document. */
  readonly changes: readonly Change[];

  constructor(question: Question, doubt: Doubt) {
    this.#question = question;
    this.#doubt = doubt;
    this.changes = changesFor(question.before, question.now);
    this.#changes.set(versionOf(question.before), this.changes);
  }

  /** The document of a version; undefined if it is missing here. */
  #documentOf(tested: string): ClientDocument | undefined {
    const { before, now } = this.#question;
    return [before, now, ownDocument()].find((one) => versionOf(one) === tested) ?? releasedDocument(tested);
  }

  /** Returns the changes since the document that a contract was tested with. Doubts needs that no document has. */
  changesFor(contract: ConsumerContract): readonly Change[] {
    const { before, now } = this.#question;
    const { consumer, needs } = contract;
    // A build, marked by a plus sign, has the document of its version.
    const [tested = ''] = contract.contract.split('+');
    const document = this.#documentOf(tested);
    if (!document)
      this.#doubt(`${consumer} was tested with ${tested}, whose document is not at hand: name it by --from`);
    if (needs.length === 0) this.#doubt(`${consumer} has a contract without needs`);
    for (const part of unknownParts(contract, document ?? before, now)) {
      this.#doubt(`${consumer} needs ${part}, which neither document has`);
    }
    const known = this.#changes.get(tested) ?? (document ? changesFor(document, now) : this.changes);
    this.#changes.set(tested, known);
    return known;
  }
}

/** Yields the contracts in the database with a tag. Doubts a tag that none has while others have tags. */
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

/** Finds broken consumers in files or the database. Calls `passOver` for uncounted ones. @throws CommandError */
const answerTo = async (
  question: Question,
  passOver: PassedOver,
  doubt: Doubt,
): Promise<Awaited<ReturnType<typeof impactOf>>> => {
  const { days, tag } = question;
  const judge = new ByTestedVersion(question, doubt);
  const judged = (consumers: Consumers) => impactOf(judge.changes, consumers, (contract) => judge.changesFor(contract));
  const ofActive = (uses: readonly NamedUse[]): NamedUse[] =>
    uses.filter(({ consumer, key }) => {
      if (key?.isSuspended) passOver({ userId: key.userId, consumer, tag }, 'suspended');
      return !key?.isSuspended;
    });
  if (namesFiles(question)) {
    const uses =
      question.use === undefined ? [] : await readWith(question.use, parseUses, (file) => readFile(file, 'utf8'));
    return judged({ uses: ofActive(uses), contracts: readContracts(question.contracts ?? []) });
  }
  try {
    return await withDatabase(readSettings(), async (db) =>
      judged({
        uses: ofActive(await withKeys(db, await readConsumerUses(db, { now: currentDate(), days }))),
        contracts: contractsTagged(db, tag, { passOver, doubt }),
      }),
    );
  } catch (error) {
    // Status 1 would mean a broken consumer.
    throw new CommandError(faultsOf(error).join('\n'), USAGE);
  }
};

/** The findings of a comparison: how many changes break a consumer, or may, and how many doubts exist. */
interface Findings {
  changes: number;
  broken: number;
  unknown: number;
  names: number;
  /** The number of reasons why the answer is not yes although no consumer is known to break. */
  doubts: number;
}

/** Prints changes that may break clients, and whom they break; sets the exit status. `known` are doubts. */
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
  if (broken === 0 && passed.unreadable > 0) throw new CommandError('A contract that cannot be read is no yes.', USAGE);
  for (const doubt of doubts) note(printable(`Cannot tell: ${doubt}.`));
  if (broken > 0) process.exitCode = BROKEN;
  else if (unknown > 0 || doubts.size > 0) {
    if (question.allowUnknown) note('PASSES WITHOUT A YES, as --allow-unknown says.');
    else process.exitCode = CANNOT_TELL;
  }
  return { changes: changes.length, broken, unknown, names: names.length, doubts: doubts.size };
};

/** The doubt about a document that is compared with itself: the answer would say nothing. */
const SAME =
  'is the document that it would be compared with: --from FILE names the one that consumers were tested with';

export const impactCommand = command({
  summary: 'name whom a new document breaks',
  description:
    'Compares two OpenAPI documents of the gateway, and names each change that may break clients with the consumers that ' +
    'it breaks: by what a deployment has recorded, and by their contracts. Ends with status 0 if no consumer breaks, 1 if ' +
    'one does, 2 if a file cannot be read or written, 4 where it cannot tell. Recorded calls do not show the members of a ' +
    'reply that a consumer reads: all callers of the operation are named.',
  input: {
    old: argument('<old>', 'the document that consumers use'),
    fresh: argument<string | undefined>(
      '[new]',
      'the document that would take its place; by default that of this version',
    ),
    use,
    contracts,
    days: defaulted('<number>', 'without either: the uses of so many days in the database, today included', KEPT_DAYS, {
      parse: wholeNumberUpTo(KEPT_DAYS),
    }),
    ...output,
  },
  examples: ['old.json', 'old.json new.json --use use.jsonl --contracts consumers/'],
  refusesRepeated: true,
  run: async ({ old, fresh, ...options }) => {
    const before = await readDocument(old);
    const now = fresh === undefined ? ownDocument() : await readDocument(fresh);
    const { changes, broken, unknown, names } = await report({ ...options, before, now });
    note(
      `${counted(changes, 'change')}, ${counted(names, 'consumer')}: ${counted(broken, 'change breaks', 'changes break')} a consumer, ` +
        `${unknown} may, and ${counted(changes - broken - unknown, 'breaks', 'break')} none.`,
    );
  },
});

interface Deployment {
  document: string | undefined;
  to: string | undefined;
  from: string | undefined;
}

/** The deployed document, and the document to be deployed. @throws CommandError */
const documentsOf = async ({ document, to, from }: Deployment) => {
  const before = from === undefined ? ownDocument() : await readDocument(from);
  if (document !== undefined) return { before, now: await readDocument(document) };
  if (to !== undefined) return { before, now: await fetchDocument(to) };
  throw new CommandError('Say what would be deployed: --document FILE, or --to URL.', USAGE);
};

/** Whether the document to be released is compared with itself. */
const isSame = ({ document, from }: Deployment, { before, now }: Pick<Question, 'before' | 'now'>): boolean =>
  document !== undefined &&
  (from === undefined ? isDeepStrictEqual(before.document, now.document) : resolve(from) === resolve(document));

export const canIDeployCommand = command({
  summary: 'say whether a release breaks a consumer',
  description:
    'For a release of the gateway: whether a document breaks consumers, by their contracts and by what the ' +
    'deployment has recorded; without files, it asks the database for both. For a release of a consumer: whether a ' +
    'deployment serves what its contract needs. Ends with status 0 for yes, 1 for no, 2 for what cannot be read or ' +
    'written, 3 if no gateway answers, 4 where it cannot tell.',
  input: {
    document: option('<file>', 'the document of the gateway to release', { conflicts: ['to'] }),
    to: option('<url>', 'the deployment that the consumers would call', parseBaseUrl),
    from: option(
      '<file>',
      'the document that consumers were tested with; by default that of this version. A contract that names an earlier release is compared with the document of that',
    ),
    contracts,
    use,
    ...output,
  },
  examples: [
    '--document new.json',
    '--document new.json --contracts production/ --use use.jsonl',
    '--to https://api.example.com --contracts shop-web.json',
  ],
  refusesRepeated: true,
  run: async (options) => {
    if (!namesFiles(options) && options.document === undefined) {
      throw new CommandError('Say of whom: --contracts PATH, or --use FILE.', USAGE);
    }
    const documents = await documentsOf(options);
    const known = isSame(options, documents) ? [`${String(options.document)} ${SAME}`] : [];
    const { broken, unknown, names, doubts } = await report({ ...options, ...documents, days: KEPT_DAYS }, known);
    if (broken > 0) note(`No: ${counted(broken, 'change breaks', 'changes break')} a consumer.`);
    else if (unknown + doubts > 0) note(`Cannot tell: ${counted(unknown + doubts, 'reason is', 'reasons are')} above.`);
    else note(names === 1 ? 'Yes: the one consumer does not break.' : `Yes: none of ${names} consumers breaks.`);
  },
});
