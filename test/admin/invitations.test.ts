/**
 * @engines sqlite
 * @tier fast
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { systemActor } from '../../src/auth/audit/log.ts';
import { createInvitation, MAX_INVITATIONS } from '../../src/user/invitations.ts';
import { runCommand } from '../harness/app/command.ts';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';
import { operatorOf } from '../harness/app/operator.ts';
import { withDatabase } from '../harness/http/load.ts';

let database: TestDatabase;
const { cli, ran, json } = operatorOf(() => database.url);

interface Listed {
  id: string;
  state: string;
  scopes: string[];
  expiresAt: string;
}

/** The time for which an invitation of the list is open, in hours. */
const hoursOf = ({ expiresAt }: Listed): number => Math.round((Date.parse(expiresAt) - Date.now()) / 3_600_000);

describe('users invite', () => {
  beforeAll(async () => {
    database = await createDatabase({ migrated: true });
  });
  afterAll(() => database.drop());

  test('prints an address, nothing else, with the token after #', async () => {
    const { code, stdout, stderr } = await cli('users', 'invite', '--scopes', 'content:write,user:read');
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^http:\/\/localhost:3000\/invitation#token=[\w-]{43}\n$/),
    ]);
    const [made] = await json<Listed>('users', 'invitations');
    expect(made).toMatchObject({ state: 'open', scopes: ['content:write', 'user:read'], userId: null });
    expect(hoursOf(made!)).toBe(7 * 24);
    expect(stderr).toBe(
      `Invitation ${made!.id} works once, until ${made!.expiresAt}. Its address is shown only this once.\n` +
        'PUBLIC_URL is not set: the address works on this machine alone.\n',
    );
    expect(await ran('users', 'invitations')).toContain('content:write,user:read');
  });

  test('names the public address, suggests a name, and ends when it is told to', async () => {
    const args = ['users', 'invite', '--scopes', 'user:read', '--expires', '36h', '--nickname', 'Ana Ñandú & Co'];
    const env = { DATABASE_URL: database.url, PUBLIC_URL: 'https://api.example.com/base/' };
    const { stdout, stderr } = await runCommand(args, { env });
    const url = new URL(stdout.trim());
    expect([url.origin + url.pathname, url.search]).toEqual(['https://api.example.com/base/invitation', '']);
    expect(new URLSearchParams(url.hash.slice(1)).get('nickname')).toBe('Ana Ñandú & Co');
    expect(stderr).not.toContain('PUBLIC_URL');
    expect(hoursOf((await json<Listed>('users', 'invitations')).at(-1)!)).toBe(36);
  });

  test.each([
    [['--expires', 'never'], 'It must be a duration'],
    [['--expires', '0s'], 'at most 30d'],
    [['--expires', '31d'], 'at most 30d'],
    [['--nickname', 'a\nb'], 'one line'],
    [['--scopes', 'all'], 'none of content:write'],
  ])('refuses %j', async (args, words) => {
    const { code, stderr } = await cli('users', 'invite', '--scopes', 'user:read', ...args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(words)]);
  });

  test('uninvite revokes one, once and for all', async () => {
    await ran('users', 'invite', '--scopes', 'user:read');
    const { id } = (await json<Listed>('users', 'invitations')).at(-1)!;
    expect((await cli('users', 'uninvite', id)).stderr).toBe(`Invitation ${id} is revoked.\n`);
    expect((await json<Listed>('users', 'invitations')).at(-1)).toMatchObject({ id, state: 'revoked' });
    const { code, stderr } = await cli('users', 'uninvite', 'x');
    expect([code, stderr]).toEqual([1, expect.stringContaining('There is no such invitation')]);
  });

  test('makes no more than may be open', async () => {
    await withDatabase(database.url, async (db) => {
      const wanted = { scopes: ['user:read'] as const, expiresAt: new Date(Date.now() + 60_000) };
      while (await createInvitation(db, wanted, systemActor()));
    });
    const { code, stderr } = await cli('users', 'invite', '--scopes', 'user:read');
    expect([code, stderr]).toEqual([1, expect.stringContaining(`${MAX_INVITATIONS} invitations are open`)]);
  });
});
