// Compares two documents, by oasdiff and by the comparison that clients have, and says what must not be published.
// .ci/compatibility runs it:
// node compare.js <oasdiff> <released document> <current document> <changelog> [--least] [--today YYYY-MM-DD]
// With --least it prints the least version that the current document may have.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { changesFor } from './kit/conformance/document/compare.ts';
import { documented } from './kit/conformance/document/client-document.ts';
import { type Change, entriesOf, leastVersion, refusals, together, type Versioned } from './compatibility.ts';
import { announcementRefusals, type DeprecatingDocument, judgeEnds } from './removal.ts';

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    least: { type: 'boolean' },
    today: { type: 'string', default: new Date().toISOString().slice(0, 10) },
  },
});
const [oasdiff = '', released = '', current = '', changelog = ''] = positionals;
const readJson = (file: string): Versioned & DeprecatingDocument => JSON.parse(readFileSync(file, 'utf8'));
const [before, now, news] = [readJson(released), readJson(current), readFileSync(changelog, 'utf8')];

const output = execFileSync(oasdiff, ['changelog', released, current, '--format', 'json'], { encoding: 'utf8' });
const found: Change[] = output.trim() === '' ? [] : JSON.parse(output);
const own = changesFor(documented(released, before), documented(current, now));
const changes = together(found, own, before);
const judged = judgeEnds(changes, before, values.today);
const compared = [judged.changes, before, now, news] as const;

if (values.least) console.log(leastVersion(...compared));
else {
  const refused = [
    ...judged.refused,
    ...announcementRefusals(before, now, entriesOf(news, before, now)),
    ...refusals(...compared),
  ];
  console.log(`${changes.length} changes since the last release; ${refused.length} reasons to refuse them.`);
  for (const line of refused) console.error(`- ${line}`);
  process.exitCode = refused.length > 0 ? 1 : 0;
}
