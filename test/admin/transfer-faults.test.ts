/**
 * @engines sqlite
 * @tier long
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { suspendUser } from '../../src/admin/moderation/users.ts';
import { Database } from '../../src/db/database.ts';
import { storedIdToBytes, timeToDb } from '../../src/db/values.ts';
import { schema } from '../../src/app/schema.ts';
import { seed } from '../../src/sandbox/seed/service.ts';
import { startApp, type TestApp } from '../harness/app/app.ts';
import { runCommand } from '../harness/app/command.ts';
import { expectExactCounts } from '../harness/app/counts.ts';
import { createDatabase, engine } from '../harness/app/database.ts';
import { PROGRAM, runCli } from '../harness/app/program.ts';
import { mountSmallDisk } from '../harness/servers/small-disk.ts';

// Imports that a database or a disk fails, what a terminal shows of them, and what `export --since` holds.

const UNTIL = new Date('2026-04-01');

let folder: string;
let source: TestApp;
let file: string;
let text: string;
let env: Record<string, string>;

describe('export and import under faults', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'content-gateway-faults-'));
    source = await startApp();
    await seed(source.context.db, { users: 700, games: 1200, images: 100, randomSeed: 7, until: UNTIL }, () => {});
    env = { DATABASE_URL: source.databaseUrl };
    file = join(folder, 'content.jsonl');
    await runCommand(['export', '--out', file], { env });
    text = await readFile(file, 'utf8');
  });
  afterAll(async () => {
    await source.stop();
    await rm(folder, { recursive: true, force: true });
  });

  /** Runs `work` on an empty database with all tables. */
  const withEmpty = async (url: string, work: (db: Database) => Promise<void>): Promise<void> => {
    const db = await Database.open(url, schema);
    try {
      await db.migrate();
      await work(db);
    } finally {
      await db.close();
    }
  };

  const countOf = async (db: Database, table: string): Promise<number> => {
    const [row] = await db.read<{ n: number }>(`SELECT COUNT(*) AS n FROM ${table}`);
    return row?.n ?? 0;
  };

  /** Whether the rows of a database are those of whole batches: of 700 users, two; of games, 500 at a time. */
  const expectWholeBatches = async (db: Database): Promise<void> => {
    expect([0, 500, 700]).toContain(await countOf(db, 'users'));
    expect([0, 500, 1000, 1200]).toContain(await countOf(db, 'games'));
    await expectExactCounts(db);
  };

  const expectAll = async (url: string, db: Database, place: string): Promise<void> => {
    await expectExactCounts(db);
    const again = join(place, 'again.jsonl');
    expect((await runCli(['export', '--out', again], { env: { DATABASE_URL: url } })).code).toBe(0);
    expect((await readFile(again, 'utf8')) === text).toBe(true);
  };

  /** What fails a batch of games at its very end, when all of it but its documents is stored. */
  const FAILURE = 'CREATE TRIGGER failure BEFORE INSERT ON search_texts FOR EACH ROW';
  const failing =
    engine === 'sqlite'
      ? `${FAILURE} WHEN (SELECT COUNT(*) FROM games) > 600 BEGIN SELECT RAISE(ABORT, 'the disk is broken'); END`
      : `${FAILURE} IF (SELECT COUNT(*) FROM games) > 600 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the disk is broken'; END IF`;

  test('an import that the database fails midway has stored whole batches, and goes on from there', async () => {
    const database = await createDatabase();
    await withEmpty(database.url, async (db) => {
      const run = () => runCli(['import', file, '--json'], { env: { DATABASE_URL: database.url } });
      await db.transaction((tx) => tx.execute(failing));
      expect(await run()).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(/^error: .+\n$/) });
      expect(await countOf(db, 'games')).toBe(500);
      await expectWholeBatches(db);

      await db.transaction((tx) => tx.execute('DROP TRIGGER failure'));
      const { code, stdout } = await run();
      expect([code, JSON.parse(stdout)]).toEqual([
        0,
        expect.objectContaining({ users: 0, games: 700, images: 100, existing: 1200, bad: 0, isComplete: true }),
      ]);
      await expectAll(database.url, db, folder);
      await rm(join(folder, 'again.jsonl'));
    });
    await database.drop();
  });

  const disk = engine === 'sqlite' ? mountSmallDisk(3) : undefined;

  if (engine === 'sqlite') {
    (disk ? test : test.skip)(
      'an import onto a full disk has stored whole batches, and goes on with more room',
      async () => {
        const url = `sqlite:${join(disk!.folder, 'content.db')}`;
        const run = () => runCli(['import', file], { env: { DATABASE_URL: url } });
        await withEmpty(url, async () => {});
        const { code, stdout, stderr } = await run();
        expect([code, stdout, stderr]).toEqual([1, '', expect.stringMatching(/^error: .+\n$/)]);
        disk!.resize(64);
        await withEmpty(url, async (db) => {
          const stored = await countOf(db, 'games');
          expect(stored).toBeLessThan(1200);
          await expectWholeBatches(db);
          expect((await run()).code).toBe(0);
          await expectAll(url, db, disk!.folder);
        });
      },
    );
  }

  const canBeTerminal = process.platform === 'linux';

  (canBeTerminal ? describe : describe.skip)('on a terminal', () => {
    /** What a terminal gets of an import. */
    const onTerminal = async (what: string): Promise<string> => {
      const command = `'${process.execPath}' '${PROGRAM}' import --quiet ${what}`;
      const { stdout } = await promisify(execFile)(
        'script',
        ['--quiet', '--return', '--command', command, '/dev/null'],
        {
          env: { ...env, PATH: process.env['PATH'], TERM: 'xterm' },
        },
      );
      return stdout;
    };
    const BAR = /\[[=-]+\] \d+ % of \d+ MiB, /;

    test('an import shows how far it is, and clears that before it tells what it did', async () => {
      const shown = await onTerminal(`'${file}'`);
      expect(shown).toMatch(BAR);
      // Cleared: the cursor at the beginning of the line, and all of it erased.
      const [, after] = shown.split('\u{1b}[1G\u{1b}[2K');
      expect(after).toMatch(
        /^Stored 0 users, 0 games and 0 image posts in [\d.]+ s; 2000 were there already; 0 bad lines\.\r\n$/,
      );
    });

    test('an import of the standard input, whose size nobody knows, shows none', async () => {
      expect(await onTerminal(`- < '${file}'`)).toMatch(/^Stored 0 users/);
    });
  });

  test('elsewhere than on a terminal an import shows no more than what it did', async () => {
    const { stdout, stderr } = await runCli(['import', file], { env });
    expect([stdout, stderr]).toEqual([expect.stringMatching(/^Stored 0 users.*\n$/), '']);
  });

  describe('export --since', () => {
    const AT = new Date('2026-05-01T12:00:00.000Z');
    const LATER = new Date('2026-05-01T12:00:00.001Z');
    let app: TestApp;
    let games: Record<'before' | 'at' | 'changed' | 'liked' | 'hidden', string>;

    beforeAll(async () => {
      app = await startApp();
      const { db } = app.context;
      const author = await app.aUser();
      const secretive = await app.aUser();
      const ids = await Promise.all(
        [author, author, author, author, secretive].map(async (by) => (await app.aGame({}, by)).id),
      );
      games = { before: ids[0]!, at: ids[1]!, changed: ids[2]!, liked: ids[3]!, hidden: ids[4]! };
      const early = timeToDb(new Date(AT.getTime() - 1));
      const date = (id: string, created: string, updated: string) =>
        db.transaction((tx) =>
          tx.execute('UPDATE games SET created_at = ?, updated_at = ? WHERE id = ?', [
            created,
            updated,
            storedIdToBytes(id),
          ]),
        );
      await date(games.before, early, early);
      await date(games.at, timeToDb(AT), timeToDb(AT));
      await date(games.changed, early, timeToDb(AT));
      await date(games.liked, early, early);
      await date(games.hidden, early, timeToDb(AT));
      await app.call('game.toggleFavorite', { gameId: games.liked }, author.key);
      await suspendUser(db, secretive.id, { name: 'an operator', now: AT }, { hide: true, settle: async () => {} });
    });
    afterAll(() => app.stop());

    const since = async (time: string): Promise<string[]> => {
      const { stdout } = await runCommand(['export', '--only', 'games', '--since', time], {
        env: { DATABASE_URL: app.databaseUrl },
      });
      const lines = stdout.trimEnd().split('\n');
      return lines.slice(1, -1).map((line) => (JSON.parse(line) as { id: string }).id);
    };
    const sorted = (...ids: string[]): string[] => ids.toSorted();

    test.each([
      ['a time', AT.toISOString()],
      ['the same time elsewhere', '2026-05-01T21:00:00.000+09:00'],
    ])('of %s holds what is of that very time, or was changed then, hidden ones as well', async (_, time) => {
      expect(await since(time)).toEqual(sorted(games.at, games.changed, games.hidden));
    });

    test('of a millisecond later holds none of it', async () => {
      expect(await since(LATER.toISOString())).toEqual([]);
    });

    test('of a day means its beginning in UTC', async () => {
      const all = Object.values(games);
      expect(await since('2026-05-01')).toEqual(sorted(...all));
      expect(await since('2026-05-02')).toEqual([]);
    });

    test('of what is no time is refused', async () => {
      for (const time of ['yesterday', '2026-05-01T12:00:00', '2026-13-01', '']) {
        const outcome = await runCommand(['export', '--since', time], { env: { DATABASE_URL: app.databaseUrl } });
        expect(outcome).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining('It must be a date') });
      }
    });

    test('of another time does not go on with a file', async () => {
      const path = join(folder, 'since.jsonl');
      const [first] = text.split('\n', 1);
      await writeFile(path, `${first}\n`);
      const { code, stderr } = await runCommand(['export', '--since', '2026-05-01', '--out', path], {
        env: { DATABASE_URL: app.databaseUrl },
      });
      expect([code, stderr]).toEqual([1, expect.stringContaining('another export')]);
    });
  });
});
