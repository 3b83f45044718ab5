import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename } from 'node:path';
import { Argument, Command, Option } from 'commander';
import { KEPT_DAYS } from '../../../consumers/use/days.ts';
import { readConsumerUses } from '../../../consumers/use/store.ts';
import { documented } from '../../../testkit/conformance/document/client-document.ts';
import { type Change, changesFor } from '../../../testkit/conformance/document/compare.ts';
import {
  type AffectedConsumer,
  type Impact,
  impactOf,
  type NamedUse,
  parseUses,
  UseError,
} from '../../../testkit/impact.ts';
import { withKeys } from '../access/keys-use.ts';
import { wholeNumberUpTo } from '../shared/arguments.ts';
import { CommandError, examples, readSettings, withDatabase } from '../shared/common.ts';
import { note, print, printable, printJsonLines } from '../shared/output.ts';
import { readDocument } from './verify.ts';

const USAGE = 2;
const BROKEN = 1;

interface ImpactOptions {
  use?: string;
  days: number;
  json?: true;
}

/** @throws CommandError */
const readUseFile = async (file: string): Promise<NamedUse[]> => {
  try {
    return parseUses(basename(file), await readFile(file, 'utf8'));
  } catch (error) {
    if (error instanceof UseError) throw new CommandError(error.message, USAGE);
    throw new CommandError(`${file} cannot be read: ${(error as Error).message}.`, USAGE);
  }
};

const changeText = ({ operation, where, expected, came }: Change): string =>
  `${operation}, ${where}: ${expected}, now ${came}`;

const affectedText = ({ consumer, key, clients, parts, lastDay }: AffectedConsumer): string =>
  [
    key ? `${consumer}, "${key.name}" of user ${key.userId}` : consumer,
    parts.length > 0 ? `last sent ${parts.join(' ')} on ${lastDay}` : `last called it on ${lastDay}`,
    ...(clients.length > 0 ? [`with ${clients.join(', ')}`] : []),
  ].join('; ');

const printImpacts = (impacts: readonly Impact[]): void => {
  for (const impact of impacts) {
    print(printable(`${impact.affected.length > 0 ? 'BREAKS' : 'nobody'}  ${changeText(impact)}`));
    for (const one of impact.affected) print(printable(`          ${affectedText(one)}`));
  }
};

/** `impact` */
export const impactCommand = (): Command =>
  new Command('impact')
    .summary('name whom a new document breaks')
    .description(
      'Compares two OpenAPI documents of the gateway, and names each change that may break clients with the consumers that ' +
        'used what it changes, from what a deployment has recorded. Ends with status 0 if nobody is broken, 1 if somebody is, ' +
        '2 for what cannot be read. What a consumer reads of a reply is not known: all callers of the operation are named.',
    )
    .addArgument(new Argument('<old>', 'the document that consumers use'))
    .addArgument(new Argument('[new]', 'the document that would take its place; by default that of this version'))
    .option('--use <file>', 'what a deployment wrote by `keys use --days 90 --json`, instead of what its database has')
    .addOption(
      new Option('--days <number>', 'the uses of so many days that the database has, today included')
        .argParser(wholeNumberUpTo(KEPT_DAYS))
        .default(KEPT_DAYS),
    )
    .option('--json', 'print one JSON object per change and line')
    .addHelpText('after', examples('impact old.json', 'impact old.json new.json --use use.jsonl'))
    .action(async (old: string, fresh: string | undefined, { use, days, json }: ImpactOptions) => {
      const before = await readDocument(old);
      const own = createRequire(import.meta.url)('#openapi/openapi.json') as object;
      const now = fresh === undefined ? documented('openapi.json', own) : await readDocument(fresh);
      const uses =
        use === undefined
          ? await withDatabase(readSettings(), async (db) =>
              withKeys(db, await readConsumerUses(db, { now: new Date(), days })),
            )
          : await readUseFile(use);
      const changes = changesFor(before, now);
      const impacts = impactOf(changes, uses);
      if (json) printJsonLines(impacts);
      else printImpacts(impacts);
      const broken = impacts.filter(({ affected }) => affected.length > 0).length;
      note(
        `Of ${changes.length} changes, ${broken} break somebody, ${impacts.length - broken} could but break nobody of ` +
          `${uses.length} consumers, and ${changes.length - impacts.length} break no client.`,
      );
      if (broken > 0) process.exitCode = BROKEN;
    });
