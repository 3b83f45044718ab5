import assert from 'node:assert/strict';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PROGRAM } from '../clients/sdk/gateway.mjs';
import { root } from './support/clone.mjs';
import { run } from './support/shell.mjs';

export const recipe = async ({ folder, env }) => {
  const bin = join(folder, 'bin');
  const program = join(bin, 'content-gateway');
  await mkdir(bin);
  await writeFile(program, `#!/bin/sh\nexec "${process.execPath}" "${PROGRAM}" "$@"\n`);
  await chmod(program, 0o755);
  const { GATEWAY_KEY: _, ...keyless } = env;
  const { output } = await run(`"${join(root, 'deploy/ci/two-teams.sh')}"`, {
    cwd: folder,
    // Uses of keys are stored after some seconds: a slow machine would count them beside the contracts.
    env: { ...keyless, PATH: `${bin}:${env.PATH}`, TMPDIR: folder, USE_RECORDING: 'off' },
  });
  const [, asked = ''] = output.split('The operator: asks with a document');
  const [refused = '', changed = '', released = ''] = asked.split(/^The (?:shop: shows|operator: asks again).*$/m);
  const broken = refused.split('\n').filter((line) => /^(BREAKS| {10})/.test(line));
  assert.deepEqual(
    broken.map((line) => line.replace(/user \S+;/, 'user U;')),
    [
      'BREAKS  GameSummary/coverUrl, in 6 places: the member, now nothing',
      '          shop of user U; needs /items/*/coverUrl; in "shows covers"; by game.list',
    ],
  );
  assert.match(refused, /^No: 1 change breaks a consumer\.$/m);
  assert.match(changed, /keeps the contract of shop under production\.$/m);
  assert.match(released, /^Yes: none of 2 consumers breaks\.$/m);
  assert.match(released, /^No: 1 change breaks a consumer\.\n[^]*Done$/m);
  return 'the operator is told of the test that would break, and of none once its team has changed';
};
