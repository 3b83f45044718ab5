/**
 * @engines none
 * @tier fast
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { transform } from '@swc/core';
import { sandboxKeys } from '../../src/testkit/sandbox/sandbox.ts';
import { type ServeProcess, startSandbox } from '../harness/app/program.ts';

// What README tells its readers to run, run as it stands against a sandbox; only the port is another.

const readme = await readFile('README.md', 'utf8');
const blocks = [...readme.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].map(([, language = '', code = '']) => ({
  language,
  code,
}));

let sandbox: ServeProcess;
let folder: string;
describe('README', () => {
  beforeAll(async () => {
    sandbox = await startSandbox();
    // Within the repository, so that packages are found.
    folder = await mkdtemp(resolve('dist/readme-'));
  });
  afterAll(async () => {
    await sandbox.stop();
    await rm(folder, { recursive: true });
  });

  const run = async (command: string, args: string[]): Promise<{ code: number; stdout: string; stderr: string }> => {
    // On a terminal, Jest has its workers color what they print.
    const env = { ...process.env, FORCE_COLOR: undefined, GATEWAY_KEY: sandboxKeys[0]?.key };
    const child = spawn(command, args, { cwd: resolve('.'), env, stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    const [code] = (await once(child, 'close')) as [number];
    return { code, stdout, stderr };
  };

  const here = (code: string): string => code.replaceAll('http://localhost:3000', sandbox.base);

  test.each(blocks.filter(({ code }) => /^curl .*\/api\//.test(code)).map(({ code }) => [code.split(' ', 2)[1], code]))(
    'curl %s',
    async (_address, code) => {
      const { code: status, stdout } = await run('sh', ['-c', here(code ?? '')]);
      expect(status).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({ result: { data: { json: expect.any(Object) } } });
    },
  );

  test('there are calls by curl with and without a key', () => {
    expect(
      blocks.filter(({ code }) => /^curl .*\/api\//.test(code)).map(({ code }) => code.includes('$GATEWAY_KEY')),
    ).toEqual([false, true]);
  });

  test('the tRPC client', async () => {
    const { code = '' } = blocks.find(({ language }) => language === 'ts') ?? {};
    const compiled = await transform(here(code), { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' } });
    const file = join(folder, 'client.mjs');
    await writeFile(file, compiled.code);
    const { code: status, stdout, stderr } = await run(process.execPath, [file]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain('星の伝説');
  });
});
