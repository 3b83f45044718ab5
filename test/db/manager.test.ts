/**
 * @engines all
 * @tier fast
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type EntityManager, In, LessThan, MoreThan } from 'typeorm';
import { schema } from '../../src/app/schema.ts';
import type { ApiKeyRow } from '../../src/auth/entity.ts';
import { createKey } from '../../src/auth/service.ts';
import { Database } from '../../src/db/database.ts';
import { Deadline } from '../../src/base/deadline.ts';
import { createUser } from '../../src/user/service.ts';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';

const now = new Date('2026-04-01T09:30:00.123Z');
const expiresAt = new Date('2026-07-01T00:00:00.000Z');

let database: TestDatabase;
let db: Database;
let userId: string;
let id: string;

const keys = (manager: EntityManager) => manager.getRepository<ApiKeyRow>('ApiKey');

describe("TypeORM's repositories", () => {
  beforeAll(async () => {
    database = await createDatabase();
    db = await Database.open(database.url, schema);
    await db.migrate();
    userId = await createUser(db, 'owner', now);
    ({ id } = await createKey(db, { userId, name: 'first', scopes: ['content:write'], expiresAt }, now));
  });
  afterAll(async () => {
    await db.close();
    await database.drop();
  });

  test('read what our statements wrote: ids as texts, instants in UTC whatever the zone of the process', async () => {
    process.env['TZ'] = 'Asia/Tokyo';
    const stored = await keys(db.manager).findOneByOrFail({ id });
    expect(stored).toMatchObject({ id, userId, name: 'first', createdAt: now, expiresAt, revokedAt: null });
    expect(
      await keys(db.manager).countBy({ id: In([id, userId]), createdAt: LessThan(new Date(now.getTime() + 1)) }),
    ).toBe(1);
    expect(await keys(db.manager).countBy({ createdAt: MoreThan(now) })).toBe(0);
  });

  test('write within a transaction, which sees it; others see it after the commit, by our statements too', async () => {
    const changed = await db.transaction(async ({ manager, dialect }) => {
      const { affected } = await keys(manager).update({ id }, { name: 'second', revokedAt: now });
      const locked = await keys(manager).findOneOrFail({ where: { id }, ...dialect.lockingRows });
      return [affected, locked.name, locked.revokedAt];
    });
    expect(changed).toEqual([1, 'second', now]);
    const rows = await db.read('SELECT name, revoked_at FROM api_keys');
    expect(rows).toEqual([{ name: 'second', revoked_at: expect.stringContaining('2026-04-01 09:30:00.123') }]);
  });

  test('are undone with the transaction', async () => {
    const failing = db.transaction(async ({ manager }) => {
      await keys(manager).delete({ id });
      expect(await keys(manager).count()).toBe(0);
      throw new Error('undone');
    });
    await expect(failing).rejects.toThrow('undone');
    expect(await keys(db.manager).count()).toBe(1);
  });

  test('outside of a transaction write nothing', async () => {
    await expect(keys(db.manager).delete({ id })).rejects.toThrow('a write belongs into a transaction');
    expect(await keys(db.manager).count()).toBe(1);
  });

  test('end at the deadline of the transaction or of the reader', async () => {
    const over = new Deadline(0);
    await new Promise((resolve) => setTimeout(resolve, 1));
    await expect(keys(db.within(over).manager).count()).rejects.toMatchObject({ reason: 'TIMEOUT' });
    await expect(db.transaction(({ manager }) => keys(manager).count(), over)).rejects.toMatchObject({
      reason: 'TIMEOUT',
    });
  });
});
