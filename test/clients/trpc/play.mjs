// Compiles calls.ts with the types of a release, and holds what it prints against what it should.
import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const PROGRAM = 'test/clients/trpc/calls.ts';
const out = join(root, 'build/trpc');
const run = promisify(execFile);

/** Of each version, the names of its clients. */
const CLIENTS = {
  10: ['single', 'batches'],
  11: ['single', 'single by POST', 'batches', 'batches by POST', 'streamed batches'],
};
export const trpcVersions = Object.keys(CLIENTS);

const LINES = [
  '月と六ペンス, RPG, 2, 雨の夜, https://a.example/1.png',
  '一 二 三',
  'true, true, like, dislike',
  '霧の夜, 星を見る人, /avatars/demo.png',
  'true, 1, 1, 2',
  '3, 霧の夜, true, true',
  '401 KEY_MISSING, 400 VALIDATION_FAILED, 404 GAME_NOT_FOUND',
];

const OPTIONS = [
  '--ignoreConfig',
  '--strict',
  '--noUncheckedIndexedAccess',
  '--skipLibCheck',
  '--types',
  'node',
].concat([
  '--target',
  'es2023',
  '--lib',
  'es2023,es2024.string',
  '--module',
  'nodenext',
  '--rewriteRelativeImportExtensions',
]);
const tsc = async (...args) => {
  try {
    await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), ...OPTIONS, ...args]);
  } catch (error) {
    throw new Error(error.stdout || error.message, { cause: error });
  }
};

/** @throws Error if the calls do not compile with the types of the service in this folder */
export const checkTypes = async (folder) => {
  const copy = join(folder, PROGRAM);
  mkdirSync(dirname(copy), { recursive: true });
  if (copy !== join(root, PROGRAM)) copyFileSync(join(root, PROGRAM), copy);
  await tsc('--noEmit', copy);
};

/** Compiles the calls alone, whatever the types. */
export const compileCalls = () => tsc('--noCheck', '--noResolve', '--outDir', out, join(root, PROGRAM));

/** Makes the calls with a version of tRPC. @throws Error that names the first line that is not as it should be */
export const playCalls = async (version, env) => {
  const { stdout } = await run(process.execPath, [join(out, 'calls.js'), version], { env: { ...process.env, ...env } });
  const printed = stdout.trimEnd().split('\n');
  const wanted = CLIENTS[version].flatMap((client) => LINES.map((line) => `tRPC ${version}, ${client}: ${line}`));
  const at = wanted.findIndex((line, index) => line !== printed[index]);
  if (at !== -1) throw new Error(`it printed\n  ${printed[at]}\n  and should print\n  ${wanted[at]}`);
};
