import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { version } from '../../../base/version.ts';
import { parseConsumerContract } from '../../../../contract/consumer-contract.ts';
import { contractOf, startRecordingProxy } from '../../../../openapi/kit/consumers/recording-proxy.ts';
import { lengths } from '../../../../contract/limits.ts';
import { counted, keyless, text } from '../../../../contract/text.ts';
import { parseBaseUrl, textOf, wholeNumberUpTo } from '../shared/arguments.ts';
import { argument, command, defaulted, required } from '../shared/command.ts';
import { CommandError, USAGE } from '../shared/common.ts';
import { note } from '../shared/output.ts';
import { assertReportFile, writing } from '../shared/report-file.ts';

const MAX_PORT = 65_535;

/** Runs a command with the proxy as its gateway, and returns its status; without one, waits for a signal. */
const runTests = async (call: readonly string[], url: string): Promise<number> => {
  const stopped = Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
  const [program, ...args] = call;
  if (program === undefined) {
    await stopped;
    return 0;
  }
  const child = spawn('env', [`CONTENT_GATEWAY_URL=${url}`, program, ...args], { stdio: 'inherit' });
  const [status] = (await once(child, 'close')) as [number | null];
  return status ?? 1;
};

export const recordCommand = command({
  summary: "record a consumer's contract from its tests",
  description:
    'Passes requests on to a gateway, such as a sandbox, and writes what they sent and which failures came to the contract of ' +
    'a consumer. With a command, it runs that with its own address in CONTENT_GATEWAY_URL, writes the contract if it ' +
    'succeeds, and ends with its status; else it writes it at SIGTERM or SIGINT. Where the gateway answered no call, it ' +
    'writes nothing and ends with status 2, as where the file cannot be written. A header Test-Name, percent-encoded, ' +
    'names the test. What is read of replies is yours to add under "reads"; recording again keeps it.',
  input: {
    tests: argument<string[]>('[command...]', 'the command that runs the tests, after --'),
    to: required('<url>', 'the gateway that is tested with', parseBaseUrl),
    consumer: required('<name>', 'the name of the consumer', textOf(keyless(text(1, lengths.consumer)))),
    out: required('<file>', 'the contract: a file that your repository keeps'),
    port: defaulted('<number>', 'the port to listen on; 0 picks a free one', 4020, {
      parse: wholeNumberUpTo(MAX_PORT),
    }),
  },
  examples: ['--to http://localhost:3000 --consumer shop-web --out shop-web.json -- npm test'],
  run: async ({ tests, to, consumer, out, port }) => {
    const earlier = existsSync(out) ? parseConsumerContract(basename(out), await readFile(out, 'utf8')) : undefined;
    await assertReportFile(`${out}.new`);
    const proxy = await startRecordingProxy(to, port);
    note(`Recording at ${proxy.url}, for ${to}.`);
    const status = await runTests(tests, proxy.url);
    await proxy.stop();
    process.exitCode = status;
    if (status !== 0) {
      note(`The command ended with status ${status}: ${out} is not written.`);
      return;
    }
    const contract = contractOf({ consumer, contract: version }, proxy.recorder, earlier);
    if (contract.needs.length === 0) {
      throw new CommandError(
        `No call came through ${proxy.url} that the gateway at ${to} answered: ${out} is not written. Do the tests call CONTENT_GATEWAY_URL?`,
        USAGE,
      );
    }
    await writing(out, async () => {
      await writeFile(`${out}.new`, `${JSON.stringify(contract, null, 2)}\n`);
      await rename(`${out}.new`, out);
    });
    const unread = contract.needs.filter(({ reads }) => reads === undefined).length;
    note(
      `${out} has ${counted(contract.needs.length, 'need')}${unread > 0 ? `; ${counted(unread, 'of them does not say what it reads', 'of them do not say what they read')}` : ''}.`,
    );
  },
});
