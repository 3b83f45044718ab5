/**
 * @engines sqlite server
 * @tier long
 */
import { once } from 'node:events';
import { watch } from 'node:fs';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { imageKind } from '../../src/image/kind.ts';
import { readRecordState } from '../../src/admin/moderation/records.ts';
import { hideRecord, unhideRecord } from '../../src/admin/moderation/takedown.ts';
import { suspendUser, unsuspendUser } from '../../src/admin/moderation/users.ts';
import { Database } from '../../src/db/database.ts';
import { insertRows } from '../../src/db/sql/write-rows.ts';
import { type Bytes, idFromBytes, newId, storedIdToBytes, timeToDb } from '../../src/db/values.ts';
import { gameKind } from '../../src/game/kind.ts';
import { reconcile } from '../../src/admin/reconcile/service.ts';
import { schema } from '../../src/app/schema.ts';
import { seed } from '../../src/sandbox/seed/service.ts';
import { exportLines, type ExportOptions, headerOf, lineOf } from '../../src/admin/transfer/export.ts';
import { parts } from '../../src/admin/transfer/format.ts';
import { BadLines, type Imported, importLines } from '../../src/admin/transfer/import.ts';
import { ExportFile } from '../../src/admin/transfer/output.ts';
import { insertUsers } from '../../src/user/service.ts';
import { startApp, type TestApp } from '../harness/app/app.ts';
import { runCommand } from '../harness/app/command.ts';
import { expectExactCounts } from '../harness/app/counts.ts';
import { runCli, startCli } from '../harness/app/program.ts';
import { anyCharacter } from '../harness/documents/property.ts';

const UNTIL = new Date('2026-04-01');
const ALL: ExportOptions = { parts, since: undefined };
/** More than a line of an audience, and a batch of an import, hold. */
const CROWD = 2300;

const exported = async (db: Database, options = ALL): Promise<string> => {
  const header = await headerOf(db, options);
  let text = lineOf(header);
  for await (const lines of exportLines(db, header)) text += lines.text;
  return text;
};

async function* inChunks(text: string, size = 50_000): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

/** Imports a text, and collects what is said of bad lines. */
const imported = async (
  db: Database,
  text: string,
  { skipBad = false, dryRun = false } = {},
): Promise<Imported & { told: string[]; isRefused: boolean }> => {
  const told: string[] = [];
  const onBad = ({ number, message }: { number: number; message: string }) => told.push(`${number}: ${message}`);
  try {
    return { ...(await importLines(db, inChunks(text), { skipBad, dryRun, onBad })), told, isRefused: false };
  } catch (error) {
    if (!(error instanceof BadLines)) throw error;
    return { ...error.imported, told, isRefused: true };
  }
};

const countRows = async (db: Database, table: string): Promise<number> => {
  const [row] = await db.read<{ n: number }>(`SELECT COUNT(*) AS n FROM ${table}`);
  return row?.n ?? 0;
};

const expectRightCounters = async (db: Database): Promise<void> => {
  await expectExactCounts(db);
  expect(await reconcile(db, { fix: false })).toEqual([]);
};

const BY = { name: 'an operator', now: new Date('2026-04-02T10:00:00.000Z') };

/** A database with what is hard to carry over: a record with a great audience, odd texts, a post that was changed, what is hidden. */
const fill = async (app: TestApp) => {
  const { db } = app.context;
  await seed(db, { users: 20, games: 150, images: 40, randomSeed: 3, until: UNTIL }, () => {});
  const author = await app.aUser({ nickname: 'Maru "丸" \\ 🐈' });
  const crowd = Array.from({ length: CROWD }, (_, index) => ({
    id: newId(new Date(UNTIL.getTime() + index)),
    nickname: `fan ${index}`,
  }));
  await db.transaction((tx) => insertUsers(tx, crowd, UNTIL));
  const hot = await app.aGame({ title: 'Hot', tagNames: ['🐈', 'ＲＰＧ'] }, author);
  const odd = await app.aGame(
    { title: "ドラゴン'%_", description: 'tab\tand\r\n"lines"', extraInfo: { originalName: '', platforms: [] } },
    author,
  );
  const before = await app.anImagePost({ title: 'Before', tagNames: ['Old tag'] }, author);
  const post = await app.call(
    'image.update',
    { id: before.id, title: 'After', tagNames: ['New tag', 'rpg'] },
    author.key,
  );
  await db.transaction(async (tx) => {
    const links = crowd.map((user) => ({ userId: user.id, recordId: hot.id }));
    await insertRows(tx, gameKind.favoriteTable, links);
    await insertRows(
      tx,
      gameKind.reactionTable,
      links.map((link, index) => Object.assign(link, { type: index % 3 === 0 ? 'dislike' : 'like' })),
    );
  });
  await reconcile(db, { fix: true });
  // One of long ago that somebody changed since.
  const [old] = await db.read<{ id: Bytes }>('SELECT id FROM image_posts ORDER BY id LIMIT 1');
  const changed = idFromBytes(old!.id);
  await db.transaction((tx) =>
    tx.execute('UPDATE image_posts SET updated_at = ? WHERE id = ?', [timeToDb(BY.now), old!.id]),
  );
  const [suspended, hidden] = [await app.aUser(), await app.aUser()];
  const secret = await app.aGame({ title: 'Secret', tagNames: ['Known to nobody', 'rpg'] }, hidden);
  const image = await app.anImagePost({ title: 'Secret, too' }, hidden);
  await app.call('game.toggleFavorite', { gameId: secret.id }, author.key);
  await app.call('game.toggleReaction', { gameId: secret.id, type: 'like' }, author.key);
  await app.call('game.toggleReaction', { gameId: secret.id, type: 'dislike' }, suspended.key);
  await suspendUser(db, suspended.id, BY, { hide: false });
  await suspendUser(db, hidden.id, BY, { hide: true, settle: async () => {} });
  // By itself, besides being hidden with its author.
  await hideRecord(db, imageKind, image.id, { reason: 'stolen', by: BY });
  return { hot, odd, changed, post, suspended, hidden, secret, image };
};

describe('an export', () => {
  let app: TestApp;
  let db: Database;
  let made: Awaited<ReturnType<typeof fill>>;
  let text: string;
  let folder: string;

  beforeAll(async () => {
    app = await startApp();
    ({ db } = app.context);
    made = await fill(app);
    text = await exported(db);
    folder = await mkdtemp(join(tmpdir(), 'content-gateway-transfer-'));
  });

  afterAll(async () => {
    await app.stop();
    await rm(folder, { recursive: true });
  });

  test('says what it is, and ends with its end', () => {
    const lines = text.split('\n');
    expect(JSON.parse(lines[0]!)).toMatchObject({ format: 'content-gateway-export', version: 1, parts: [...parts] });
    expect(lines.slice(-2)).toEqual(['{"kind":"end"}', '']);
    expect(lines.filter((line) => line.includes('"audience"'))).toHaveLength(2);
  });

  test('imported elsewhere is the same content, and is exported as the same bytes', async () => {
    const other = await startApp();
    try {
      expect(await imported(other.context.db, text)).toMatchObject({
        users: 20 + 3 + CROWD,
        games: 153,
        images: 42,
        existing: 0,
        bad: 0,
        isComplete: true,
      });
      await expectRightCounters(other.context.db);
      expect((await exported(other.context.db)) === text).toBe(true);

      const everywhere = { limit: 50, page: 1, search: 'ハ', tagSlugs: [] };
      const { items, total } = await app.call('game.list', everywhere);
      expect(total).toBeGreaterThan(0);
      expect(await other.call('game.list', everywhere)).toMatchObject({ items, total });
      const filter = { limit: 50, page: 1, tagSlugs: ['rpg'] };
      expect(await other.call('game.list', filter)).toEqual(await app.call('game.list', filter));
      expect(await other.call('game.getTypeStats', {})).toEqual(await app.call('game.getTypeStats', {}));
      // The source is not asked for its records one by one, which would count views.
      const { hot, odd, post } = made;
      const counts = { favoriteCount: CROWD, likeCount: 1533, dislikeCount: 767 };
      expect(await other.call('game.getById', { id: hot.id })).toEqual({ ...hot, ...counts, viewer: null });
      expect(await other.call('game.getById', { id: odd.id })).toEqual({ ...odd, viewer: null });
      expect(await other.call('image.getById', { id: post.id })).toEqual({ ...post, viewer: null });
      const standings = `SELECT suspended_at, hidden_at FROM users WHERE id IN (?, ?) ORDER BY id`;
      const both = [made.suspended, made.hidden].map(({ id }) => storedIdToBytes(id));
      expect(await other.context.db.read(standings, both)).toEqual(await db.read(standings, both));
      for (const [operation, { id }] of [
        ['game.getById', made.secret],
        ['image.getById', made.image],
      ] as const) {
        await other.fail(operation, { id }, 404);
      }
      const state = await readRecordState(db, imageKind, made.image.id);
      expect(state).toMatchObject({ hiddenReason: 'stolen', hiddenAt: expect.any(String) });
      expect(await readRecordState(other.context.db, imageKind, made.image.id)).toEqual(state);
      expect(await unsuspendUser(other.context.db, made.hidden.id, BY)).toBe(1);
      expect(await unhideRecord(other.context.db, imageKind, made.image.id, BY)).toBe(true);
      await expectRightCounters(other.context.db);
      expect(await other.call('game.getById', { id: made.secret.id })).toMatchObject({
        title: 'Secret',
        tags: [{ name: 'Known to nobody' }, {}],
        favoriteCount: 1,
        likeCount: 1,
        dislikeCount: 1,
      });
    } finally {
      await other.stop();
    }
  });

  test('of whatever engine is imported into SQLite, and again changes nothing', async () => {
    const other = await Database.open(`sqlite:${join(folder, 'other.db')}`, schema);
    try {
      await other.migrate();
      await imported(other, text);
      expect(await imported(other, text)).toMatchObject({ users: 0, games: 0, images: 0, bad: 0, isComplete: true });
      expect((await exported(other)) === text).toBe(true);
      await expectRightCounters(other);
    } finally {
      await other.close();
    }
  });

  test('that was cut anywhere goes on to the same bytes', async () => {
    const bytes = Buffer.from(text);
    const place = (part: string): number => bytes.indexOf(part);
    const header = bytes.indexOf('\n') + 1;
    const cuts = [
      0,
      header,
      header + 7,
      place('{"kind":"game"'),
      place('{"kind":"audience"'),
      place('{"kind":"audience"') + 4000,
      bytes.lastIndexOf('{"kind":"audience"'),
      bytes.lastIndexOf('{"kind":"game"'),
      place('{"kind":"image"') + 1,
      place('{"kind":"end"}'),
      bytes.length - 1,
    ];
    for (const cut of cuts) {
      const path = join(folder, `cut-${cut}.jsonl`);
      await writeFile(path, bytes.subarray(0, cut));
      const file = await ExportFile.open(path, ALL, () => headerOf(db, ALL));
      for await (const lines of exportLines(db, file.header, file.place)) await file.write(lines.text);
      await file.close();
      expect([cut, (await readFile(path)).equals(bytes)]).toEqual([cut, true]);
    }
  });

  test('killed at work goes on to the same bytes', async () => {
    const env = { DATABASE_URL: app.databaseUrl };
    const path = join(folder, 'killed.jsonl');
    let begun: string;
    do {
      await rm(path, { force: true });
      const changes = watch(folder);
      const child = startCli(['export', '--out', path], env);
      const closed = once(child, 'close');
      await once(changes, 'change');
      child.kill('SIGKILL');
      await closed;
      changes.close();
      begun = await readFile(path, 'utf8').catch(() => '');
      // It may have been faster than the signal.
    } while (begun.endsWith('{"kind":"end"}\n'));
    expect(text.startsWith(begun)).toBe(true);
    expect((await runCli(['export', '--out', path], { env })).code).toBe(0);
    // Only for its owner.
    expect(((await stat(path)).mode & 0o777).toString(8)).toBe('600');
    expect((await readFile(path, 'utf8')) === text).toBe(true);
  });

  test.each([
    ['all of it', () => text, 'holds the whole export already'],
    ['another one', () => text.replace(/"parts":\[[^\]]*\]/, '"parts":["users"]').slice(0, 5000), 'another export'],
    ['something else', () => 'my diary\n', 'holds something else'],
    ['something else without a line break', () => 'my diary', 'holds something else'],
  ])('leaves a file alone that holds %s', async (_, content, fault) => {
    const path = join(folder, 'there.jsonl');
    await writeFile(path, content());
    const { code, stdout, stderr } = await runCommand(['export', '--out', path], {
      env: { DATABASE_URL: app.databaseUrl },
    });
    expect([code, stdout, stderr]).toEqual([1, '', expect.stringContaining(fault)]);
    expect(await readFile(path, 'utf8')).toBe(content());
  });

  test('of what is new since a time, and of parts, holds only that', async () => {
    const since = new Date(UNTIL.getTime() + 1);
    const lines = (await exported(db, { parts: ['games', 'images'], since })).trim().split('\n').slice(1, -1);
    const ids = lines.map((line) => JSON.parse(line) as { kind: string; id: string });
    expect(ids.filter(({ kind }) => kind !== 'audience').map(({ id }) => id)).toEqual([
      made.hot.id,
      made.odd.id,
      made.secret.id,
      made.changed,
      made.post.id,
      made.image.id,
    ]);
  });

  test('leaves out who came after its beginning, and what they did', async () => {
    const header = await headerOf(db, ALL);
    const late = await app.aUser();
    await app.aGame({ title: 'Late' }, late);
    await app.call('game.toggleFavorite', { gameId: made.odd.id }, late.key);
    try {
      let again = lineOf(header);
      for await (const lines of exportLines(db, header)) again += lines.text;
      expect(again === text).toBe(true);
    } finally {
      await db.transaction((tx) => tx.execute("DELETE FROM games WHERE title = 'Late'"));
      await db.transaction((tx) => tx.execute('DELETE FROM users WHERE id = ?', [storedIdToBytes(late.id)]));
      await reconcile(db, { fix: true });
    }
  });

  test('goes to the standard output by the command line', async () => {
    const env = { DATABASE_URL: app.databaseUrl };
    const { code, stdout, stderr } = await runCommand(['export'], { env });
    expect([code, stdout === text, stderr]).toEqual([
      0,
      true,
      expect.stringMatching(/^Wrote 2518 records in [\d.]+ s\.\n$/),
    ]);
  });
});

describe('an import', () => {
  let source: TestApp;
  let lines: string[];
  let app: TestApp;
  let db: Database;

  beforeAll(async () => {
    source = await startApp();
    await seed(source.context.db, { users: 2200, games: 60, images: 10, randomSeed: 5, until: UNTIL }, () => {});
    lines = (await exported(source.context.db)).trimEnd().split('\n');
  });
  afterAll(() => source.stop());
  beforeEach(async () => {
    app = await startApp();
    ({ db } = app.context);
  });
  afterEach(() => app.stop());

  const textOf = (changed: readonly string[]): string => `${changed.join('\n')}\n`;

  /** In the fourth batch. */
  const BAD_AT = 1600;

  test('killed at work has stored whole batches, and goes on from there', async () => {
    const env = { DATABASE_URL: app.databaseUrl };
    const child = startCli(['import', '-', '--skip-bad', '--quiet'], env);
    const closed = once(child, 'close');
    // It tells of the bad line when the batches before are stored, and is about to store the rest of this one.
    child.stdin.write(textOf([...lines.slice(0, BAD_AT), 'not JSON', ...lines.slice(BAD_AT)]));
    await once(child.stderr, 'data');
    child.kill('SIGKILL');
    await closed;
    const stored = await countRows(db, 'users');
    expect([1500, 1999]).toContain(stored);

    const { code, stdout } = await runCli(['import', '-', '--json'], { env, input: textOf(lines) });
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      expect.objectContaining({
        users: 2200 - stored,
        games: 60,
        images: 10,
        existing: stored,
        bad: 0,
        isComplete: true,
      }),
    ]);
    expect((await exported(db)) === textOf(lines)).toBe(true);
    await expectRightCounters(db);
  });

  const STRANGER = '019a3c5e-b150-7e85-9f52-9d40ce61a205';
  const changed = (line: string, changes: object): string => JSON.stringify({ ...JSON.parse(line), ...changes });
  const FIRST_GAME = 2201;
  const bad: [line: number, text: (line: string) => string, message: RegExp][] = [
    [2002, () => 'not JSON', /is not JSON/],
    [2003, () => 'null', /kind must be/],
    [2004, (line) => changed(line, { kind: 'tag' }), /kind must be/],
    [2005, (line) => changed(line, { nickname: ' ' }), /nickname must hold more than white space/],
    [2006, (line) => changed(line, { admin: true }), /admin/],
    [FIRST_GAME + 1, (line) => changed(line, { title: undefined }), /title/],
    [FIRST_GAME + 2, (line) => changed(line, { authorId: STRANGER }), /names the user .*, who is not there/],
    [FIRST_GAME + 3, (line) => changed(line, { likes: [STRANGER] }), /names the user .*, who is not there/],
    [
      FIRST_GAME + 4,
      (line) => changed(line, { createdAt: '2026-04-01T00:00:00.000Z' }),
      /id must be a UUID of version 7/,
    ],
    [FIRST_GAME + 5, (line) => changed(line, { viewCount: -1 }), /viewCount must be a whole number/],
    [
      FIRST_GAME + 6,
      () => JSON.stringify({ kind: 'audience', of: 'game', id: STRANGER, likes: [] }),
      /tells of the game .*, which is not there/,
    ],
    [
      FIRST_GAME + 7,
      (line) => changed(line, { likes: [JSON.parse(lines[1]!).id], dislikes: [JSON.parse(lines[1]!).id] }),
      /among the likes/,
    ],
  ];
  const broken = (): string => {
    const copy = [...lines];
    for (const [number, make] of bad) copy[number - 1] = make(copy[number - 1]!);
    return textOf([...copy, '{"kind":"user"}']);
  };

  test('with bad lines tells of each and stores nothing of their batch', async () => {
    const { told, isRefused, users, lastLine } = await imported(db, broken());
    expect({ isRefused, users, lastLine }).toEqual({ isRefused: true, users: 2000, lastLine: 2001 });
    expect(told.map((line) => Number.parseInt(line, 10))).toEqual([2002, 2003, 2004, 2005, 2006]);
    expect(await countRows(db, 'users')).toBe(2000);
    await expectRightCounters(db);
  });

  test('leaves bad lines out if asked to, and a dry run tells of the same', async () => {
    const dry = await imported(db, broken(), { skipBad: true, dryRun: true });
    expect(await countRows(db, 'users')).toBe(0);
    const wet = await imported(db, broken(), { skipBad: true });
    expect(dry).toEqual(wet);
    expect(wet.told.slice(0, -1)).toEqual(
      bad.map(([number, , message]) => expect.stringMatching(new RegExp(`^${number}: .*${message.source}`))),
    );
    expect(wet.told.at(-1)).toBe(`${lines.length + 1}: comes after the last line of the export`);
    expect(wet).toMatchObject({ users: 2195, games: 53, images: 10, bad: 13 });
    await expectRightCounters(db);
  });

  /** What every object inherits, and what none may be called. */
  const INHERITED = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf', '__defineGetter__'];

  test('with lines of kinds that every object inherits tells of each', async () => {
    const odd = INHERITED.map((kind) => JSON.stringify({ kind, id: STRANGER }));
    const { told, users } = await imported(db, textOf([lines[0]!, ...odd, ...lines.slice(1)]), { skipBad: true });
    expect(told).toEqual(odd.map((_, index) => `${index + 2}: /kind must be user, game, image, audience or end`));
    expect(users).toBe(2200);
  });

  test.each([
    ['__proto__', '/__proto__ is not a member of this input'],
    ['constructor', '/constructor is not a member of this input'],
  ])('with a member %s tells of it, wherever it is', async (member, fault) => {
    const text = textOf([
      lines[0]!,
      lines[1]!.replace('{', `{"${member}":{"admin":true},`),
      changed(lines[2]!, { socialLinks: JSON.parse('{"__proto__":"@maru"}') }),
      ...lines.slice(3, 20),
      '{"kind":"end"}',
    ]);
    const { told } = await imported(db, text, { skipBad: true });
    expect(told).toEqual([`2: ${fault}`, '3: /socialLinks/__proto__ is not a usable name: no member may have it']);
    expect(await countRows(db, 'users')).toBe(17);
  });

  test('stores each line or tells what is wrong with it, whatever it holds', async () => {
    const author = JSON.parse(lines[1]!).id as string;
    const valid = [lines[1]!, lines[FIRST_GAME]!, lines.at(-2)!]
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .concat({ kind: 'audience', of: 'game', id: STRANGER, likes: [author] });
    const names = [...new Set(valid.flatMap((line) => [...Object.keys(line), ...INHERITED]))];
    const name = fc.oneof(fc.constantFrom(...names), fc.string({ unit: anyCharacter, maxLength: 5 }));
    const { value } = fc.letrec<{ value: unknown; object: unknown }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom<unknown>(...names, ...valid.flatMap((line) => Object.values(line)), null, true, -1, 2 ** 32),
        fc.string({ unit: anyCharacter, maxLength: 300 }),
        fc.array(tie('value'), { maxLength: 3 }),
        tie('object'),
      ),
      object: fc.array(fc.tuple(name, tie('value')), { maxLength: 3 }).map((entries) => Object.fromEntries(entries)),
    }));
    const changes = fc.array(fc.tuple(name, value), { maxLength: 3 });
    const line = fc.oneof(
      { weight: 4, arbitrary: fc.tuple(fc.constantFrom(...valid), changes) },
      { weight: 1, arbitrary: fc.tuple(fc.constant({}), changes) },
    );
    const text = fc.oneof(
      {
        weight: 8,
        arbitrary: line.map(([whole, more]) =>
          // `fromEntries` makes a member `__proto__` where an assignment would not.
          JSON.stringify(Object.fromEntries([...Object.entries({ ...whole, id: newId(UNTIL) }), ...more])),
        ),
      },
      { weight: 1, arbitrary: value.map((one) => JSON.stringify(one) ?? 'undefined') },
    );
    await imported(db, textOf(lines.slice(0, 3)));
    await fc.assert(
      fc.asyncProperty(fc.array(text, { minLength: 1, maxLength: 10 }), async (some) => {
        const file = some.filter((one) => !one.includes('"kind":"end"'));
        const { told, users, games, images, existing, ...rest } = await imported(
          db,
          textOf([lines[0]!, ...file, '{"kind":"end"}']),
          { skipBad: true },
        );
        const faulty = new Set(told.map((one) => Number.parseInt(one, 10) - 2));
        const audiences = file.filter((one, at) => !faulty.has(at) && one.includes('"kind":"audience"'));
        expect(users + games + images + existing + audiences.length + faulty.size).toBe(file.length);
        expect([
          rest.bad,
          told.filter((one) => !/^\d+: (\/|is not JSON|names the user |tells of the )/.test(one)),
        ]).toEqual([faulty.size, []]);
      }),
      { numRuns: 60, seed: 1 },
    );
    await expectRightCounters(db);
  });

  test('takes a line twice for there already, and blank ones and CR for nothing', async () => {
    const head = lines.slice(0, 4);
    const twice = [...head, '', head[2], '  ', '{"kind":"end"}'].join('\r\n');
    expect(await imported(db, twice)).toMatchObject({ users: 3, existing: 1, bad: 0, isComplete: true });
  });

  test('of a file that begins otherwise is refused', async () => {
    for (const [text, fault] of [
      ['', 'The file is empty.'],
      ['{"a":1}\n', 'Line 1 must be the first line of an export'],
      [
        '{"format":"content-gateway-export","version":2}\n',
        'The file has version 2 of the format; this program reads 1.',
      ],
    ] as const) {
      await expect(imported(db, text)).rejects.toThrow(fault);
    }
  });

  test.each<[what: string, bytes: () => Buffer, stdout: string, stderr: RegExp]>([
    [
      'bytes that are not UTF-8',
      () => Buffer.concat([Buffer.from(`${lines[0]}\n{"kind":"user`), Buffer.from([0xff, 0x0a])]),
      '1 bad line.',
      /^line 2: is not UTF-8\nerror: Nothing after line 1 is stored\./,
    ],
    ['an export that was cut', () => Buffer.from(textOf(lines.slice(0, 11))), 'Stored 10 users', /incomplete/],
  ])('of %s says so', async (_, bytes, stdout, stderr) => {
    const path = join(tmpdir(), `content-gateway-import-${process.pid}.jsonl`);
    await writeFile(path, bytes());
    try {
      expect(await runCommand(['import', path], { env: { DATABASE_URL: app.databaseUrl } })).toEqual({
        code: 1,
        stdout: expect.stringContaining(stdout),
        stderr: expect.stringMatching(stderr),
      });
    } finally {
      await rm(path);
    }
  });

  test('beside a service that publishes keeps every counter right', async () => {
    const user = await app.aUser();
    const over = new AbortController();
    const busy = (async () => {
      while (!over.signal.aborted)
        await app.aGame({ gameType: 'RPG', tagNames: ['Fantasy', '奇幻', 'ファンタジー'] }, user);
    })();
    expect(await imported(db, textOf(lines))).toMatchObject({ users: 2200, games: 60, images: 10, bad: 0 });
    over.abort();
    await busy;
    await expectRightCounters(db);
  });
});
