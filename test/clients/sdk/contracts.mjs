// The consumer contracts that SDKs record, and what `can-i-deploy` says by them.
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PROGRAM, startSandbox } from './gateway.mjs';

const published = readFileSync(new URL('../../../openapi/openapi.json', import.meta.url), 'utf8');
const execute = promisify(execFile);

/** What `record` wrote earlier, which does not know what is read, and other SDKs. */
const BY_OTHERS = {
  consumer: 'another',
  contract: '1.0.0',
  needs: [
    { operation: 'user.me', test: 'a program without an SDK', sends: [], reasons: [] },
    {
      operation: 'user.me',
      test: 'another SDK with cgk_exampleDoNotUse',
      sends: [],
      reads: ['/id'],
      requires: ['/id', '/nickname'],
      decodes: true,
      reasons: [],
    },
  ],
};

const textIn = (file, changes = {}) =>
  JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), ...changes }, null, 2);
const { version } = JSON.parse(published).info;

/** Has the games in lists lack a member. */
const withoutMember =
  (member) =>
  ({ GameSummary: game }) => {
    delete game.properties[member];
    game.required = game.required.filter((name) => name !== member);
  };

/** What the document has otherwise, and whether that breaks a client which decodes all of an output, and one which does not. */
const CHANGES = [
  { name: 'no title, which is read', change: withoutMember('title'), decoding: 1, other: 1 },
  { name: 'no views', change: withoutMember('viewCount'), decoding: 1, other: 0 },
  { name: 'a new word', change: ({ TotalRelation }) => TotalRelation.enum.push('fresh'), decoding: 0, other: 0 },
];

/** Whether a changed document may be released, by a contract: the status that `can-i-deploy` ends with. */
const canIDeploy = async (folder, { name, change }, contract) => {
  const changed = JSON.parse(published);
  change(changed.components.schemas);
  const document = join(folder, `${name}.json`);
  writeFileSync(document, JSON.stringify(changed));
  const args = [PROGRAM, 'can-i-deploy', '--document', document, '--contracts', contract];
  const status = await execute(process.execPath, args).then(
    () => 0,
    ({ code }) => code,
  );
  return `${name}: ${status}`;
};

/**
 * Has the program of a language call a sandbox, twice, and record that in a file which is there: the second time adds nothing.
 *
 * @param run runs it with an environment
 * @param compare compares a text with what it should be
 * @param expected the file of what should be recorded, beside this one
 */
export const checkContracts = async (run, compare, expected) => {
  const folder = mkdtempSync(join(tmpdir(), 'contract-'));
  const file = join(folder, 'consumer.json');
  const sandbox = await startSandbox();
  const env = { CONTENT_GATEWAY_URL: sandbox.url, CONTENT_GATEWAY_API_KEY: sandbox.key };
  try {
    await run(env);
    if (existsSync(file)) throw new Error('A contract is written that nobody wants.');
    writeFileSync(file, JSON.stringify(BY_OTHERS));
    for (let turn = 0; turn < 2; turn += 1) {
      await run({ ...env, CONTENT_GATEWAY_CONTRACT: file });
      compare(textIn(file), textIn(new URL(expected, import.meta.url), { contract: version }));
    }
    const { needs } = JSON.parse(readFileSync(file, 'utf8'));
    const kind = needs.some(({ operation, decodes }) => operation === 'game.list' && decodes) ? 'decoding' : 'other';
    const answers = await Promise.all(CHANGES.map((change) => canIDeploy(folder, change, file)));
    compare(answers.join('\n'), CHANGES.map((change) => `${change.name}: ${change[kind]}`).join('\n'));
  } finally {
    await sandbox.stop();
    rmSync(folder, { recursive: true });
  }
};
