import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { procedures } from '../../contract/index.ts';
import { generateKey } from '../key/format.ts';
import { unprovoked } from '../verify/checks/refusals.ts';
import { SERVICE } from '../verify/check.ts';
import { junitOf } from '../verify/junit.ts';
import { countOf, failureLines, HEADINGS, rowsOf, skipLines, summaryOf } from '../verify/report.ts';
import { type Result, verify } from '../verify/verify.ts';
import { listOf } from './arguments.ts';
import { examples } from './common.ts';
import { note, print, printable, printTable } from './output.ts';
import { withProgress } from './progress.ts';

const ORIGIN = 'https://verify.example.com';

const subjects = [SERVICE, ...procedures.map(({ id }) => id)];

const parseBaseUrl = (text: string): string => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) throw new InvalidArgumentError('It must be an http or https URL.');
  if (url.username !== '' || url.search !== '' || url.hash !== '') {
    throw new InvalidArgumentError('It must have no user, query or fragment.');
  }
  return url.href.replace(/\/+$/, '');
};

const parseKey = (text: string): string => {
  if (/^[\x21-\x7e]+$/.test(text)) return text;
  throw new InvalidArgumentError('It must be an API key.');
};

const parseOrigin = (text: string): string => {
  if (URL.canParse(text) && new URL(text).origin === text) return text;
  throw new InvalidArgumentError('It must be an origin such as https://app.example.com.');
};

const printReport = (results: readonly Result[], seconds: number): void => {
  printTable(HEADINGS, rowsOf(results));
  const lines = [...skipLines(results), ...failureLines(results), summaryOf(results, seconds)];
  print('', ...lines.map(printable));
};

interface Options {
  key?: string;
  only?: string[];
  junit?: string;
  origin: string;
}

const run = async (baseUrl: string, { key, only, junit, origin }: Options): Promise<void> => {
  const started = performance.now();
  const document = createRequire(import.meta.url)('#openapi/openapi.json') as object;
  const target = { baseUrl, key, only, origin, document, unknownKey: generateKey() };
  const results = await verify(target, {
    withProgress: (checks, work) => withProgress(checks, work, 'checks'),
    onWait: (seconds) => note(`The deployment limits rates: going on in ${seconds} s.`),
  });
  printReport(results, (performance.now() - started) / 1000);
  if (junit !== undefined) await writeFile(junit, junitOf(results, baseUrl));
  if (countOf(results, 'failed') > 0) process.exitCode = 1;
};

export const verifyCommand = (): Command =>
  new Command('verify')
    .summary('prove a deployment against the contract')
    .description(
      'Calls every operation of a running deployment, holds all replies against the contract of this package, and ' +
        'prints how many checks of each operation passed, failed and were skipped. Each failure is one line: what was ' +
        'expected, what came, where in the reply, and the id of the request. The exit status is 1 if any check failed. ' +
        'Without a key, only public operations and the refusals of all others are checked. With a key that may ' +
        'publish, its user publishes about 30 games and 30 image posts with titles that begin with "[verify" and the ' +
        'tag "verify"; they stay, since the API deletes nothing. With one that may change the profile of its user, ' +
        'that is changed and put back.',
    )
    .addArgument(
      new Argument('<base-url>', 'where the deployment is, such as https://api.example.com').argParser(parseBaseUrl),
    )
    .addOption(new Option('--key <key>', 'an API key of it; one of all scopes checks the most').argParser(parseKey))
    .addOption(
      new Option('--only <list>', 'check only these operations, comma-separated, such as game.list').argParser(
        listOf(subjects),
      ),
    )
    .option('--junit <file>', 'also write the results as JUnit XML')
    .addOption(
      new Option('--origin <origin>', 'the site whose scripts are to be allowed to call, where CORS_ORIGINS limits it')
        .argParser(parseOrigin)
        .default(ORIGIN),
    )
    .addHelpText(
      'after',
      [
        examples('verify http://localhost:3000', 'verify http://localhost:3000 --key $API_KEY --junit verify.xml'),
        '',
        'Not provoked:',
        ...Object.entries(unprovoked).map(([reason, why]) => `  ${reason} ${why}`),
      ].join('\n'),
    )
    .action(run);
