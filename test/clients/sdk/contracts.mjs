// The consumer contracts that SDKs record, and what `can-i-deploy` says by them.
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PROGRAM, startSandbox } from './gateway.mjs';

const published = readFileSync(new URL('../../../openapi/openapi.json', import.meta.url), 'utf8');
const execute = promisify(execFile);

/** What `record` wrote earlier: it does not know what is read. */
const BY_RECORD = {
  consumer: 'another',
  contract: '1.0.0',
  needs: [{ operation: 'user.me', test: 'a program without an SDK', sends: [], reasons: [] }],
};

const textIn = (file, changes = {}) =>
  JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), ...changes }, null, 2);
const { version } = JSON.parse(published).info;

/** The document without a member of the games in lists. */
const documentWithout = (member) => {
  const document = JSON.parse(published);
  const game = document.components.schemas.GameSummary;
  delete game.properties[member];
  game.required = game.required.filter((name) => name !== member);
  return JSON.stringify(document);
};

/** Whether a document may be released, by a contract: the status that `can-i-deploy` ends with. */
const canIDeploy = async (folder, member, contract) => {
  const document = join(folder, `without-${member}.json`);
  writeFileSync(document, documentWithout(member));
  const args = [PROGRAM, 'can-i-deploy', '--document', document, '--contracts', contract];
  return execute(process.execPath, args).then(
    () => 0,
    ({ code }) => code,
  );
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
    writeFileSync(file, JSON.stringify(BY_RECORD));
    for (let turn = 0; turn < 2; turn += 1) {
      await run({ ...env, CONTENT_GATEWAY_CONTRACT: file });
      compare(textIn(file), textIn(new URL(expected, import.meta.url), { contract: version }));
    }
    const answers = await Promise.all(['title', 'viewCount'].map((member) => canIDeploy(folder, member, file)));
    compare(
      `without a title: ${answers[0]}, without its views: ${answers[1]}`,
      'without a title: 1, without its views: 0',
    );
  } finally {
    await sandbox.stop();
    rmSync(folder, { recursive: true });
  }
};
