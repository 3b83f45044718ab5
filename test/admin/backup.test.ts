/**
 * @engines sqlite
 * @tier long
 */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  readdirSync,
  rmSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { migrations } from '../../migrations/index.ts';
import { BACKUP, timeOfLast } from '../../src/auth/audit/log.ts';
import { holdExclusively } from '../../src/db/sqlite/files/exclusive.ts';
import { runCommand } from '../harness/app/command.ts';
import { expectExactCounts } from '../harness/app/counts.ts';
import { aKey, startLoad, storedGames, withDatabase } from '../harness/http/load.ts';
import { type Outcome, runCli, type ServeProcess, startServe } from '../harness/app/program.ts';
import { fillDisk, mountSmallDisk } from '../harness/servers/small-disk.ts';

// Backups of an SQLite file, and the way back.

/** Makes a row that refers to nothing. */
const ORPHAN = `
  PRAGMA foreign_keys = OFF;
  INSERT INTO game_favorites (user_id, game_id) VALUES (randomblob(16), (SELECT id FROM users));
`;
const LATEST = migrations.at(-1)!.name;

let folder: string;
/** A sound database of no service. */
let original: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'content-gateway-original-'));
  original = join(folder, 'original.db');
  const env = { DATABASE_URL: `sqlite:${original}` };
  for (const args of [['migrate'], ['users', 'create', '--nickname', 'Ada']]) {
    expect(await runCommand(args, { env })).toMatchObject({ code: 0 });
  }
});
afterAll(() => rm(folder, { recursive: true }));

let place: string;
let database: string;
beforeEach(async () => {
  place = await mkdtemp(join(tmpdir(), 'content-gateway-backup-'));
  database = join(place, 'content.db');
});
afterEach(() => rm(place, { recursive: true, force: true }));

const at = (name: string): string => join(place, name);
const run = (...args: string[]): Promise<Outcome> => runCommand(args, { env: { DATABASE_URL: `sqlite:${database}` } });
const refusal = (fault: string | RegExp): Outcome => ({
  code: 1,
  stdout: '',
  stderr: expect.stringMatching(fault) as unknown as string,
});
const modeOf = (file: string): string => (statSync(file).mode & 0o777).toString(8);

/** Runs statements on a file by a program of its own. */
const alter = (file: string, sql: string): void => {
  const opened = new DatabaseSync(file);
  // Who attacks may change what SQLite has written of the schema.
  opened.enableDefensive(false);
  opened.exec(sql);
  opened.close();
};

/** The nicknames in a file that nobody uses. Without locks, which this process would keep. */
const usersIn = (file: string): string[] => {
  const opened = new DatabaseSync(`file:${file}?immutable=1`);
  const rows = opened.prepare('SELECT nickname FROM users').all() as { nickname: string }[];
  opened.close();
  return rows.map(({ nickname }) => nickname);
};

/** What every name in the place leads to. */
const places = (): Record<string, number> =>
  Object.fromEntries(readdirSync(place).map((name) => [name, statSync(at(name)).ino]));

describe('beside a service', () => {
  let served: ServeProcess;
  let key: string;
  beforeEach(async () => {
    key = await aKey(`sqlite:${database}`);
    served = await startServe({ url: `sqlite:${database}` });
  });
  afterEach(() => served.stop('SIGKILL'));

  test('that writes, a backup is of one moment, whole, and private', async () => {
    const load = startLoad(served.base, key, 8);
    await load.reached(200);
    const before = load.published();
    const began = Date.now();
    const outcome = await run('backup', at('copy.db'), '--json');
    const after = load.endings.length;
    load.stop();
    await load.done;
    expect(after).toBeGreaterThan(before.length);
    expect(load.published()).toHaveLength(load.endings.length);

    const { bytes, ...result } = JSON.parse(outcome.stdout) as { bytes: number };
    expect({ ...outcome, stdout: result }).toEqual({
      code: 0,
      stdout: { file: at('copy.db'), migration: LATEST },
      stderr: '',
    });
    expect([statSync(at('copy.db')).size, modeOf(at('copy.db'))]).toEqual([bytes, '600']);
    expect(readdirSync(place).toSorted()).toEqual(['content.db', 'content.db-shm', 'content.db-wal', 'copy.db']);

    // The metric reads its time there.
    const recorded = await withDatabase(`sqlite:${database}`, (db) => timeOfLast(db, BACKUP));
    expect(Number(recorded)).toBeGreaterThanOrEqual(began);

    const stored = await storedGames(`sqlite:${at('copy.db')}`);
    expect(before.filter((id) => !stored.has(id))).toEqual([]);
    expect(stored.size).toBeLessThan(load.published().length);
    await withDatabase(`sqlite:${at('copy.db')}`, expectExactCounts);
  });

  test('a restore is refused, and changes nothing', async () => {
    copyFileSync(original, at('copy.db'));
    const inode = statSync(database).ino;
    expect(await run('restore', at('copy.db'))).toEqual(refusal(/content\.db is in use: stop the service/));
    expect(statSync(database).ino).toBe(inode);
    expect((await fetch(`${served.base}/readyz`)).status).toBe(200);
    expect(readdirSync(place).filter((name) => name.includes('partial'))).toEqual([]);

    await rm(database);
    expect(await run('restore', at('copy.db'))).toEqual(refusal(/content\.db-wal is there without its database/));
  });

  test('that is idle, a plain copy of the file holds everything', async () => {
    const load = startLoad(served.base, key, 4);
    await load.reached(40);
    load.stop();
    await load.done;
    const ids = load.published();
    // It is brought into the file soon, by itself.
    const copied = (round: number): string => {
      copyFileSync(database, at(`plain-${round}.db`));
      return at(`plain-${round}.db`);
    };
    let [isWhole, round] = [false, 0];
    for (const late = performance.now() + 15_000; !isWhole && performance.now() < late; round += 1) {
      const stored = await storedGames(`sqlite:${copied(round)}`).catch(() => new Set());
      isWhole = ids.every((id) => stored.has(id));
    }
    expect(isWhole).toBe(true);
    copied(round);
    chmodSync(at(`plain-${round}.db`), 0o400);
    expect(await run('restore', '--check', at(`plain-${round}.db`))).toMatchObject({ code: 0 });
    expect(existsSync(at(`plain-${round}.db-wal`))).toBe(false);
  });
});

describe('a closed database', () => {
  test('holds everything in its file alone', async () => {
    copyFileSync(original, database);
    expect(await run('users', 'create', '--nickname', 'Grace')).toMatchObject({ code: 0 });
    expect(usersIn(database).toSorted()).toEqual(['Ada', 'Grace']);
  });
});

describe('backup', () => {
  const refuse = (file: string, fault: string | RegExp, ...options: string[]): Promise<void> =>
    runCommand(['backup', file, ...options], { env: { DATABASE_URL: `sqlite:${database}` } }).then((outcome) =>
      expect(outcome).toEqual(refusal(fault)),
    );

  test('refuses a place where it would destroy something, or cannot be', async () => {
    copyFileSync(original, database);
    writeFileSync(at('taken'), 'something');
    symlinkSync(at('nowhere'), at('dangling'));
    linkSync(database, at('second-name.db'));
    writeFileSync(at('used.db-wal'), 'the log of another database');
    await refuse(at('taken'), /taken exists: choose another name, or replace it with --force\.\n$/);
    await refuse(at('dangling'), /dangling exists/);
    await refuse(at('none/copy.db'), /There is no folder .*none: make it first/);
    await refuse(database, /is the database itself/, '--force');
    await refuse(at('second-name.db'), /is the database itself/, '--force');
    await refuse(at('used.db'), /used\.db-wal exists, which belongs to a database of the name/, '--force');
    expect(readFileSync(at('taken'), 'utf8')).toBe('something');
    expect(readdirSync(place)).toHaveLength(5);
  });

  test.each([
    ['sqlite::memory:', /The database is in memory only/],
    ['sqlite:/nowhere/content.db', /There is no database at \/nowhere\/content\.db/],
  ])('of %s says what to do, in a line', async (url, fault) => {
    const outcome = await runCommand(['backup', at('copy.db')], { env: { DATABASE_URL: url } });
    expect(outcome).toEqual(refusal(fault));
    expect(outcome.stderr.match(/\n/g)).toHaveLength(1);
  });

  test('replaces a file when it is told to, and removes what one that was killed has left', async () => {
    copyFileSync(original, database);
    writeFileSync(at('copy.db'), 'something');
    const host = hostname().replaceAll(/[^\w.]/g, '_');
    const left = (pid: number): string => at(`older.db.gateway-${host}-${pid}.partial`);
    writeFileSync(left(999_999_999), 'left');
    writeFileSync(`${left(999_999_999)}-journal`, 'left');
    writeFileSync(left(process.pid), 'under way');
    // By a process of its own, which leaves no log of the database behind when it ends.
    const env = { DATABASE_URL: `sqlite:${database}` };
    const outcome = await runCli(['backup', at('copy.db'), '--force'], { env });
    expect(outcome).toMatchObject({ code: 0, stdout: `${at('copy.db')}\n` });
    expect(readdirSync(place).toSorted()).toEqual(['content.db', 'copy.db', basename(left(process.pid))]);
    expect(usersIn(at('copy.db'))).toEqual(['Ada']);
  });

  test('of what is damaged, or no database of the service, is none', async () => {
    writeFileSync(database, 'not a database, but quite a long text of something else: '.repeat(100));
    expect(await run('backup', at('copy.db'))).toEqual(refusal(/content\.db is damaged, or no SQLite database/));
    await rm(database);
    alter(database, 'CREATE TABLE other (id)');
    expect(await run('backup', at('copy.db'))).toEqual(refusal(/content\.db holds no database of this service/));
    await rm(database);
    copyFileSync(original, database);
    alter(database, ORPHAN);
    expect(await run('backup', at('copy.db'))).toEqual(
      refusal(/damaged: 2 rows of \w+ refer to rows that are missing/),
    );
    expect(readdirSync(place)).toEqual(['content.db']);
  });

  const disk = mountSmallDisk(1);
  (disk ? test : test.skip)('on a full disk says so, and leaves nothing', async () => {
    copyFileSync(original, database);
    alter(database, 'UPDATE users SET bio = zeroblob(3000000)');
    expect(await run('backup', join(disk!.folder, 'copy.db'))).toEqual(
      refusal(/No room in .*: 3\.\d MiB are needed, \d\.\d MiB are free\. Nothing was changed\.\n$/),
    );
    expect(readdirSync(disk!.folder)).toEqual([]);
    expect(usersIn(database)).toEqual(['Ada']);
  });
});

describe('restore', () => {
  beforeEach(() => {
    copyFileSync(original, at('copy.db'));
    copyFileSync(original, database);
    alter(database, "PRAGMA journal_mode = WAL; UPDATE users SET nickname = 'Grace'");
  });

  const keptIn = (): string[] => readdirSync(place).filter((name) => name.includes('before-restore'));

  test('puts the backup in place, with the mode of what was there, and keeps that', async () => {
    chmodSync(database, 0o640);
    const outcome = await run('restore', at('copy.db'));
    const [kept = ''] = keptIn();
    expect(outcome).toEqual({
      code: 0,
      stdout: `${database}\n`,
      stderr: `The database that was there is now ${at(kept)}\nIts tables are those of this version.\n`,
    });
    expect(readdirSync(place).toSorted()).toEqual(['content.db', kept, 'copy.db']);
    expect([modeOf(database), modeOf(at(kept)), modeOf(at('copy.db'))]).toEqual(['640', '640', modeOf(original)]);
    expect(usersIn(database)).toEqual(['Ada']);
    expect(usersIn(at(kept))).toEqual(['Grace']);

    expect(await run('restore', at(kept), '--json')).toMatchObject({ code: 0, stderr: '' });
    expect(usersIn(database)).toEqual(['Grace']);
    expect(keptIn()).toHaveLength(2);
  });

  test('keeps what was only in the log of a process that was killed', async () => {
    // Such as the copy of a file and its log, which somebody has open, is.
    const opened = new DatabaseSync(database);
    opened.exec("PRAGMA wal_autocheckpoint = 0; UPDATE users SET nickname = 'Hedy'");
    for (const suffix of ['', '-wal']) copyFileSync(`${database}${suffix}`, at(`killed.db${suffix}`));
    opened.close();
    const env = { DATABASE_URL: `sqlite:${at('killed.db')}` };
    expect(await runCommand(['restore', at('copy.db')], { env })).toMatchObject({ code: 0 });
    expect(existsSync(at('killed.db-wal'))).toBe(false);
    expect(usersIn(at('killed.db'))).toEqual(['Ada']);
    expect(usersIn(at(keptIn()[0]!))).toEqual(['Hedy']);
  });

  test('makes the database where there is none, and follows a link to it', async () => {
    await rm(database);
    expect(JSON.parse((await run('restore', at('copy.db'), '--json')).stdout)).toEqual({
      file: at('copy.db'),
      migration: LATEST,
      pending: [],
      webhooks: { total: 0, unreadable: 0 },
      heldOf: null,
      database,
      kept: null,
    });
    expect([modeOf(database), usersIn(database)]).toEqual(['600', ['Ada']]);

    symlinkSync(database, at('link.db'));
    const env = { DATABASE_URL: `sqlite:${at('link.db')}` };
    expect(await runCommand(['restore', at('copy.db')], { env })).toMatchObject({ stdout: `${database}\n` });
    expect(usersIn(at('link.db'))).toEqual(['Ada']);
  });

  test('accepts an older version, which the next start migrates, and no newer one', async () => {
    const older = { DATABASE_URL: `sqlite:${at('copy.db')}` };
    await runCli(['migrate', '--down', '--yes'], { env: older });
    expect(await run('restore', at('copy.db'))).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(`lacks ${LATEST}: the next start migrates it\\.\n$`),
    });
    const served = await startServe({ url: `sqlite:${database}`, env: { AUTO_MIGRATE: '' } });
    expect(await served.stop()).toBe(0);
    // In a process of its own, which takes along what it has open.
    const { stdout } = await runCli(['migrate', '--status'], { env: { DATABASE_URL: `sqlite:${database}` } });
    expect(stdout).toContain(`applied  ${LATEST}`);

    alter(at('copy.db'), "INSERT INTO migrations (timestamp, name) VALUES (9, 'Later9')");
    expect(await run('restore', at('copy.db'))).toEqual(refusal(/newer version: this one does not know .*Later9/));
  });

  test('keeps out who opens the database meanwhile, and who had just opened it', async () => {
    // As a service does at its start: what it opened is not used before it keeps a log.
    const early = new DatabaseSync(database, { timeout: 0 });
    const release = holdExclusively(database);
    const turnOn = () => early.exec('PRAGMA journal_mode = WAL');
    expect(turnOn).toThrow('database is locked');
    release();
    expect(await run('restore', at('copy.db'))).toMatchObject({ code: 0 });
    expect(turnOn).toThrow('attempt to write a readonly database');
    early.close();
    expect(existsSync(`${database}-wal`)).toBe(false);
    expect(usersIn(database)).toEqual(['Ada']);
  });

  const disk = mountSmallDisk(4);
  (disk ? test : test.skip)('on a full disk says so, changes nothing, and works when there is room', async () => {
    const on = (name: string): string => join(disk!.folder, name);
    const restored = () =>
      runCommand(['restore', at('copy.db')], { env: { DATABASE_URL: `sqlite:${on('content.db')}` } });
    alter(at('copy.db'), 'UPDATE users SET bio = zeroblob(3000000)');
    const full = refusal(/^error: No room in .*: 3\.\d MiB are needed, \d\.\d MiB are free\. Nothing was changed\.\n$/);

    // What there is fits, and a part of the copy.
    disk!.resize(2);
    copyFileSync(database, on('content.db'));
    chmodSync(on('content.db'), 0o640);
    expect(await restored()).toEqual(full);
    // But for its log, which is turned off as long as nobody uses it.
    expect([readdirSync(disk!.folder), modeOf(on('content.db'))]).toEqual([['content.db'], '640']);
    expect(usersIn(on('content.db'))).toEqual(['Grace']);

    // Not a byte more fits, and what was stored last is in the log of a process that was killed.
    const opened = new DatabaseSync(database);
    opened.exec(
      "PRAGMA wal_autocheckpoint = 0; UPDATE users SET nickname = 'Hedy'; CREATE TABLE more AS SELECT zeroblob(99999) AS x",
    );
    for (const suffix of ['', '-wal']) copyFileSync(`${database}${suffix}`, on(`content.db${suffix}`));
    opened.close();
    fillDisk(on('filler'));
    expect(await restored()).toEqual(full);
    expect(readdirSync(disk!.folder).toSorted()).toEqual(['content.db', 'content.db-wal', 'filler']);
    // As the next start finds it, from the file and its log together.
    for (const suffix of ['', '-wal']) copyFileSync(on(`content.db${suffix}`), at(`found.db${suffix}`));
    const found = new DatabaseSync(at('found.db'));
    expect(found.prepare('SELECT nickname, integrity_check FROM users, pragma_integrity_check').all()).toEqual([
      { nickname: 'Hedy', integrity_check: 'ok' },
    ]);
    found.close();

    disk!.resize(8);
    expect(await restored()).toMatchObject({ code: 0 });
    expect(usersIn(on('content.db'))).toEqual(['Ada']);
    const kept = readdirSync(disk!.folder).find((name) => name.includes('before-restore')) ?? '';
    expect(usersIn(on(kept))).toEqual(['Hedy']);
    expect(readdirSync(disk!.folder).toSorted()).toEqual(['content.db', kept, 'filler']);
  });

  /** What makes every later profile tell the hashes of all keys. */
  const LEAK = `CREATE TRIGGER leak AFTER UPDATE ON users BEGIN
    UPDATE users SET bio = (SELECT group_concat(hex(key_hash)) FROM api_keys) WHERE id = NEW.id; END`;
  /** Has the schema of a table say something else of it. */
  const rewrite = (table: string, from: string, to: string): string =>
    `PRAGMA writable_schema = ON;
    UPDATE sqlite_schema SET sql = replace(sql, '${from}', '${to}') WHERE name = '${table}'`;

  test.each<[what: string, sql: string, fault: string]>([
    ['a trigger', LEAK, 'the trigger "leak" of "users" is none of this service\'s'],
    ['a view', 'CREATE VIEW "a b" AS SELECT * FROM api_keys', 'the view "a b" is none of this service\'s'],
    ['a table', 'CREATE TABLE notes (id)', 'the table "notes" is none of this service\'s'],
    [
      'a virtual table',
      'CREATE VIRTUAL TABLE words USING fts5(word)',
      'the table "words" is none of this service\'s; the table "words_data" is none of this service\'s; ' +
        'the table "words_idx" is none of this service\'s; and 3 more',
    ],
    [
      'an index',
      'CREATE UNIQUE INDEX one_each ON games (author_id)',
      'the index "one_each" of "games" is none of this service\'s',
    ],
    [
      'an index on less than ours',
      'DROP INDEX tags_slug; CREATE INDEX tags_slug ON tags (slug)',
      'the index "tags_slug" of "tags" is not as the migrations make it',
    ],
    ['no index', 'DROP INDEX tags_slug', 'the index "tags_slug" of "tags" is missing'],
    [
      'another column',
      'ALTER TABLE users ADD COLUMN is_admin integer',
      'the table "users" is not as the migrations make it',
    ],
    [
      'a generated column',
      'ALTER TABLE users ADD COLUMN told AS (hex(id))',
      'the table "users" is not as the migrations make it',
    ],
    [
      'a check',
      rewrite('tags', '"slug" varchar(200) NOT NULL', '"slug" varchar(200) NOT NULL CHECK (length(slug) < 9)'),
      'the table "tags" is not as the migrations make it',
    ],
    [
      'another collation',
      rewrite('tags', '"slug" varchar(200) NOT NULL', '"slug" varchar(200) NOT NULL COLLATE NOCASE'),
      'the table "tags" is not as the migrations make it',
    ],
    [
      'keywords that are none',
      rewrite('idempotency_records', '"answer" text NOT NULL', '"answer" text "NOT" "NULL"'),
      'the table "idempotency_records" is not as the migrations make it',
    ],
    [
      'no foreign key',
      rewrite('api_keys', 'ON DELETE CASCADE', 'ON DELETE NO ACTION'),
      'the table "api_keys" is not as the migrations make it',
    ],
    [
      'a migration left out',
      `DELETE FROM migrations WHERE name = '${migrations[2]!.name}'`,
      `the migration ${migrations[2]!.name} was left out`,
    ],
  ])('of a backup that has %s names it and changes nothing', async (_, sql, fault) => {
    alter(at('copy.db'), sql);
    const before = places();
    const refused = {
      code: 1,
      stdout: '',
      stderr: `error: ${at('copy.db')} is not what this service makes: ${fault}. Nothing was changed. If you know what it is and trust the rest, take it out of a copy of the file first.\n`,
    };
    expect(await run('restore', '--check', at('copy.db'))).toEqual(refused);
    expect(await run('restore', at('copy.db'))).toEqual(refused);
    expect(places()).toEqual(before);
    expect(usersIn(database)).toEqual(['Grace']);
    // A backup of such a database is one, and says so.
    const env = { DATABASE_URL: `sqlite:${at('copy.db')}` };
    expect(await runCommand(['backup', at('again.db')], { env })).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('warning: restore will refuse this backup'),
    });
  });

  test('of what SQLite keeps beside the tables is accepted, and of each version', async () => {
    alter(at('copy.db'), 'ANALYZE');
    expect(await run('restore', '--check', at('copy.db'))).toMatchObject({ code: 0 });
    const env = { DATABASE_URL: `sqlite:${at('copy.db')}` };
    for (const { name } of migrations.slice(0, -1).toReversed()) {
      await runCommand(['migrate', '--down', '--to', name], { env });
      expect([name, await run('restore', '--check', at('copy.db'))]).toMatchObject([name, { code: 0 }]);
    }
    await runCommand(['migrate'], { env });
    expect(await run('restore', at('copy.db'))).toMatchObject({ code: 0 });
  });

  test.each([
    ['cut short', () => truncateSync(at('copy.db'), statSync(original).size / 2), /damaged/],
    ['something else', () => writeFileSync(at('copy.db'), 'x'.repeat(5000)), /no SQLite database/],
    ['another program’s', () => alter(at('copy.db'), 'DROP TABLE migrations'), /holds no database of this service/],
    ['a part of the whole', () => alter(at('copy.db'), ORPHAN), /refer to rows that are missing/],
    ['away', () => rmSync(at('copy.db')), /There is no file/],
  ])('of a backup that is %s changes nothing', async (_, spoil, fault) => {
    spoil();
    const before = places();
    expect(await run('restore', at('copy.db'))).toEqual(refusal(fault));
    expect(places()).toEqual(before);
    expect(usersIn(database)).toEqual(['Grace']);
  });
});

test('`backup` and `restore` say that the key of the secrets of webhooks is in no backup, and whether the one here is it', async () => {
  copyFileSync(original, database);
  expect((await run('backup', at('none.db'))).stderr).not.toContain('key');
  const user = (await run('users', 'create', '--nickname', 'Bea')).stdout.trim();
  await run('webhooks', 'create', '--user', user, '--url', 'https://hooks.example.com/');
  const key = `${database}.key`;
  const backup = await run('backup', at('backup.db'), '--json');
  expect(backup).toMatchObject({ code: 0, stderr: expect.stringContaining(`keep ${key} as well`) });
  // A file that this process has not opened: it closes a connection only when its statements are garbage.
  for (const end of ['', '-wal', '-shm']) rmSync(database + end, { force: true });
  copyFileSync(original, database);

  const restores = [
    ['restore', at('backup.db'), '--check'],
    ['restore', at('backup.db')],
  ];
  for (const args of restores) {
    expect((await run(...args)).stderr).toContain('The key here decrypts the secrets of its webhooks.');
  }
  rmSync(key);
  for (const args of restores) {
    const { code, stderr } = await run(...args);
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining(`do not decrypt the secrets of 1 of its webhooks. Until the key`),
    ]);
    expect(stderr).toContain(`is in ${key}, nothing is sent`);
  }
  const { stdout } = await run('restore', at('backup.db'), '--check', '--json');
  expect(JSON.parse(stdout)).toMatchObject({ webhooks: { total: 1, unreadable: 1 } });
  expect((await run('restore', at('none.db'))).stderr).not.toContain('key');
});
