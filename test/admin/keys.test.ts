/**
 * @engines sqlite
 * @tier fast
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { Database } from '../../src/db/database.ts';
import { createKey, type KeyInfo, listKeys, readKey, revokeKey } from '../../src/auth/service.ts';
import { type Caller, KeyVerifier } from '../../src/auth/verifier.ts';
import { scopes } from '../../contract/index.ts';
import { AppError } from '../../src/base/errors.ts';
import { addFailedCalls, failedCallOf } from '../../src/consumers/use/failed-calls.ts';
import { schema } from '../../src/app/schema.ts';
import { welcome } from '../../src/sandbox/welcome.ts';
import { createUser } from '../../src/user/service.ts';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';
import { runCommand } from '../harness/app/command.ts';
import type { Outcome } from '../harness/app/program.ts';

const KEY = /^cgk_[0-9A-Za-z]{38}\n$/;
const UNKNOWN_ID = '019a3c5e-b150-7e85-9f52-9d40ce61a205';
const DAY_MS = 86_400_000;
const log = pino({ level: 'silent' });

let database: TestDatabase;
let db: Database;

beforeAll(async () => {
  database = await createDatabase();
  db = await Database.open(database.url, schema);
  await db.migrate();
});

afterAll(async () => {
  await db.close();
  await database.drop();
});

const keys = (...args: string[]): Promise<Outcome> =>
  runCommand(['keys', ...args], { env: { DATABASE_URL: database.url } });

const aUser = (): Promise<string> => createUser(db, 'Maru', new Date());

/** A key of a new user, made `now`. */
const aKey = async ({ expiresAt = null as Date | null, now = new Date() } = {}) => {
  const userId = await aUser();
  const wanted = { userId, name: 'laptop', scopes: ['content:write', 'user:read'] as const, expiresAt };
  return { userId, ...(await createKey(db, wanted, now)) };
};

/** The key that was made last for a user. */
const newestKey = async (userId: string): Promise<KeyInfo> => {
  const key = (await listKeys(db, userId)).at(-1);
  if (!key) throw new Error('There is no key.');
  return key;
};

/** How long a key lives. */
const lifetimeOf = ({ createdAt, expiresAt }: KeyInfo): number => Number(expiresAt) - Number(createdAt);

/** What the service makes of a key at a time. */
const verify = (key: string, now = new Date()): Promise<Caller> => new KeyVerifier(db, log, () => now).verify(key);

const failure = (fault: string): Outcome => ({ code: 1, stdout: '', stderr: `error: ${fault}\n` });

describe('keys create', () => {
  test('prints a key that the service takes, for 90 days', async () => {
    const userId = await aUser();
    const { code, stdout, stderr } = await keys('create', '--user', userId, '--scopes', 'user:read, content:write');
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(KEY) });
    const { id, expiresAt, ...info } = await newestKey(userId);
    expect(stderr).toBe(`Key ${id} expires ${expiresAt?.toISOString()}. It is shown only this once.\n`);
    expect(lifetimeOf({ id, expiresAt, ...info })).toBe(90 * DAY_MS);
    expect(await verify(stdout.trim(), new Date(Number(expiresAt) - 1))).toEqual({
      userId,
      key: { id, name: 'unnamed', scopes: ['user:read', 'content:write'], expiresAt },
    });
    await expect(verify(stdout.trim(), new Date(Number(expiresAt)))).rejects.toMatchObject({ reason: 'KEY_EXPIRED' });
  });

  test('takes a name and a lifetime', async () => {
    const userId = await aUser();
    await keys('create', '--user', userId, '--scopes', 'user:write', '--name', 'ノート PC', '--expires', '45m');

    const key = await newestKey(userId);
    expect(key).toMatchObject({ name: 'ノート PC', scopes: ['user:write'] });
    expect(lifetimeOf(key)).toBe(45 * 60_000);
  });

  test.each([
    ['never', null],
    ['2099-12-31T18:00:00+09:00', new Date('2099-12-31T09:00:00.000Z')],
  ])('takes %s for an expiry', async (when, expiresAt) => {
    const userId = await aUser();
    const { stderr } = await keys('create', '--user', userId, '--scopes', 'user:read', '--expires', when);

    const key = await newestKey(userId);
    expect(key.expiresAt).toEqual(expiresAt);
    expect(stderr).toBe(`Key ${key.id} expires ${expiresAt?.toISOString() ?? 'never'}. It is shown only this once.\n`);
  });
});

describe('a user', () => {
  test('may be named by a nickname that no other user has', async () => {
    const [one, other] = [await createUser(db, '🐉 Zoë', new Date()), await createUser(db, '🐉 zoë', new Date())];
    const created = await keys('create', '--user', '🐉 Zoë', '--scopes', 'user:read');
    expect(created).toMatchObject({ code: 0, stdout: expect.stringMatching(KEY) });
    expect((await listKeys(db, one)).length).toBe(1);
    expect(await listKeys(db, other)).toEqual([]);
    expect((await keys('list', '--user', '🐉 Zoë', '--json')).stdout).toContain(one);
  });

  test('must be named by the id where the nickname is that of several', async () => {
    await createUser(db, 'Twin', new Date());
    await createUser(db, 'Twin', new Date());
    expect(await keys('create', '--scopes', 'user:read', '--user', 'Twin')).toEqual(
      failure('There is no user with this id: several have this nickname; find the id in: users list'),
    );
  });
});

const NO_USER = 'There is no user with this id';
const NO_KEY = 'This API key does not exist.';

test.each([
  [['create', '--scopes', 'user:read', '--user', UNKNOWN_ID], `${NO_USER}.`],
  [
    ['create', '--scopes', 'user:read', '--user', 'nobody'],
    `${NO_USER}: nor with this nickname; find the id in: users list`,
  ],
  [['list', '--user', UNKNOWN_ID], `${NO_USER}.`],
  [['revoke', UNKNOWN_ID], NO_KEY],
  [['revoke', 'nothing'], NO_KEY],
  [['calls', UNKNOWN_ID], NO_KEY],
])('keys %j needs a user or a key that exists', async (args, fault) => {
  expect(await keys(...args)).toEqual(failure(fault));
});

test('a start that shows no key says how to make one', () => {
  expect(welcome({ title: 'Content Gateway', url: 'http://localhost:3000' }, undefined)).toContain(
    `npm run -s cli -- keys create --user <user> --scopes ${scopes.join(',')}`,
  );
});

describe('keys list', () => {
  test('shows every key and its state, but no key', async () => {
    const expiresAt = new Date('2025-02-01T00:00:00.000Z');
    const [expired, revoked, active] = [
      await aKey({ expiresAt, now: new Date('2025-01-01T00:00:00.000Z') }),
      await aKey({ expiresAt, now: new Date('2025-01-02T00:00:00.000Z') }),
      await aKey(),
    ];
    await revokeKey(db, revoked.id, new Date('2025-01-15T12:00:00.000Z'));
    const used = new Date();
    const verifier = new KeyVerifier(db, log, () => used);
    await verifier.verify(active.key);
    await verifier.flush();
    const ours = (stdout: string) =>
      stdout.split('\n').filter((line) => [expired, revoked, active].some(({ id }) => line.includes(id)));

    const [table, json, one] = await Promise.all([
      keys('list'),
      keys('list', '--json'),
      keys('list', '--json', '--user', active.userId),
    ]);

    const widths = { ID: 36, PREFIX: 12, USER: 36, STATE: 7, EXPIRES: 24, 'LAST USED': 24, SCOPES: 23 };
    const headings = Object.entries(widths).map(([heading, width]) => heading.padEnd(width));
    expect(table.stdout.split('\n')[0]).toBe([...headings, 'NAME'].join('  '));
    const row = ({ id, key, userId }: typeof active, middle: string) =>
      `${id}  ${key.slice(0, 12)}  ${userId}  ${middle}  content:write,user:read  laptop`;
    const never = 'never'.padEnd(24);
    expect(ours(table.stdout)).toEqual([
      row(expired, `expired  2025-02-01T00:00:00.000Z  ${never}`),
      row(revoked, `revoked  2025-02-01T00:00:00.000Z  ${never}`),
      row(active, `active   ${never}  ${used.toISOString()}`),
    ]);

    const objects = ours(json.stdout).map((line) => JSON.parse(line) as object);
    const common = { name: 'laptop', scopes: ['content:write', 'user:read'] };
    expect(objects).toEqual([
      {
        ...common,
        id: expired.id,
        userId: expired.userId,
        prefix: expired.key.slice(0, 12),
        state: 'expired',
        expiresAt: '2025-02-01T00:00:00.000Z',
        revokedAt: null,
        lastUsedAt: null,
        createdAt: '2025-01-01T00:00:00.000Z',
        lifetimeMs: 31 * DAY_MS,
        madeBy: null,
      },
      expect.objectContaining({ id: revoked.id, state: 'revoked', revokedAt: '2025-01-15T12:00:00.000Z' }),
      expect.objectContaining({ id: active.id, state: 'active', expiresAt: null, lastUsedAt: used.toISOString() }),
    ]);
    expect(
      one.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as object),
    ).toEqual(objects.slice(2));

    for (const { code, stdout, stderr } of [table, json, one]) {
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      for (const { key } of [expired, revoked, active]) expect(stdout).not.toContain(key);
    }
  });
});

describe('keys revoke', () => {
  test('ends a key, and can be repeated', async () => {
    const { id, key, userId } = await aKey();
    const outcome = await keys('revoke', id);

    expect(outcome).toEqual({ code: 0, stdout: '', stderr: `Key ${id} is revoked.\n` });
    await expect(verify(key)).rejects.toMatchObject({ reason: 'KEY_REVOKED' });
    const revoked = await newestKey(userId);
    expect(await keys('revoke', id)).toEqual(outcome);
    expect(await newestKey(userId)).toEqual(revoked);
  });

  test('tells how many active keys it made, and takes them along if told to', async () => {
    const { id, userId } = await aKey();
    const wanted = { userId, name: 'made', scopes, expiresAt: null };
    const child = await createKey(db, { ...wanted, madeBy: id }, new Date());
    // Its successor by the operator counts as made by the same key; the successor of the key itself does not.
    await keys('rotate', child.id);
    await keys('rotate', id);
    await revokeKey(db, child.id, new Date());

    expect((await keys('revoke', id)).stderr).toBe(
      `Key ${id} is revoked.\n` +
        `Still active: 1 key that it made. Revoke all with: npm run -s cli -- keys revoke ${id} --with-made\n`,
    );
    expect((await keys('revoke', id, '--with-made')).stderr).toBe(
      `Key ${id} is revoked.\nRevoked, too: 1 key that it made.\n`,
    );
    const active = (await listKeys(db, userId)).filter(({ revokedAt }) => revokedAt === null);
    expect(active).toMatchObject([{ name: 'laptop', madeBy: null }]);
  });

  test.each(['revoke', 'rotate'])(
    'as %s asks for the id when it is given the key, which it does not repeat',
    async (command) => {
      const { id, key } = await aKey();

      expect(await keys(command, key)).toEqual(
        failure(`This is a key, not its id. Find the id beside ${key.slice(0, 12)} in: npm run -s cli -- keys list`),
      );
      expect(await verify(key)).toMatchObject({ key: { id } });
    },
  );
});

describe('keys rotate', () => {
  test('prints a key of the same kind, and the old one works for another 24 hours', async () => {
    const made = new Date();
    const old = await aKey({ now: made, expiresAt: new Date(made.getTime() + 30 * DAY_MS) });
    const before = Date.now();
    const { code, stdout, stderr } = await keys('rotate', old.id);
    const after = Date.now();

    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(KEY) });
    const [{ expiresAt: end } = { expiresAt: null }, replacement] = await listKeys(db, old.userId);
    expect(stderr).toBe(
      `Key ${replacement?.id} replaces ${old.id}, which works until ${end?.toISOString()} at the latest. ` +
        `It is shown only this once.\nKey ${replacement?.id} expires ${replacement?.expiresAt?.toISOString()}.\n`,
    );
    expect(replacement).toMatchObject({ name: 'laptop', scopes: ['content:write', 'user:read'] });
    expect(lifetimeOf(await newestKey(old.userId))).toBe(30 * DAY_MS);

    expect(Number(end)).toBeGreaterThanOrEqual(before + DAY_MS);
    expect(Number(end)).toBeLessThanOrEqual(after + DAY_MS);
    expect(await verify(old.key, new Date(Number(end) - 1))).toMatchObject({ key: { id: old.id } });
    await expect(verify(old.key, new Date(Number(end)))).rejects.toMatchObject({ reason: 'KEY_EXPIRED' });
    expect(await verify(stdout.trim(), new Date(Number(end)))).toMatchObject({ key: { id: replacement?.id } });
  });

  test('without overlap ends the old key at once; a key that never expires is replaced by such a key', async () => {
    const { id, key, userId } = await aKey();
    const { code, stdout } = await keys('rotate', id, '--overlap', '0s');

    expect(code).toBe(0);
    await expect(verify(key)).rejects.toMatchObject({ reason: 'KEY_EXPIRED' });
    expect(await verify(stdout.trim())).toMatchObject({ userId, key: { expiresAt: null } });
  });

  test('again within the overlap tells the ends of both keys, which it keeps: the first end, and the lifetime', async () => {
    const { id, userId } = await aKey();
    await keys('rotate', id, '--overlap', '1h');
    const end = (await listKeys(db, userId))[0]?.expiresAt;
    const { stderr } = await keys('rotate', id);
    const { id: second, expiresAt } = await newestKey(userId);
    expect(expiresAt).toBeNull();
    expect(stderr).toContain(`which works until ${end?.toISOString()} at the latest`);
    expect(stderr).toContain(`Key ${second} expires never.`);
  });

  test('never makes the old key live longer', async () => {
    const expiresAt = new Date(Date.now() + 3_600_000);
    const { id, userId } = await aKey({ expiresAt });
    expect((await keys('rotate', id, '--overlap', '7d')).code).toBe(0);

    expect((await listKeys(db, userId))[0]?.expiresAt).toEqual(expiresAt);
  });

  test('needs a key that works', async () => {
    const [revoked, expired] = [await aKey(), await aKey({ expiresAt: new Date() })];
    await revokeKey(db, revoked.id, new Date());

    expect(await Promise.all([UNKNOWN_ID, revoked.id, expired.id].map((id) => keys('rotate', id)))).toEqual([
      failure('This API key does not exist.'),
      failure('This API key has been revoked.'),
      failure('This API key has expired.'),
    ]);
    expect(await listKeys(db, revoked.userId)).toHaveLength(1);
    expect(await listKeys(db, expired.userId)).toHaveLength(1);
  });
});

describe('keys prune', () => {
  test('lists the keys that ended long ago, deletes them if told to, and keeps what they were in the audit', async () => {
    const old = new Date('2020-01-01');
    const [ended, recent, active] = [
      await aKey({ expiresAt: old, now: old }),
      await aKey({ expiresAt: new Date() }),
      await aKey(),
    ];
    const idsOf = ({ stdout }: Outcome): string[] => stdout.split('\n').map((line) => line.split(' ', 1).join(''));
    const dry = await keys('prune');
    expect(idsOf(dry)).toContain(ended.id);
    expect(idsOf(dry)).not.toContain(recent.id);
    expect(dry.stderr).toBe('Nothing was deleted. Delete with the same command and --yes.\n');
    const pruned = await keys('prune', '--ended-before', '2020-06-01', '--yes', '--json');
    expect(JSON.parse(pruned.stdout)).toMatchObject({ id: ended.id, state: 'expired' });
    expect(pruned.stderr).toBe('Deleted 1.\n');
    await expect(readKey(db, ended.id)).rejects.toThrow('KEY_UNKNOWN');
    const { stdout } = await runCommand(['audit', 'list', '--json'], { env: { DATABASE_URL: database.url } });
    expect(stdout).toContain(`"action":"keys prune","subject":"key ${ended.id}"`);

    expect(idsOf(await keys('prune', '--ended-before', '0s'))).toContain(recent.id);
    expect(await keys('prune', '--ended-before', '2999-01-01', '--yes')).toEqual(
      failure('Only keys that have ended can be deleted: give a time that is over.'),
    );
    const inState = async (state: string): Promise<string[]> => idsOf(await keys('list', '--state', state));
    await revokeKey(db, active.id, new Date());
    expect(await inState('expired')).toContain(recent.id);
    expect(await inState('revoked')).toContain(active.id);
    const others = await inState('active');
    expect(others.filter((id) => [recent.id, active.id].includes(id))).toEqual([]);
  });
});

describe('keys calls', () => {
  test('tells why the last calls with a key failed, the latest first', async () => {
    const [{ id }, now] = [await aKey(), new Date()];
    const call = failedCallOf('user.me', 'request-1', new AppError('SCOPE_MISSING'), new Date(now.getTime() - 1000));
    const issues = [{ path: '/title', code: 'too_small', message: 'x' }];
    const later = failedCallOf('game.create', 'request-2', new AppError('VALIDATION_FAILED', { issues }), now);
    await db.transaction((tx) => addFailedCalls(tx, new Map([[id, [call, later]]]), now));
    const { stdout } = await keys('calls', id);
    expect(stdout.split('\n').map((line) => line.split(/ {2,}/).slice(1))).toEqual([
      ['STATUS', 'REASON', 'OPERATION', 'REQUEST', 'FAULTS'],
      ['400', 'VALIDATION_FAILED', 'game.create', 'request-2', '/title too_small'],
      ['403', 'SCOPE_MISSING', 'user.me', 'request-1'],
      [],
    ]);
    const { stdout: lines } = await keys('calls', id, '--json');
    expect(
      lines
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual([later, call]);
  });
});
