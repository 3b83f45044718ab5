/**
 * @engines all
 * @tier fast
 * @serverTier long
 */
import { createHash } from 'node:crypto';
import { afterAll, describe, expect, test } from '@jest/globals';
import { beginMaintenance, endMaintenance } from '../../src/rpc/maintenance/maintenance.ts';
import { deleteUser } from '../../src/admin/moderation/users.ts';
import { listActs, systemActor } from '../../src/auth/audit/log.ts';
import { listKeys } from '../../src/auth/service.ts';
import { listUsers } from '../../src/user/service.ts';
import {
  createInvitation,
  ENDED_INVITATION_DAYS,
  listInvitations,
  MAX_INVITATIONS,
  revokeInvitation,
  sweepInvitations,
} from '../../src/user/invitations.ts';
import { startApp, type TestApp } from '../harness/app/app.ts';

const DAY_MS = 86_400_000;
let clock = Date.parse('2026-04-01T12:00:00.000Z');
const now = (): Date => new Date(clock);
const app = await startApp({ now });
const { db } = app.context;
const by = () => systemActor(now());

const inDays = (days: number): Date => new Date(clock + days * DAY_MS);

/** A new invitation. */
const anInvitation = async (expiresAt = inDays(7)) => {
  const made = await createInvitation(db, { scopes: ['content:write', 'user:read'], expiresAt }, by());
  if (!made) throw new Error('Too many invitations are open.');
  return made;
};

/** A reply to the page. */
interface Answer {
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into it as they please
  result?: { data: { json: any } };
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  error?: { json: { data: any } };
}

/** What the page sends. */
const accept = async (token: string, nickname: unknown = 'Ada', to: Pick<TestApp, 'url'> = app) => {
  const response = await fetch(`${to.url}/invitation`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ json: { token, nickname } }),
  });
  const { result, error } = (await response.json()) as Answer;
  return { status: response.status, headers: response.headers, made: result?.data.json, data: error?.json.data };
};

/** All entries of the audit log about something. */
const actsOn = async (subject: string) => {
  const found = [];
  for await (const acts of listActs(db, new Date(0), { subject })) found.push(...acts);
  return found.map(({ actor, action, before, after }) => ({ actor, action, before, after }));
};

const stateOf = async (id: string) => (await listInvitations(db, now())).find((one) => one.id === id);

describe('an invitation', () => {
  afterAll(() => app.stop());

  test('makes a user with a key that works, which no cache keeps', async () => {
    const { id, token } = await anInvitation();
    const { status, headers, made } = await accept(token, 'Ada');
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(made).toEqual({
      id: expect.any(String),
      nickname: 'Ada',
      key: expect.stringMatching(/^cgk_\w{38}$/),
      scopes: ['content:write', 'user:read'],
      expiresAt: inDays(90).toISOString(),
    });
    expect(await app.call('user.me', {}, made.key)).toMatchObject({
      id: made.id,
      nickname: 'Ada',
      apiKey: { name: 'invitation', scopes: ['content:write', 'user:read'], expiresAt: made.expiresAt },
    });
    expect(await stateOf(id)).toMatchObject({ state: 'used', userId: made.id });
  });

  // The first round opens the connections on which the others meet.
  test.each([1, 2, 3])('is used once, by the first of sixteen at the same time, round %i', async (round) => {
    const { token } = await anInvitation();
    const replies = await Promise.all(Array.from({ length: 16 }, (_, n) => accept(token, `crowd ${round}.${n}`)));
    const [first, ...more] = replies.flatMap(({ made }) => made ?? []);
    expect(more).toEqual([]);
    expect(replies.filter(({ data }) => data?.reason === 'INVITATION_USED')).toHaveLength(15);
    expect((await listUsers(db, `crowd ${round}.`)).map(({ id }) => id)).toEqual([first.id]);
    expect(await listKeys(db, first.id)).toHaveLength(1);
  });

  test.each<[reason: string, token: () => Promise<string>]>([
    ['INVITATION_NOT_FOUND', async () => 'x'.repeat(43)],
    ['INVITATION_NOT_FOUND', async () => ''],
    [
      'INVITATION_USED',
      async () => {
        const { token } = await anInvitation();
        await accept(token);
        return token;
      },
    ],
    [
      'INVITATION_EXPIRED',
      async () => {
        const { token } = await anInvitation(inDays(1));
        clock += DAY_MS;
        return token;
      },
    ],
    [
      'INVITATION_REVOKED',
      async () => {
        const { id, token } = await anInvitation();
        await revokeInvitation(db, id, by());
        return token;
      },
    ],
  ])('that is of no use says so, and makes nothing: %s', async (reason, tokenOf) => {
    const token = await tokenOf();
    const users = (await listUsers(db)).length;
    expect(await accept(token)).toMatchObject({ status: 404, data: { reason, docs: `/errors#${reason}` } });
    expect((await listUsers(db)).length).toBe(users);
  });

  test.each([
    ['', '/nickname'],
    ['two\nlines', '/nickname'],
    ['x'.repeat(51), '/nickname'],
    [7, '/nickname'],
  ])('is not used up by a name that cannot be: %j', async (nickname, path) => {
    const { token } = await anInvitation();
    const { status, data } = await accept(token, nickname);
    expect({ status, data }).toMatchObject({
      status: 400,
      data: { reason: 'VALIDATION_FAILED', issues: [expect.objectContaining({ path })] },
    });
    expect((await accept(token)).status).toBe(200);
  });

  test('is audited: who made it, who revoked it, and what it made', async () => {
    const [used, revoked] = [await anInvitation(), await anInvitation()];
    const { made } = await accept(used.token, 'Grace');
    await revokeInvitation(db, revoked.id, by());
    await revokeInvitation(db, revoked.id, by());
    const wanted = { scopes: ['content:write', 'user:read'], expiresAt: inDays(7).toISOString() };
    const invite = { actor: by().name, action: 'users invite', before: null, after: wanted };
    expect(await actsOn(used.id)).toEqual([invite]);
    expect(await actsOn(revoked.id)).toEqual([invite, expect.objectContaining({ action: 'users uninvite' })]);
    const actor = `invitation ${used.id}`;
    const [key] = await listKeys(db, made.id);
    expect(await actsOn(made.id)).toEqual([
      { actor, action: 'users create', before: null, after: { nickname: 'Grace' } },
      { actor, action: 'keys create', before: null, after: expect.objectContaining({ userId: made.id }) },
    ]);
    expect(await actsOn(`key ${key!.id}`)).toHaveLength(1);
    expect(JSON.stringify(await actsOn(''))).not.toContain(made.key);
  });

  test('stores a digest of its token alone, and logs none', async () => {
    const { id, token } = await anInvitation();
    await accept(token);
    const rows = await db.read<Record<string, unknown>>('SELECT * FROM invitations');
    const texts = rows
      .flatMap((row) => Object.values(row))
      .map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value)));
    expect(texts).toContain(createHash('sha256').update(token).digest().toString('latin1'));
    expect(texts.filter((text) => text.includes(token))).toEqual([]);
    expect(JSON.stringify(await stateOf(id))).not.toContain(token);
    expect(app.log()).toContain('/invitation');
    expect(app.log()).not.toContain(token);
  });

  test('cannot be revoked once it is used: its user and key can', async () => {
    const { id, token } = await anInvitation();
    const { made } = await accept(token);
    await expect(revokeInvitation(db, id, by())).rejects.toMatchObject({ reason: 'INVITATION_USED' });
    await expect(revokeInvitation(db, 'x', by())).rejects.toMatchObject({ reason: 'INVITATION_NOT_FOUND' });
    await deleteUser(db, made.id, by());
    expect(await stateOf(id)).toBeUndefined();
  });

  test('goes away long after it has ended', async () => {
    const { id, token } = await anInvitation(inDays(1));
    clock += (1 + ENDED_INVITATION_DAYS) * DAY_MS;
    await sweepInvitations(db.background, now());
    expect(await stateOf(id)).toMatchObject({ state: 'expired' });
    clock += 1;
    await sweepInvitations(db.background, now());
    expect((await accept(token)).data.reason).toBe('INVITATION_NOT_FOUND');
  });

  test('waits while the service takes no writes', async () => {
    const { token } = await anInvitation();
    await beginMaintenance(db, { retryAfter: 7, note: null }, by());
    const refused = async () => (await accept(token)).data?.reason;
    // Instances learn of it within a second.
    while ((await accept('x')).data.reason !== 'MAINTENANCE');
    expect(await refused()).toBe('MAINTENANCE');
    await endMaintenance(db, by());
    while ((await accept('x')).data.reason === 'MAINTENANCE');
    expect((await accept(token)).status).toBe(200);
  });

  test('takes JSON in a small body, and no other method', async () => {
    const send = async (init: RequestInit) => {
      const response = await fetch(`${app.url}/invitation`, { method: 'POST', ...init });
      return [response.status, ((await response.json()) as Answer).error?.json.data.reason];
    };
    const headers = { 'Content-Type': 'application/json' };
    expect(await send({ body: 'token=x' })).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
    expect(await send({ headers, body: '{' })).toEqual([400, 'MALFORMED_JSON']);
    expect(await send({ headers, body: '{}' })).toEqual([400, 'VALIDATION_FAILED']);
    expect(await send({ headers, body: ' '.repeat(5000) })).toEqual([413, 'PAYLOAD_TOO_LARGE']);
    expect(await send({ method: 'PUT' })).toEqual([405, 'METHOD_NOT_SUPPORTED']);
  });

  test('is one of few', async () => {
    const open = (await listInvitations(db, now())).filter(({ state }) => state === 'open').length;
    for (let n = open; n < MAX_INVITATIONS; n += 1) await anInvitation();
    await expect(anInvitation()).rejects.toThrow('Too many');
    const one = (await listInvitations(db, now())).find(({ state }) => state === 'open');
    await revokeInvitation(db, one!.id, by());
    await anInvitation();
  });
});

test('tokens are guessed no faster than keys', async () => {
  const limited = await startApp({ rates: 'on' });
  const reasons: unknown[] = [];
  for (let n = 0; n < 31; n += 1) reasons.push((await accept(`guess ${n}`, 'Ada', limited)).data.reason);
  expect(new Set(reasons.slice(0, 30))).toEqual(new Set(['INVITATION_NOT_FOUND']));
  expect(reasons[30]).toBe('RATE_LIMITED');
  await limited.stop();
});
