/**
 * @engines sqlite
 * @tier fast
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { scopes } from '../../contract/index.ts';
import { Database } from '../../src/db/database.ts';
import { keysIn } from '../../src/auth/entity.ts';
import { createKey, listKeys, type NewKey, revokeKey, rotateKey } from '../../src/auth/service.ts';
import { KeyVerifier } from '../../src/auth/verifier.ts';
import { schema } from '../../src/app/schema.ts';
import { createUser } from '../../src/user/service.ts';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';

const DAY_MS = 86_400_000;
const log = pino({ level: 'silent' });

let database: TestDatabase;
/** Two instances of the service, as far as keys go. */
let one: { db: Database; keys: KeyVerifier };
let other: { db: Database; keys: KeyVerifier };
let userId: string;
let now: Date;

const clock = (): Date => now;
const pass = (ms: number): void => {
  now = new Date(now.getTime() + ms);
};

const openInstance = async () => {
  const db = await Database.open(database.url, schema);
  await db.migrate();
  return { db, keys: new KeyVerifier(db, log, clock) };
};

describe('API keys', () => {
  beforeAll(async () => {
    now = new Date('2026-04-01T09:30:00.000Z');
    database = await createDatabase();
    one = await openInstance();
    other = await openInstance();
  });

  beforeEach(async () => {
    userId = await createUser(one.db, 'owner', now);
  });

  afterAll(async () => {
    await one.db.close();
    await other.db.close();
    await database.drop();
  });

  const aKey = (wanted: Partial<NewKey> = {}) =>
    createKey(one.db, { userId, name: 'test', scopes, expiresAt: null, ...wanted }, now);

  const refusal = (reason: string) => expect.objectContaining({ reason });

  /** The use of each key of the user that is stored, by name. */
  const lastUses = async () =>
    Object.fromEntries((await listKeys(one.db, userId)).map((key) => [key.name, key.lastUsedAt]));

  describe('a key', () => {
    test('names its user, its scopes and itself', async () => {
      const expiresAt = new Date(now.getTime() + DAY_MS);
      const { id, key } = await aKey({ name: 'laptop', scopes: ['user:read', 'content:write'], expiresAt });
      expect(await one.keys.verify(key)).toEqual({
        userId,
        key: { id, name: 'laptop', scopes: ['user:read', 'content:write'], expiresAt },
      });
    });

    test('works until the instant it expires', async () => {
      const { key } = await aKey({ expiresAt: new Date(now.getTime() + DAY_MS) });
      pass(DAY_MS - 1);
      await expect(one.keys.verify(key)).resolves.toMatchObject({ userId });
      pass(1);
      // Although it was just found valid.
      await expect(one.keys.verify(key)).rejects.toEqual(refusal('KEY_EXPIRED'));
      await expect(other.keys.verify(key)).rejects.toEqual(refusal('KEY_EXPIRED'));
    });

    test('that never expires works for ever', async () => {
      const { key } = await aKey({ expiresAt: null });
      pass(1000 * 365 * DAY_MS);
      await expect(one.keys.verify(key)).resolves.toMatchObject({ userId });
      pass(-1000 * 365 * DAY_MS);
    });

    test('with a typo, or made elsewhere, is refused', async () => {
      const { key } = await aKey();
      const typo = key.slice(0, -1) + (key.endsWith('0') ? '1' : '0');
      await expect(one.keys.verify(typo)).rejects.toEqual(refusal('KEY_MALFORMED'));
      await expect(one.keys.verify(`${key} `)).rejects.toEqual(refusal('KEY_MALFORMED'));
      const elsewhere = 'cgk_0123456789ABCDEFGHIJKLMNOPQRSTUV3GKOVr';
      await expect(one.keys.verify(elsewhere)).rejects.toEqual(refusal('KEY_UNKNOWN'));
    });

    test('is that of its owner, however many come at once', async () => {
      const owners = await Promise.all(Array.from({ length: 12 }, (_, n) => createUser(one.db, `owner ${n}`, now)));
      const made = await Promise.all(owners.map((owner) => aKey({ userId: owner })));
      const callers = await Promise.all(made.map(({ key }) => other.keys.verify(key)));
      expect(callers.map((caller) => caller.userId)).toEqual(owners);
    });

    test('works on every instance as soon as it is made', async () => {
      const { key } = await aKey();
      await expect(other.keys.verify(key)).resolves.toMatchObject({ userId });
    });

    test('is not made for a user who does not exist', async () => {
      const nobody = '019a3c5e-b150-7e85-9f52-9d40ce61a205';
      for (const missing of [nobody, 'nobody']) {
        await expect(aKey({ userId: missing })).rejects.toEqual(refusal('USER_NOT_FOUND'));
      }
    });
  });

  describe('a revoked key', () => {
    test('stops within a second, also where it is in use', async () => {
      const { id, key } = await aKey();
      await one.keys.verify(key);
      await other.keys.verify(key);
      await revokeKey(one.db, id, now);
      for (const { keys } of [one, other]) {
        const accepted = () =>
          keys.verify(key).then(
            () => true,
            () => false,
          );
        // No more turns than a second has, and half of them again.
        for (let turn = 0; await accepted(); turn += 1) {
          expect(turn).toBeLessThan(1500 / 20);
          await sleep(20);
        }
        await expect(keys.verify(key)).rejects.toEqual(refusal('KEY_REVOKED'));
      }
    });

    test('is remembered with the instant of its first revocation', async () => {
      const { id } = await aKey();
      const revoked = now;
      await revokeKey(one.db, id, now);
      pass(DAY_MS);
      await revokeKey(other.db, id, now);
      expect(await listKeys(one.db, userId)).toEqual([expect.objectContaining({ id, revokedAt: revoked })]);
    });

    test('has to exist', async () => {
      for (const id of ['x', '019a3c5e-b150-7e85-9f52-9d40ce61a205']) {
        await expect(revokeKey(one.db, id, now)).rejects.toEqual(refusal('KEY_UNKNOWN'));
      }
    });
  });

  describe('a rotated key', () => {
    test('works beside its successor until the overlap ends', async () => {
      const old = await aKey({ name: 'ci', scopes: ['user:read'], expiresAt: new Date(now.getTime() + 90 * DAY_MS) });
      pass(30 * DAY_MS);
      const successor = await rotateKey(other.db, old.id, DAY_MS, now);
      expect(successor.key).not.toBe(old.key);
      expect(await one.keys.verify(successor.key)).toEqual({
        userId,
        // As many days as the old one had.
        key: { id: successor.id, name: 'ci', scopes: ['user:read'], expiresAt: new Date(now.getTime() + 90 * DAY_MS) },
      });
      pass(DAY_MS - 1);
      await expect(one.keys.verify(old.key)).resolves.toMatchObject({ userId });
      pass(1);
      await expect(one.keys.verify(old.key)).rejects.toEqual(refusal('KEY_EXPIRED'));
      await expect(one.keys.verify(successor.key)).resolves.toMatchObject({ userId });
    });

    test('lives no longer for it', async () => {
      const expiresAt = new Date(now.getTime() + 1000);
      const old = await aKey({ expiresAt });
      await rotateKey(one.db, old.id, DAY_MS, now);
      expect(await listKeys(one.db, userId)).toContainEqual(expect.objectContaining({ id: old.id, expiresAt }));
    });

    test('that never expires has a successor that never does', async () => {
      const old = await aKey({ expiresAt: null });
      const { id } = await rotateKey(one.db, old.id, 0, now);
      expect(await listKeys(one.db, userId)).toContainEqual(expect.objectContaining({ id, expiresAt: null }));
      await expect(other.keys.verify(old.key)).rejects.toEqual(refusal('KEY_EXPIRED'));
    });

    test.each([
      ['for 60 days', 60 * DAY_MS],
      ['for 45 minutes', 45 * 60_000],
      ['for ever', null],
    ])('that was made %s has successors for as long, however often any of them is rotated', async (_, lifetimeMs) => {
      const end = () => (lifetimeMs === null ? null : new Date(now.getTime() + lifetimeMs));
      const old = await aKey({ expiresAt: end() });
      // As version 1.1 stores it.
      await one.db.transaction((tx) => keysIn(tx).update({ id: old.id }, { lifetimeMs: null }));
      pass(1000);
      const first = await rotateKey(one.db, old.id, 60_000, now);
      expect(first).toMatchObject({ expiresAt: end(), previousUntil: new Date(now.getTime() + 60_000) });
      pass(1000);
      const second = await rotateKey(other.db, old.id, 3_600_000, now);
      expect(second).toMatchObject({ expiresAt: end(), previousUntil: first.previousUntil });
      expect(await rotateKey(one.db, first.id, 0, now)).toMatchObject({ expiresAt: end(), previousUntil: now });
      expect((await listKeys(one.db, userId)).map((key) => key.lifetimeMs)).toEqual(Array(4).fill(lifetimeMs));
    });

    test('must be valid', async () => {
      const revoked = await aKey();
      await revokeKey(one.db, revoked.id, now);
      const expired = await aKey({ expiresAt: now });
      await expect(rotateKey(one.db, revoked.id, 0, now)).rejects.toEqual(refusal('KEY_REVOKED'));
      await expect(rotateKey(one.db, expired.id, 0, now)).rejects.toEqual(refusal('KEY_EXPIRED'));
      await expect(rotateKey(one.db, 'x', 0, now)).rejects.toEqual(refusal('KEY_UNKNOWN'));
      expect(await listKeys(one.db, userId)).toHaveLength(2);
    });
  });

  describe('the last use', () => {
    test('is stored at the next flush, only of keys that were accepted', async () => {
      const { key } = await aKey({ name: 'used' });
      await aKey({ name: 'unused' });
      const { key: expired } = await aKey({ name: 'expired', expiresAt: now });
      await one.keys.verify(key);
      await expect(one.keys.verify(expired)).rejects.toEqual(refusal('KEY_EXPIRED'));
      pass(1234);
      await one.keys.verify(key);
      expect(await lastUses()).toEqual({ used: null, unused: null, expired: null });
      await one.keys.flush();
      expect(await lastUses()).toEqual({ used: now, unused: null, expired: null });
    });

    test('is the later one of two instances, whichever stores first', async () => {
      const { key } = await aKey({ name: 'shared' });
      await one.keys.verify(key);
      pass(5000);
      const latest = now;
      await other.keys.verify(key);
      await other.keys.flush();
      await one.keys.flush();
      expect(await lastUses()).toEqual({ shared: latest });
    });
  });

  test('nothing stored of a key tells the key', async () => {
    const { key } = await aKey({ name: 'secret' });
    await one.keys.verify(key);
    await one.keys.flush();
    const rows = await one.db.read<Record<string, unknown>>('SELECT * FROM api_keys WHERE name = ?', ['secret']);
    expect(rows).toHaveLength(1);
    const { prefix, ...rest } = rows[0]!;
    expect(prefix).toBe(key.slice(0, 12));
    const random = key.slice(4, -6);
    for (const [column, value] of Object.entries(rest)) {
      const texts =
        value instanceof Uint8Array
          ? ['latin1', 'hex'].map((as) => Buffer.from(value).toString(as as 'hex'))
          : [String(value)];
      // Not even a run of five of the characters that the prefix leaves secret.
      for (let start = 8; start + 5 <= random.length; start += 1) {
        const part = random.slice(start, start + 5);
        for (const text of texts) expect([column, text.includes(part)]).toEqual([column, false]);
      }
    }
  });
});
