// node same.mjs <file> <file>: fails unless the bundle for browsers made the same of the vectors as Node.js did.
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';

const UUID = /^[0-9a-f-]{36}$/;
const platformsOwn = /(no reply from \S+ after \d attempts?: ).+/;
const untilDate = /^retry-after-(date|clock|no-date)/;
const retryAfter = /(?<=Retry after )\d+(?= s\.)/;

/** Seconds that must be the same: in whole tens where they end with a date, which the second's turn may shift. */
const secondsIn = (name) => (seconds) => {
  if (untilDate.test(name) && seconds !== null) return Math.round(seconds / 10) * 10;
  return seconds === null || Number.isInteger(seconds) ? seconds : 'a while';
};

/** What must be the same: all but what is by chance, and how the platform words that there was no reply. */
const comparable = ({ name, waits = [], events = [], text, error, ...members }) => ({
  ...members,
  name,
  debug: undefined,
  waits: waits.map(secondsIn(name)),
  events: events.map(({ wait, ...event }) => ({ ...event, wait: secondsIn(name)(wait) })),
  text: text?.replace(platformsOwn, '$1').replace(retryAfter, (seconds) => secondsIn(name)(Number(seconds))),
  error: error && {
    ...error,
    // The base URL has the name of the run.
    docs: error.docs?.replace('/typescript-web/', '/typescript/'),
    retryAfter: secondsIn(name)(error.retryAfter ?? null),
    idempotencyKey: UUID.test(error.idempotencyKey) ? 'a UUID' : error.idempotencyKey,
  },
});

const [onNode, inBrowser] = process.argv.slice(2).map((file) =>
  readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => comparable(JSON.parse(line))),
);

const named = new Map(onNode.map((line) => [line.name, line]));
const different = inBrowser.filter((line) => !isDeepStrictEqual(line, named.get(line.name)));

for (const line of different) {
  const [came, expected] = [line, named.get(line.name)].map((value) => JSON.stringify(value));
  console.error(`${line.name}: as browsers run it\n  ${came}\non Node.js\n  ${expected}`);
}
if (inBrowser.length === 0) console.error('The bundle for browsers printed nothing.');
process.exitCode = different.length > 0 || inBrowser.length === 0 ? 1 : 0;
