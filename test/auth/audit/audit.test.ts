/**
 * @engines sqlite
 * @tier fast
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { listActs, recordAll, sweepEvents, systemActor } from '../../../src/auth/audit/log.ts';

import { hideRecord } from '../../../src/admin/moderation/takedown.ts';
import { suspendUser, unsuspendUser } from '../../../src/admin/moderation/users.ts';
import { publish } from '../../../src/content/write/publisher.ts';
import { renameTag } from '../../../src/content/write/tag-names.ts';
import { Database } from '../../../src/db/database.ts';
import { newId, NIL_ID } from '../../../src/db/values.ts';
import { changeState } from '../../../src/event/webhook/sender/store.ts';
import { insertWebhook, pauseWebhook, resumeWebhook } from '../../../src/event/webhook/webhooks.ts';
import { gameKind } from '../../../src/game/kind.ts';
import { gameDraft } from '../../../src/game/service.ts';
import { beginMaintenance, endMaintenance } from '../../../src/rpc/maintenance/maintenance.ts';
import { schema } from '../../../src/app/schema.ts';
import { createUser } from '../../../src/user/service.ts';
import { runCommand } from '../../harness/app/command.ts';
import { createDatabase, engine, type TestDatabase } from '../../harness/app/database.ts';

// Who did what, and how keys are used: what is remembered, and for how long.

// A dozen commands, on a machine that may be busy.
const DAY_MS = 86_400_000;

let database: TestDatabase;
let db: Database;

describe('audit log', () => {
  beforeAll(async () => {
    database = await createDatabase({ empty: true });
    db = await Database.open(database.url, schema);
  });
  afterAll(async () => {
    await db.close();
    await database.drop();
  });

  const cli = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await runCommand(args, { env: { DATABASE_URL: database.url } });
    if (code !== 0) throw new Error(`${args.join(' ')}: ${stderr}`);
    return stdout.trim();
  };

  const actions = async (since?: Date): Promise<string[]> => {
    const found: string[] = [];
    for await (const entries of listActs(db, since)) found.push(...entries.map(({ action }) => action));
    return found;
  };

  describe('privileged commands', () => {
    test('leave an entry each, with no key in it', async () => {
      await cli('migrate');
      const user = await cli('users', 'create', '--nickname', 'Maru');
      const key = await cli('keys', 'create', '--user', user, '--scopes', 'user:read');
      const [{ id }] = JSON.parse(`[${await cli('keys', 'list', '--json')}]`) as [{ id: string }];
      const second = await cli('keys', 'rotate', id);
      await cli('keys', 'revoke', id);
      await cli('keys', 'revoke', id);
      await cli('users', 'rename', user, 'Maru 2');
      await cli('users', 'rename', user, 'Maru 2');
      await cli('users', 'suspend', user);
      await cli('users', 'suspend', user);
      await cli('users', 'unsuspend', user);
      await cli('users', 'delete', user);
      await cli('users', 'delete', user, '--yes');
      expect(await actions()).toEqual([
        'migrate',
        'users create',
        'keys create',
        'keys rotate',
        'keys revoke',
        'users rename',
        'users suspend',
        'users unsuspend',
        'users delete',
        'users delete',
      ]);
      const stored = JSON.stringify(
        await db.read('SELECT actor, action, subject, before_act, after_act FROM audit_entries'),
      );
      for (const secret of [key, second]) {
        // But for what is shown of it anyway.
        expect(stored).not.toContain(secret.slice(12));
      }
      const lines = (await cli('audit', 'list', '--since', '1h', '--json'))
        .split('\n')
        .map((line) => JSON.parse(line) as object);
      expect(lines[5]).toMatchObject({
        actor: systemActor().name,
        action: 'users rename',
        subject: `user ${user}`,
        before: { nickname: 'Maru' },
        after: { nickname: 'Maru 2' },
      });
      expect(await cli('audit', 'list', '--since', '0s')).toBe('TIME  WHO  WHAT  TO');
      expect((await cli('audit', 'list')).split('\n')).toHaveLength(11);
    });

    test('leave none where they change nothing', async () => {
      const now = new Date();
      const user = await createUser(db, 'Kei', now);
      const [game, webhook] = [newId(now), newId(now)];
      await db.transaction(async (tx) => {
        const draft = gameDraft({ title: 'Rain', isFree: true, tagNames: ['rainy'] });
        await publish(tx, gameKind, user, [{ ...draft, id: game }], now);
        const filters = { types: null, recordId: null, position: 0, positionId: NIL_ID };
        const stored = { id: webhook, userId: user, url: 'https://example.com/', secret: 'x', now, ...filters };
        await insertWebhook(tx, stored);
        await changeState(tx, webhook, 'active', null, now);
      });
      await db.transaction((tx) => resumeWebhook(tx, webhook, systemActor()));
      const settle = () => Promise.resolve();
      const acts: Record<string, () => Promise<unknown>> = {
        'webhooks pause': () => db.transaction((tx) => pauseWebhook(tx, webhook, 'noise', systemActor())),
        'users suspend': () => suspendUser(db, user, systemActor(), { hide: true, settle }),
        'users unsuspend': () => unsuspendUser(db, user, systemActor()),
        'games hide': () => hideRecord(db, gameKind, game, { reason: 'spam', by: systemActor() }),
        'tags rename': () => renameTag(db, [gameKind], { slug: 'rainy', name: 'Rainy' }, settle, systemActor()),
        'maintenance on': () => beginMaintenance(db, { retryAfter: 60, note: 'a move' }, systemActor()),
        'maintenance off': () => endMaintenance(db, systemActor()),
      };
      for (const [action, act] of Object.entries(acts)) {
        const before = await actions();
        await act();
        const once = await actions();
        await act();
        expect([await actions(), once.slice(before.length)[0]]).toEqual([once, action]);
      }
      expect(await actions()).not.toContain('webhooks resume');
    });

    test('name the person who is named, beside the system user', async () => {
      const user = await cli('users', 'create', '--nickname', 'Rin', '--as', ' Maru Ōno ');
      const env = { DATABASE_URL: database.url, AUDIT_ACTOR: 'on duty' };
      await runCommand(['users', 'rename', user, 'Rin 2'], { env });
      await runCommand(['users', 'rename', user, 'Rin 3', '--as', 'Kei'], { env });
      await cli('users', 'rename', user, 'Rin 4');
      const entries = JSON.parse(`[${(await cli('audit', 'list', '--json')).replaceAll('\n', ',')}]`) as {
        actor: string;
        subject: string;
      }[];
      const own = systemActor().name;
      expect(entries.filter(({ subject }) => subject === `user ${user}`).map(({ actor }) => actor)).toEqual([
        `Maru Ōno (${own})`,
        `on duty (${own})`,
        `Kei (${own})`,
        own,
      ]);
      const { code, stderr } = await runCommand(['users', 'rename', user, 'x', '--as', 'a\nb'], { env });
      expect([code, stderr]).toEqual([2, expect.stringContaining('It must be one line without control characters.')]);
    });

    test('are found by who did it, by the command, and by what it was done to', async () => {
      const list = async (...filters: string[]): Promise<string[][]> =>
        (await cli('audit', 'list', ...filters, '--json'))
          .split('\n')
          .filter(Boolean)
          .map((line) => JSON.parse(line) as { action: string; subject: string })
          .map(({ action, subject }) => [action, subject]);
      const user = await cli('users', 'create', '--nickname', 'Sei', '--as', 'Aki');
      await cli('users', 'suspend', user);
      expect(await list('--subject', user)).toEqual([
        ['users create', `user ${user}`],
        ['users suspend', `user ${user}`],
      ]);
      expect(await list('--actor', 'Aki (')).toEqual([['users create', `user ${user}`]]);
      expect(await list('--actor', 'Aki', '--action', 'users suspend')).toEqual([]);
      expect(await list('--action', 'users susp')).toEqual([]);
      const game = await db.transaction(async (tx) => {
        const now = new Date();
        const id = newId(now);
        const before = { games: [{ id }, { id: newId(now) }] };
        await recordAll(tx, systemActor(now), [{ action: 'games hide', subject: 'games (2)', before }]);
        return id;
      });
      // One of several that were hidden in one go.
      expect(await list('--subject', game, '--action', 'games')).toEqual([['games hide', 'games (2)']]);
      // Any other text is sought in the subject only.
      expect(await list('--subject', game.slice(1))).toEqual([]);
    });

    test('do nothing where no entry can be made of it', async () => {
      const users = async (): Promise<unknown[]> => db.read('SELECT id FROM users');
      const there = await users();
      const by = { ...systemActor(), name: null as unknown as string };
      await expect(createUser(db, 'unseen', new Date(), by)).rejects.toThrow();
      expect(await users()).toEqual(there);
    });
  });

  test('thirty days of acts do not grow beyond those that are kept', async () => {
    const KEPT_DAYS = 7;
    const DAILY = 600;
    const begin = Date.parse('2031-01-01T00:00:00.000Z');
    const count = async (): Promise<number> => {
      const [row] = await db.read<{ n: number }>('SELECT COUNT(*) AS n FROM audit_entries');
      return row?.n ?? 0;
    };
    const pages = async (): Promise<number> => {
      if (engine !== 'sqlite') return 0;
      const [row] = await db.read<{ page_count: number }>('PRAGMA page_count');
      return row?.page_count ?? 0;
    };
    const sizes: { rows: number; pages: number }[] = [];
    for (let day = 0; day < 30; day += 1) {
      const now = new Date(begin + day * DAY_MS);
      const act = { action: 'users rename', subject: 'user x', before: { nickname: 'x'.repeat(50) }, after: {} };
      await db.transaction((tx) =>
        recordAll(
          tx,
          { name: 'test', now },
          Array.from({ length: DAILY }, () => act),
        ),
      );
      let sweeps = 1;
      while (await sweepEvents(db, now, KEPT_DAYS)) sweeps += 1;
      // Each takes a bounded number.
      if (day > KEPT_DAYS) expect(sweeps).toBeGreaterThan(2);
      sizes.push({ rows: await count(), pages: await pages() });
    }
    const end = new Date(begin + 29 * DAY_MS);
    expect(await actions(end)).toHaveLength(DAILY);
    expect(sizes.at(-1)?.rows).toBe((KEPT_DAYS + 1) * DAILY);
    // Room that was freed is used again.
    expect(sizes.at(-1)?.pages).toBeLessThanOrEqual((sizes[KEPT_DAYS + 3]?.pages ?? 0) * 1.1);
  });
});
