/**
 * @engines none
 * @tier fast
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { variableNames } from '../../src/config/variables.ts';

const UNIT = 'deploy/systemd/content-gateway.service';
const unit = readFileSync(UNIT, 'utf8');

const analyze = (...args: string[]) => {
  const { status, stdout, stderr, error } = spawnSync('systemd-analyze', [...args, UNIT], { encoding: 'utf8' });
  if (error) throw new Error('systemd-analyze is missing: install the package systemd', { cause: error });
  return { status, said: `${stdout}${stderr}` };
};

describe('systemd unit', () => {
  test('is valid', () => {
    expect(analyze('verify', '--man=no')).toEqual({ status: 0, said: '' });
  });

  test('gives the service little more than it needs', () => {
    // From 0 to 10, times ten.
    expect(analyze('security', '--offline=true', '--threshold=20', '--no-pager').status).toBe(0);
  });

  test('starts a program of the release, with settings that exist', () => {
    const [, program = ''] = /^ExecStart=\/usr\/bin\/env node dist\/(\S+)\.js serve$/m.exec(unit) ?? [];
    expect(existsSync(`${program}.ts`)).toBe(true);
    const [, environment = ''] = /^Environment=(.*)$/m.exec(unit) ?? [];
    const names = environment.split(' ').map((one) => one.split('=', 1)[0]);
    expect(names.filter((name) => name !== 'NODE_ENV' && !variableNames.includes(name ?? ''))).toEqual([]);
  });
});
