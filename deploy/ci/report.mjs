// node report.mjs <file>: tells GitHub Actions what `verify --json` has found: outputs of the step, a summary of the job, and a
// line in the log for each fault. The file is empty where nothing could be verified: then it says so, and ends with status 1.
import { appendFileSync, readFileSync } from 'node:fs';
import process, { argv, env } from 'node:process';

const results = readFileSync(argv[2], 'utf8');
const NOTHING = 'Nothing was verified; the log of the step says why.';
const { seed = '', passed = '', failed = '', skipped = '', findings = [], skips = [] } = results && JSON.parse(results);

const append = (file, lines) => {
  if (file) appendFileSync(file, `${lines.join('\n')}\n`);
};

// What a gateway answered is data: no line of it may be a command of the runner's, or mark-up of the summary.
const command = (text) => text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
const fence = (text) => ['````text', text.replaceAll('````', "'''"), '````'];

const faults = findings.map(({ expected, came, at, request, replay, shownBy }) =>
  [
    `expected ${expected}, came ${came}${at ? ` at ${at}` : ''}`,
    `shown by ${shownBy.map(({ operation, name }) => `${operation}: ${name}`).join('; ')}`,
    ...(request?.id ? [`request ${request.id}`] : []),
    ...(replay ? [replay] : []),
  ].join('\n'),
);

append(env.GITHUB_OUTPUT, [`passed=${passed}`, `failed=${failed}`, `skipped=${skipped}`, `seed=${seed}`]);
append(env.GITHUB_STEP_SUMMARY, [
  '### Content gateway',
  '',
  results === '' ? NOTHING : `${passed} checks passed, ${failed} failed, ${skipped} were skipped. Seed ${seed}.`,
  ...skips.map(({ reason, checks }) => `- ${checks} skipped: ${reason}`),
  ...faults.flatMap((fault) => ['', ...fence(fault)]),
]);

if (results === '') {
  console.log(`::error title=Content gateway::${NOTHING}`);
  process.exitCode = 1;
} else {
  console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
}
for (const fault of faults) console.log(`::error title=Content gateway::${command(fault)}`);
