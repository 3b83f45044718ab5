/**
 * @engines sqlite
 * @tier long
 */
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { BACKUP, timeOfLast } from '../../src/auth/audit/log.ts';
import { runCommand } from '../harness/app/command.ts';
import { withDatabase } from '../harness/http/load.ts';

// What a timer needs of `backup`: names, retention, and a command that comes after it.

let place: string;
let backups: string;
beforeEach(async () => {
  place = await mkdtemp(join(tmpdir(), 'content-gateway-scheduled-'));
  backups = join(place, 'backups');
  mkdirSync(backups);
  await run('migrate');
});
afterEach(() => rm(place, { recursive: true }));

const env = (): Record<string, string> => ({
  DATABASE_URL: `sqlite:${join(place, 'content.db')}`,
  PATH: process.env['PATH'] ?? '',
});
const run = (...args: string[]) => runCommand(args, { env: env() });
const inBackups = (name: string): string => join(backups, name);
const lastRecorded = () => withDatabase(env()['DATABASE_URL']!, (db) => timeOfLast(db, BACKUP));

const OLD = ['content-20240101T000000Z.db', 'content-20240102T000000Z.db', 'content-20240103T000000Z.db'];
/** Files of others, whatever they look like. */
const OTHERS = [
  'content-20240101.db',
  'content-20240101T000000Z.db.copy',
  'content-20240101T000000Z.sql.gz',
  'my-content-20240101T000000Z.db',
  'contentx20240101T000000Z.db',
  'other-20240101T000000Z.db',
];
const NEW = /^content-(?!202[34])\d{8}T\d{6}Z\.db$/;

describe('a backup into a folder', () => {
  test('keeps the newest of its own name, and leaves all other files alone', async () => {
    for (const name of [...OLD, ...OTHERS]) writeFileSync(inBackups(name), '');
    mkdirSync(inBackups('content-20230101T000000Z.db'));
    symlinkSync(inBackups(OTHERS[0]!), inBackups('content-20230102T000000Z.db'));
    const { code, stdout, stderr } = await run('backup', backups, '--keep', '2');
    expect(code).toBe(0);
    expect(stdout.trim()).toMatch(/\/content-\d{8}T\d{6}Z\.db$/);
    expect(stderr.match(/^Deleted .*$/gm)).toEqual([`Deleted ${inBackups(OLD[1]!)}`, `Deleted ${inBackups(OLD[0]!)}`]);
    const left = readdirSync(backups);
    expect(left.filter((name) => NEW.test(name))).toHaveLength(1);
    expect(left.filter((name) => !NEW.test(name))).toEqual(
      [...OTHERS, OLD[2], 'content-20230101T000000Z.db', 'content-20230102T000000Z.db'].toSorted((a, b) =>
        a! < b! ? -1 : 1,
      ),
    );
  });

  test('keeps the new one, whatever the clock said before', async () => {
    const future = ['content-29990101T000000Z.db', 'content-29990102T000000Z.db'];
    for (const name of future) writeFileSync(inBackups(name), '');
    expect(await run('backup', backups, '--keep', '1')).toMatchObject({ code: 0 });
    expect(readdirSync(backups)).toEqual([expect.stringMatching(NEW)]);
    expect(readdirSync(backups)).not.toEqual(expect.arrayContaining(future));
  });

  test('deletes nothing where the new one fails', async () => {
    for (const name of OLD) writeFileSync(inBackups(name), '');
    const broken = join(place, 'broken');
    mkdirSync(broken);
    writeFileSync(join(broken, 'content.db'), 'no database'.repeat(1000));
    const own = { ...env(), DATABASE_URL: `sqlite:${join(broken, 'content.db')}` };
    expect(await runCommand(['backup', backups, '--keep', '1'], { env: own })).toMatchObject({ code: 1 });
    expect(readdirSync(backups)).toEqual(OLD);
  });

  test.each([
    [['--keep', '0'], /whole number from 1 on/],
    [['--keep', '7d'], /whole number from 1 on/],
  ])('takes no %j', async (args, fault) => {
    const { code, stderr } = await run('backup', backups, ...args);
    expect([code, stderr]).toEqual([2, expect.stringMatching(fault)]);
  });

  test('is what --keep needs', async () => {
    const { code, stderr } = await run('backup', inBackups('one.db'), '--keep', '7');
    expect([code, stderr]).toEqual([2, expect.stringMatching(/--keep needs a folder/)]);
    expect(readdirSync(backups)).toEqual([]);
  });
});

const BROKEN = 'echo no such host >&2; exit 3';

describe('the command after a backup', () => {
  test('gets the path of the file, and the backup is recorded', async () => {
    const target = join(place, 'elsewhere');
    const then = `cp "$BACKUP_FILE" '${target}' && echo "copied $(basename "$1")"`;
    const { code, stdout, stderr } = await run('backup', backups, '--then', then);
    const [name = ''] = readdirSync(backups);
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: `${inBackups(name)}\n`,
      stderr: expect.stringContaining(`copied ${name}\n`),
    });
    expect(readFileSync(target)).toEqual(readFileSync(inBackups(name)));
    expect(await lastRecorded()).toBeInstanceOf(Date);
  });

  test('fails the backup when it fails, which is not recorded; the file stays, and old ones go', async () => {
    for (const name of OLD) writeFileSync(inBackups(name), '');
    const { code, stdout, stderr } = await run('backup', backups, '--keep', '1', '--then', BROKEN);
    const left = readdirSync(backups);
    expect(left).toEqual([expect.stringMatching(NEW)]);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain('no such host\n');
    expect(stderr).toContain(
      `error: ${inBackups(left[0]!)} is a good backup, but the command after it failed (status 3): echo no such host`,
    );
    expect(await lastRecorded()).toBeUndefined();
  });

  test('may be empty', async () => {
    expect(await run('backup', backups, '--then', '')).toMatchObject({ code: 0 });
  });
});
