import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { InvalidArgumentError } from 'commander';
import { counted } from '../../../../contract/text.ts';
import { performance } from '../../../base/runtime.ts';
import { operations } from '../../../../contract/index.ts';
import { keyOf } from '../../../auth/format.ts';
import { Unusable } from '../../../../openapi/kit/conformance/caller.ts';
import { unprovoked } from '../../../../openapi/kit/conformance/checks/refusals.ts';
import { SERVICE } from '../../../../openapi/kit/conformance/check.ts';
import { Unreachable } from '../../../../openapi/kit/conformance/http/base.ts';
import {
  changeLines,
  countOf,
  failureLines,
  HEADINGS,
  rowsOf,
  skipLines,
  summaryOf,
} from '../../../../openapi/kit/conformance/report/text.ts';
import { jsonOf } from '../../../../openapi/kit/conformance/report/json.ts';
import { junitOf } from '../../../../openapi/kit/conformance/report/junit.ts';
import { anySeed, SeededRandom, SEEDS } from '../../../../openapi/kit/conformance/seed.ts';
import { type VerifyRun, verify } from '../../../../openapi/kit/conformance/verify.ts';
import { keyOption, listOf, parseBaseUrl, wholeNumberUpTo } from '../shared/arguments.ts';
import { argument, command, defaulted, flag, type Given, option } from '../shared/command.ts';
import { CommandError, NO_GATEWAY, PROGRAM, USAGE } from '../shared/common.ts';
import { note, print, printable, printTable } from '../shared/output.ts';
import { withProgress } from '../shared/progress.ts';
import { assertReportFile, writeReport } from '../shared/report-file.ts';
import { readDocument } from './documents.ts';
import { RateLimitNotice } from './rate-limit-notice.ts';

const ORIGIN = 'https://verify.example.com';
const FAILED = 1;

const subjects = [SERVICE, ...operations.map(({ id }) => id)];

const parseOrigin = (text: string): string => {
  if (URL.canParse(text) && new URL(text).origin === text) return text;
  throw new InvalidArgumentError('It must be an origin such as https://app.example.com.');
};

const input = {
  baseUrl: argument(
    '<base-url>',
    'the address of the deployment, such as https://api.example.com; that of its docs, document or API will do, too',
    parseBaseUrl,
  ),
  key: keyOption('an API key; one with every scope checks the most.'),
  readOnly: flag('change nothing, and leave the key out of calls that write'),
  strict: flag('fail if replies or the document hold anything that this contract does not know'),
  only: option('<list>', 'check only these operations, comma-separated, such as game.list', listOf(subjects)),
  document: option(
    '<file>',
    'also check for a client that was generated from this OpenAPI document (JSON): what breaks the client is a ' +
      'fault; what is new to it is listed',
  ),
  maxSkipped: option('<n>', 'fail if more checks than this are skipped', wholeNumberUpTo(Number.MAX_SAFE_INTEGER)),
  cleanup: option(
    '<command>',
    'afterwards, run this with sh to remove the records of the run, named in $VERIFY_RUN; fail if any are left',
  ),
  receiver: option(
    '<port>',
    'receive webhooks at this port of 127.0.0.1, and check them; the deployment must allow it by WEBHOOK_HTTP=true, ' +
      'WEBHOOK_ALLOW=127.0.0.0/8 and WEBHOOK_PORTS',
    wholeNumberUpTo(65_535),
  ),
  seed: option(
    '<n>',
    'send the same requests as an earlier run (default: random, and printed)',
    wholeNumberUpTo(SEEDS - 1),
  ),
  json: flag('print the results as one JSON value and nothing else'),
  junit: option('<file>', 'also write the results as JUnit XML'),
  origin: defaulted('<origin>', 'the site whose scripts may call the API, if CORS_ORIGINS is limited', ORIGIN, {
    parse: parseOrigin,
  }),
};

/** Executes the run. @throws CommandError with the exit status of why it cannot be made */
const runOf = async (target: Parameters<typeof verify>[0], seed: number): Promise<VerifyRun> => {
  const notice = new RateLimitNotice();
  try {
    return await verify(target, {
      withProgress: (checks, work) => {
        notice.begin(checks);
        return withProgress(
          checks,
          (advance) =>
            work((more) => {
              notice.advance(more);
              advance(more);
            }),
          'checks',
        );
      },
      onWait: (seconds) => notice.onWait(seconds),
      onBase: (baseUrl) => note(`Taking ${baseUrl} for the base of ${target.baseUrl}.`),
    });
  } catch (error) {
    if (error instanceof Unreachable) throw new CommandError(error.message, NO_GATEWAY);
    if (error instanceof Unusable) throw new CommandError(error.message, USAGE);
    throw new Error(`The run with the seed ${seed} ended early: ${(error as Error).message}`, { cause: error });
  }
};

/** Runs the operator's command, with the name of the run in `VERIFY_RUN`. Returns its fault, if any. */
const cleanUp = async (
  script: string,
  { name, made, countLeft }: VerifyRun,
): Promise<{ left: number | null; fault?: string }> => {
  // The command's output is no part of the result, so it is written to the standard error.
  const child = spawn('sh', ['-c', `VERIFY_RUN=${name}; export VERIFY_RUN\n${script}`], { stdio: ['ignore', 2, 2] });
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  const left = (await countLeft()) ?? null;
  if (code !== 0) return { left, fault: `The cleanup ended with ${code === null ? signal : `status ${code}`}.` };
  if (left !== null && left > 0) return { left, fault: `The cleanup left ${left} of ${made} records.` };
  return { left };
};

const removalOf = (name: string): string => `${PROGRAM} verify-cleanup --run ${name} --yes`;

const run = async ({
  baseUrl,
  key: givenKey,
  readOnly,
  strict,
  only,
  origin,
  ...options
}: Given<typeof input>): Promise<void> => {
  const started = performance.now();
  const key = givenKey === '' ? undefined : givenKey;
  const { maxSkipped = Infinity, cleanup, seed = anySeed(), receiver: receiverPort } = options;
  await assertReportFile(options.junit);
  const clientDocument = options.document === undefined ? undefined : await readDocument(options.document);
  const document = createRequire(import.meta.url)('#openapi/openapi.json') as object;
  const unknownKey = keyOf(new SeededRandom(seed).hex('key').slice(0, 32));
  const made = await runOf(
    { baseUrl, key, readOnly, strict, only, origin, document, clientDocument, unknownKey, seed, receiverPort },
    seed,
  );
  const { results } = made;
  const seconds = (performance.now() - started) / 1000;
  const cleaned = cleanup !== undefined && made.made > 0 ? await cleanUp(cleanup, made) : { left: made.made };

  await writeReport(options.junit, () => junitOf(results, made.baseUrl, key));
  if (options.json) print(jsonOf(made, { key, seed, readOnly, seconds, left: cleaned.left }));
  else {
    printTable(HEADINGS, rowsOf(results));
    const lines = [
      ...skipLines(results),
      ...changeLines(made.changes),
      ...failureLines(results, key),
      `${summaryOf(results, seconds)} Seed ${seed}.`,
    ];
    print('', ...lines.map(printable));
    if (cleanup === undefined && made.made > 0) {
      print(
        `${counted(made.made, 'record of it stays', 'records of it stay')}. Where the database is, this removes them: ${removalOf(made.name)}`,
      );
    }
  }
  const skipped = countOf(results, 'skipped');
  const faults = [
    ...('fault' in cleaned && cleaned.fault !== undefined ? [cleaned.fault] : []),
    ...(skipped > maxSkipped ? [`${skipped} checks were skipped, ${maxSkipped} may be.`] : []),
  ];
  faults.forEach(note);
  if (faults.length > 0 || countOf(results, 'failed') > 0) process.exitCode = FAILED;
};

export const verifyCommand = command({
  summary: 'test a deployment against the contract',
  description:
    'Calls every operation of a running deployment and checks all replies against the contract of this package. Prints ' +
    'how many checks of each operation passed, failed or were skipped, and why. Each fault is reported once, however ' +
    'many checks it fails: what was expected, what came, where in the reply, the request id, the checks that failed, ' +
    'and a curl command that sends the request again.\n\n' +
    'Without a key, or with --read-only, nothing changes but view counts: lists with their filters, sort orders and ' +
    'cursors, records, related games, counts, profiles and refusals are checked with whatever data is there. With a ' +
    'key that may publish, about 100 games and image posts are published, with titles that begin with "[verify" and ' +
    'the tag "verify"; the API deletes nothing, so they stay until the operator removes them. With a key that may ' +
    'change the profile of its user, the profile is changed and restored.\n\n' +
    'What this contract does not know, such as a further member of a reply, is listed as a note: the service may be ' +
    'newer. With --strict it is a fault.\n\n' +
    'Exit status: 0 if all is well; 1 if a check failed, too many were skipped or the cleanup failed; 2 for unusable ' +
    'options, including a key that is refused, a seed that was used within the last day and a file that cannot be written; 3 if nothing answers, or ' +
    'what answers is not a gateway.',
  input,
  examples: [
    'http://localhost:3000',
    'http://localhost:3000/docs --key $API_KEY --junit verify.xml',
    'http://localhost:3000 --read-only --json --max-skipped 1000',
  ],
  notes: ['', 'Not provoked:', ...Object.entries(unprovoked).map(([reason, why]) => `  ${reason} ${why}`)],
  run,
});
