// Compares two documents by oasdiff, and says what must not be published. Run by .ci/compatibility:
//   node compare.js <oasdiff> <released document> <current document> <changelog> [--least]
// With --least it prints the least version that the current document may have.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { type Change, leastVersion, refusals } from './compatibility.ts';

const [oasdiff = '', released = '', current = '', changelog = '', option] = process.argv.slice(2);
const readJson = (file: string) => JSON.parse(readFileSync(file, 'utf8'));

const output = execFileSync(oasdiff, ['changelog', released, current, '--format', 'json'], { encoding: 'utf8' });
const changes: Change[] = output.trim() === '' ? [] : JSON.parse(output);
const compared = [changes, readJson(released), readJson(current), readFileSync(changelog, 'utf8')] as const;

if (option === '--least') console.log(leastVersion(...compared));
else {
  const refused = refusals(...compared);
  console.log(`${changes.length} changes since the last release; ${refused.length} reasons to refuse them.`);
  for (const line of refused) console.error(`- ${line}`);
  process.exitCode = refused.length > 0 ? 1 : 0;
}
