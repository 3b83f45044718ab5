// Compares two documents by oasdiff, and says what must not be published. Run by .ci/compatibility:
//   node compare.js <oasdiff> <released document> <current document> <changelog>
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { type Change, refusals } from './compatibility.ts';

const [oasdiff = '', released = '', current = '', changelog = ''] = process.argv.slice(2);
const readJson = (file: string) => JSON.parse(readFileSync(file, 'utf8'));

const output = execFileSync(oasdiff, ['changelog', released, current, '--format', 'json'], { encoding: 'utf8' });
const changes: Change[] = output.trim() === '' ? [] : JSON.parse(output);
const refused = refusals(changes, readJson(released), readJson(current), readFileSync(changelog, 'utf8'));

console.log(`${changes.length} changes since the last release; ${refused.length} reasons to refuse them.`);
for (const line of refused) console.error(`- ${line}`);
process.exitCode = refused.length > 0 ? 1 : 0;
