/**
 * @engines all
 * @tier long
 */
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { procedures } from '../../contract/index.ts';
import { systemActor } from '../../src/auth/audit/log.ts';
import { gameKind } from '../../src/game/kind.ts';
import { hideRecord, unhideRecord } from '../../src/admin/moderation/takedown.ts';
import { eraseUser } from '../../src/admin/person/erase.ts';
import { previewErasure } from '../../src/admin/person/preview.ts';
import { reconcile } from '../../src/admin/reconcile/service.ts';
import { schema, searchKinds } from '../../src/app/schema.ts';
import { createKey } from '../../src/auth/service.ts';
import { Database } from '../../src/db/database.ts';
import { sqliteFile } from '../../src/db/address.ts';
import { Indexer } from '../../src/search/indexing/indexer.ts';
import { storedIdToBytes } from '../../src/db/values.ts';
import { createWebhook } from '../../src/event/webhook/webhooks.ts';
import { pullEvents } from '../../src/event/webhook/sender/store.ts';
import { createUser, deleteUserRow } from '../../src/user/service.ts';
import { type ProcedureId, startApp, type TestApp, type TestUser } from '../harness/app/app.ts';
import { expectExactCounts } from '../harness/app/counts.ts';
import { engine } from '../harness/app/database.ts';
import { killedAfter, operatorOf } from '../harness/app/operator.ts';
import { webhookSecrets } from '../harness/app/webhook-key.ts';
import { repeating } from '../harness/documents/repeating.ts';
import { until } from '../harness/until.ts';

// A person of whom nothing is to be left, in any column of any table, nor in the bytes of an SQLite file.

/** Each text of the person holds this, in lower case. */
const NEEDLE = 'zqxjohndoe';
/** A text that others have too, and that is to stay. */
const COMMON = 'zqxcommon';

let app: TestApp;
let db: Database;
let folder: string;
const by = systemActor();
const options = { by, vacuum: true, settle: () => Promise.resolve(), graceMs: 0 };

beforeAll(async () => {
  app = await startApp();
  db = await Database.open(app.databaseUrl, schema);
  folder = await mkdtemp(join(tmpdir(), 'content-gateway-erasure-'));
});
afterAll(async () => {
  await db.close();
  await app.stop();
  await rm(folder, { recursive: true });
});

const { cli, ran, json } = operatorOf(() => app.databaseUrl);

/** All columns that can hold a text or bytes, as the engine lists them. */
const textColumns = async (): Promise<{ table: string; column: string }[]> => {
  if (db.dialect.engine === 'sqlite') {
    return db.read(
      `SELECT m.name AS "table", c.name AS "column" FROM sqlite_master m JOIN pragma_table_info(m.name) c
      WHERE m.type = 'table' AND c.type NOT IN ('integer', 'INTEGER', 'boolean', 'bigint') ORDER BY 1, 2`,
    );
  }
  // On shards, those of the records are in a keyspace of their own.
  const own = new URL(app.databaseUrl).pathname.slice(1);
  const keyspaces = engine === 'vitess' ? [own, `${own}_records`] : [own];
  const found = await Promise.all(
    keyspaces.map((name) =>
      db.read<{ table: string; column: string }>(
        `SELECT table_name AS \`table\`, column_name AS \`column\` FROM information_schema.columns
        WHERE table_schema = '${name}' AND (data_type LIKE '%text' OR data_type LIKE '%blob' OR data_type LIKE '%char'
          OR data_type LIKE '%binary' OR data_type = 'json') ORDER BY 1, 2`,
      ),
    ),
  );
  return found.flat();
};

/** The columns that hold a needle in any row, in whatever case. */
const columnsWith = async (needle: string): Promise<string[]> => {
  const found: string[] = [];
  for (const { table, column } of await textColumns()) {
    const rows = await db.read<{ value: unknown }>(
      `SELECT ${column} AS value FROM ${table} WHERE ${column} IS NOT NULL`,
    );
    const holds = rows.some(({ value }) =>
      (value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value))
        .toLowerCase()
        .includes(needle),
    );
    if (holds) found.push(`${table}.${column}`);
  }
  return found;
};

/** How often the files of an SQLite database hold a needle. */
const inFiles = (needle: string): number => {
  if (db.dialect.engine !== 'sqlite') return 0;
  const file = sqliteFile(app.databaseUrl);
  return ['', '-wal', '-shm', '-journal']
    .map((end) => `${file}${end}`)
    .filter((path) => existsSync(path))
    .map((path) => readFileSync(path).toString('latin1').toLowerCase().split(needle).length - 1)
    .reduce((sum, n) => sum + n, 0);
};

/** Columns of texts and bytes that no text of a user reaches, and why. */
const unreachable: Record<string, string> = {
  'api_keys.prefix': 'of the key itself',
  'api_keys.scopes': 'of a closed list',
  'api_keys.key_hash': 'a digest',
  'api_keys.made_by': 'an id',
  'invitations.scopes': 'of a closed list',
  'invitations.token_hash': 'a digest',
  'audit_entries.actor': 'the operator',
  'audit_entries.action': 'a command',
  'event_feed.name': 'of a closed list',
  'webhooks.secret': 'random',
  'webhooks.old_secret': 'random',
  'webhooks.older_secrets': 'random',
  'webhooks.types': 'of a closed list',
  'webhooks.state': 'of a closed list',
  'webhooks.reason': 'of an operator, or an HTTP status',
  'webhook_deliveries.state': 'of a closed list',
  'game_reactions.type': 'of a closed list',
  'image_post_reactions.type': 'of a closed list',
  'hidden_marks.mark': 'of a closed list',
  'hidden_records.kind': 'a table',
  'idempotency_records.call_hash': 'a digest',
  'idempotency_records.input_hash': 'a digest',
  'key_quotas.what': 'of a closed list',
  'key_quotas.day': 'a date',
  'consumer_uses.consumer': 'the id of a key; of anonymous callers, their client, which no user is known by',
  'consumer_uses.day': 'a date',
  'consumer_uses.operation': 'of a closed list',
  'key_uses.day': 'a date',
  'key_uses.operation': 'of a closed list',
  'deployment.changed_at': 'a time',
  'deployment.name': 'of a closed list',
  'deployment.value': 'an address of the service, or names of tables',
  'instances.host': 'a machine',
  'instances.version': 'of the service',
  'instances.webhook_keys': 'of the service',
  'maintenance.name': 'of a closed list',
  'maintenance.note': 'of an operator',
  'maintenance.since': 'a time',
  'migrations.name': 'a migration',
  'search_blocks.data': 'positions',
  'search_blocks.gram': 'a label, or two characters of a text',
  'search_keys.data': 'times and ids',
  'search_removals.docs': 'numbers',
  'search_segments.first_key': 'a time and an id',
  'search_segments.last_key': 'a time and an id',
  'search_tail.doc_key': 'a time and an id',
  'search_tail.labels': 'types, and ids of tags',
  'games.version': 'a number',
  'games.tag_ids': 'numbers',
  'image_posts.tag_ids': 'numbers',
};
const isIdOrTime = (column: string): boolean => /\.(?:id|holder|\w+_id|\w+_at|\w+_(?:since|until))$/.test(column);
/** The labels of types are reached nonetheless. */
const labels = new Set(['search_tail.labels', 'search_blocks.gram']);

/** An export without its time, and without the uses of keys, which are counted in the background. */
const lasting = ({ exportedAt: _exportedAt, keys = [], ...rest }: Record<string, unknown[]>): object => ({
  ...rest,
  keys: keys.map((key) => ({ ...(key as object), uses: undefined, lastUsedAt: undefined })),
});
const text = (what: string): string => `${NEEDLE} ${what}`;
const url = (what: string): string => `https://${NEEDLE}.example.com/${what}`;

/** Has a person, and operators, fill every column that a text can get into. */
const live = async (fan: TestUser) => {
  const id = await createUser(db, text('nickname'), new Date(), by);
  const scopes = ['content:write', 'contract:write', 'user:read', 'user:write'] as const;
  const { key } = await createKey(db, { userId: id, name: text('key'), scopes, expiresAt: null }, new Date(), by);
  const person: TestUser = { id, nickname: text('nickname'), key, keyId: '' };
  const send = async (operation: Parameters<TestApp['send']>[0], input: object, keyed = key) => {
    const headers = { ...repeating(`${NEEDLE}-${randomUUID()}`), 'User-Agent': `${NEEDLE}/1.0` };
    const { status, body } = await app.send(operation, input, keyed, headers);
    if (status !== 200) throw new Error(`${operation} answered ${status}: ${JSON.stringify(body)}`);
    return body.result.data.json as { id: string; items: { id: string }[] };
  };
  await send('user.updateProfile', {
    nickname: text('other nickname'),
    bio: text('bio'),
    pronouns: text('pronouns'),
    website: url('site'),
    location: text('location'),
    socialLinks: { [NEEDLE]: NEEDLE },
  });
  await send('user.updateAvatar', { avatar: url('avatar') });
  const game = {
    title: text('game'),
    description: text('description'),
    coverUrl: url('cover'),
    gameType: NEEDLE,
    tagNames: [text('tag'), COMMON],
    extraInfo: {
      originalName: text('name'),
      originalAuthor: text('author'),
      platforms: [NEEDLE],
      screenshots: [url('shot')],
      downloads: [{ name: text('download'), url: url('file'), password: NEEDLE }],
    },
  };
  const { id: gameId } = await send('game.create', game);
  const { items: more } = await send('game.batchCreate', { games: [game, { ...game, gameType: `${NEEDLE}2` }] });
  const images = Array.from({ length: 6 }, (_, n) => url(`image/${n}`));
  const post = { title: text('post'), images, description: text('about'), tagNames: [text('first tag')] };
  const { id: postId } = await send('image.create', post);
  // Of the tag that the post had at first, no record tells.
  await send('image.update', { id: postId, title: text('changed'), tagNames: [text('second tag')] });

  const needs = [{ operation: 'game.list', test: text('test'), sends: [], reasons: [] }];
  await send('consumerContract.publish', {
    tag: NEEDLE,
    contract: { consumer: NEEDLE, contract: `1.1.0+${NEEDLE}`, needs },
  });

  // A member that is not known is named among the faults of the call.
  await app.fail('game.create', { [NEEDLE]: 1 }, 400, key);

  const theirs = await app.aGame({ title: 'of a fan', tagNames: [COMMON] }, fan);
  const theirPost = await app.anImagePost({}, fan);
  const hidden = await app.aGame({ title: 'hidden of a fan', tagNames: ['veiled'] }, fan);
  for (const each of [theirs.id, hidden.id]) {
    await send('game.toggleFavorite', { gameId: each });
    await send('game.toggleReaction', { gameId: each, type: 'like' });
  }
  await send('image.toggleReaction', { imagePostId: theirPost.id, type: 'dislike' });
  await app.call('game.toggleFavorite', { gameId }, fan.key);
  await app.call('game.toggleReaction', { gameId: theirs.id, type: 'like' }, fan.key);

  // What operators do leaves names in the audit.
  await ran('users', 'rename', id, text('renamed'));
  await ran('tags', 'rename', `${NEEDLE}-tag`, `${NEEDLE}/TAG`);
  await app.aGame({ tagNames: ['shortlived'] }, person);
  await ran('tags', 'merge', 'shortlived', `${NEEDLE}-tag`, '--yes');
  await ran('games', 'hide', more[0]!.id, '--reason', text('reason'));
  await ran('games', 'hide', hidden.id, '--reason', 'of a fan');
  await ran('games', 'delete', more[1]!.id, '--yes');
  // Where events and deliveries of webhooks hold texts.
  const policy = { allowed: [], ports: [443], allowsHttp: false };
  const wanted = { userId: id, url: url('hook'), recordId: `${NEEDLE}-tag` };
  const webhook = await db.transaction((tx) => createWebhook(tx, wanted, { policy, secrets: webhookSecrets }, by));
  await app.context.lifecycle.relay.moveNow();
  await db.transaction(async (tx) => {
    await tx.execute(
      "UPDATE webhooks SET position = 0, position_id = ?, state = 'active', lease_until = ? WHERE id = ?",
      [Buffer.alloc(16), '2020-01-01 00:00:00.000', storedIdToBytes(webhook.id)],
    );
  });
  const held = { id: webhook.id, holder: '00000000-0000-0000-0000-000000000000', generation: 0 };
  expect(await pullEvents(db, held, new Date(), new Date())).toBeDefined();
  await db.transaction((tx) => tx.execute('UPDATE webhook_deliveries SET answer = ?', [text('answer')]));
  await ran('tags', 'rename', `${NEEDLE}-tag`, `${NEEDLE} tag`);
  await app.context.auth.uses?.flush();
  return { person, gameId, postId, theirs, theirPost, hidden };
};

describe('users erase', () => {
  let fan: TestUser;
  let made: Awaited<ReturnType<typeof live>>;
  let exported: Record<string, unknown[]> & { user: Record<string, unknown> };

  beforeAll(async () => {
    fan = await app.aUser({ nickname: 'a fan' });
    // Some of the texts are in segments of the index, some wait to be.
    made = await live(fan);
    await new Indexer(db, searchKinds, undefined, { run: 2, fanout: 3, graceMs: 60_000 }).work();
    // As if its lease had run out.
    await db.transaction((tx) => tx.execute('UPDATE search_kinds SET held_until = 0'));
    await app.call('user.updateProfile', { nickname: text('last') }, made.person.key);
    await app.aGame({ title: text('late'), gameType: NEEDLE }, made.person);
  });

  test('begins with a person who is in every column that a text can reach', async () => {
    const reached = await columnsWith(NEEDLE);
    const all = (await textColumns()).map(({ table, column }) => `${table}.${column}`);
    const ours = all.filter((column) => !isIdOrTime(column) && !column.startsWith('sqlite_'));
    // A new column has to be filled above, or to be named as one that no text reaches.
    expect(ours.filter((column) => !reached.includes(column))).toEqual(
      ours.filter((column) => column in unreachable && !(labels.has(column) && reached.includes(column))),
    );
    expect(reached).toContain('search_texts.data');
    expect(reached).toContain('search_tail.text');
    if (db.dialect.engine === 'sqlite') expect(inFiles(NEEDLE)).toBeGreaterThan(100);
  });

  test('shows what would go, and takes nothing', async () => {
    const before = await columnsWith(NEEDLE);
    for (const args of [[], ['--dry-run']]) {
      const [preview] = await json('users', 'erase', made.person.id, ...args);
      expect(preview).toEqual({
        id: made.person.id,
        games: 3,
        imagePosts: 1,
        hiddenGames: 1,
        hiddenImagePosts: 0,
        engagement: 3,
        keys: 1,
        answers: 12,
        events: 8,
        auditEntries: expect.any(Number),
        // Tag, first tag, second tag, and the one that was merged.
        tags: 4,
        types: 2,
        erased: false,
      });
    }
    expect((await cli('users', 'erase', made.person.id, '--dry-run', '--yes')).code).toBe(2);
    expect(await columnsWith(NEEDLE)).toEqual(before);
    await app.call('user.me', {}, made.person.key);
  });

  test('users export writes all of it first, for its owner only', async () => {
    const file = join(folder, 'user.json');
    await ran('users', 'export', made.person.id, '--out', file);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const written = await readFile(file, 'utf8');
    exported = JSON.parse(written) as typeof exported;
    expect(exported).toMatchObject({ format: 'content-gateway-user', version: 1 });
    expect(exported.user).toMatchObject({ id: made.person.id, nickname: text('last'), bio: text('bio') });
    expect(exported['games']).toHaveLength(4);
    expect(exported['games']).toContainEqual(
      expect.objectContaining({ isHidden: true, hiddenReason: text('reason'), tagNames: [`${NEEDLE} tag`, COMMON] }),
    );
    expect(exported['games']).toContainEqual(expect.objectContaining({ id: made.gameId, favoriteCount: 1 }));
    expect(exported['imagePosts']).toMatchObject([{ title: text('changed'), images: { length: 6 } }]);
    expect(exported['favorites']).toEqual([
      { of: 'game', id: made.theirs.id },
      { of: 'game', id: made.hidden.id, isHidden: true },
    ]);
    expect(exported['reactions']).toEqual([
      { of: 'game', id: made.theirs.id, type: 'like' },
      { of: 'game', id: made.hidden.id, type: 'like', isHidden: true },
      { of: 'image', id: made.theirPost.id, type: 'dislike' },
    ]);
    expect(exported['keys']).toMatchObject([
      {
        name: text('key'),
        uses: expect.any(Array),
        clients: expect.any(Array),
        operations: expect.any(Array),
        failedCalls: expect.any(Array),
      },
    ]);
    expect(exported['consumerContracts']).toMatchObject([{ consumer: NEEDLE, needs: [{ test: text('test') }] }]);
    expect(exported['webhooks']).toMatchObject([{ url: url('hook'), state: 'active' }]);
    expect(written).not.toMatch(/hash|whsec/i);
    const actions = exported['auditEntries']!.map((entry) => (entry as { action: string }).action);
    for (const action of ['users create', 'keys create', 'users rename', 'games hide', 'games delete']) {
      expect(actions).toContain(action);
    }
    // Nothing of others.
    expect(written).not.toContain(fan.id);
    expect(written).not.toContain(by.name);
    const again = await cli('users', 'export', made.person.id, '--out', file);
    expect([again.code, again.stderr]).toEqual([1, `error: ${file} exists: give another file, or remove it first.\n`]);
    const onOutput = JSON.parse(await ran('users', 'export', made.person.id)) as typeof exported;
    expect(lasting(onOutput)).toEqual(lasting(exported));
    expect((await cli('users', 'export', randomUUID(), '--out', join(folder, 'nothing.json'))).code).toBe(1);
    expect(existsSync(join(folder, 'nothing.json'))).toBe(false);
  });

  test('leaves nothing of the person in any column, nor in the bytes of an SQLite file', async () => {
    const preview = await previewErasure(db, made.person.id);
    const { vacuumed, ...counts } = await eraseUser(db, made.person.id, options);
    expect(counts).toEqual({ ...preview, auditEntries: expect.any(Number) });
    expect(vacuumed).toBe(db.dialect.engine === 'sqlite');
    expect(await columnsWith(NEEDLE)).toEqual([]);
    expect(inFiles(NEEDLE)).toBe(0);
    // Nothing of what segments held before, either: they hold but what counts.
    expect(await db.read('SELECT id FROM search_segments WHERE removals > 0 OR state <> 1')).toEqual([]);
    for (const [table, column] of [
      ['api_keys', 'user_id'],
      ['idempotency_records', 'user_id'],
      ['hidden_marks', 'user_id'],
      ['key_quotas', 'key_id'],
    ]) {
      const left = await db.read<{ owner: Uint8Array | null }>(`SELECT ${column} AS owner FROM ${table}`);
      expect(left.map(({ owner }) => owner && Buffer.from(owner).toString('hex'))).not.toContain(
        made.person.id.replaceAll('-', ''),
      );
    }
    await expectExactCounts(db);
    expect(await reconcile(db, { fix: false })).toEqual([]);
  });

  test('leaves what is not of the person', async () => {
    expect(await columnsWith(COMMON)).toEqual(expect.arrayContaining(['tags.name', 'games.search_text']));
    const { likeCount, favoriteCount, tags } = await app.call('game.getById', { id: made.theirs.id });
    expect([likeCount, favoriteCount, tags.map(({ name }) => name)]).toEqual([1, 0, [COMMON]]);
    expect((await app.call('image.getById', { id: made.theirPost.id })).dislikeCount).toBe(0);
    // Tags of hidden records are used, too.
    await unhideRecord(db, gameKind, made.hidden.id, by);
    const shown = await app.call('game.getById', { id: made.hidden.id });
    expect([shown.tags, shown.favoriteCount, shown.likeCount]).toEqual([[{ name: 'veiled', slug: 'veiled' }], 0, 0]);
    expect((await app.call('game.list', { limit: 9, page: 1, search: 'of a fan' })).total).toBe(2);
    await app.fail('user.getProfile', { id: made.person.id }, 404);
  });

  test('leaves the entries of the audit, without names', async () => {
    const entries = await json<{ action: string }>('audit', 'list');
    const about = entries.filter((entry) => JSON.stringify(entry).includes(made.person.id));
    expect(about.length).toBeGreaterThanOrEqual(exported['auditEntries']!.length);
    expect(about).toContainEqual(expect.objectContaining({ action: 'users create', after: { nickname: '[erased]' } }));
    expect(about).toContainEqual(
      expect.objectContaining({
        action: 'games hide',
        before: { games: [{ id: expect.any(String), title: '[erased]', authorId: made.person.id }] },
        after: { reason: '[erased]' },
      }),
    );
    expect(entries.filter(({ action }) => action.startsWith('tags '))).toMatchObject([
      { action: 'tags rename', subject: 'tag [erased]' },
      { action: 'tags merge', subject: 'tag [erased]' },
      { action: 'tags rename', subject: 'tag [erased]' },
    ]);
    // Of others, names stay.
    expect(entries).toContainEqual(
      expect.objectContaining({
        action: 'games hide',
        subject: `games ${made.hidden.id}`,
        after: { reason: 'of a fan' },
      }),
    );
  });

  test('keeps a key that is still cached from writing anything for its user, who is gone', async () => {
    const { id, key, keyId } = await app.aUser();
    const { id: gameId } = await app.aGame({ title: 'of another' });
    const answers: [operation: string, status: number][] = [];
    const callAs = async ({ id: operation, example, effect }: (typeof procedures)[number]): Promise<void> => {
      const own = operation.startsWith('apiKey.') ? { id: keyId } : {};
      const input = { ...(example.input as object), ...('gameId' in (example.input as object) && { gameId }), ...own };
      const headers = effect === 'write' ? repeating(randomUUID()) : {};
      answers.push([operation, (await app.send(operation as ProcedureId, input, key, headers)).status]);
    };
    await app.call('user.me', {}, key);
    await db.transaction((tx) => deleteUserRow(tx, id));
    await Promise.all(procedures.map(callAs));
    // Reads may still answer for the half second of the cache.
    const writes = new Set<string>(procedures.filter(({ effect }) => effect === 'write').map((one) => one.id));
    expect(answers.filter(([operation, status]) => status >= 500 || (status < 400 && writes.has(operation)))).toEqual(
      [],
    );
    await until(async () => (await app.send('user.me', {}, key)).body.error?.json.data.reason === 'KEY_UNKNOWN');
    await Promise.all([app.context.auth.uses?.flush(), app.context.auth.keys.flush()]);
    await app.context.lifecycle.relay.moveNow();
    const found: string[] = [];
    for (const each of [id, keyId]) {
      found.push(
        ...(await columnsWith(storedIdToBytes(each).toString('latin1').toLowerCase())),
        ...(await columnsWith(each)),
      );
    }
    // The feed tells that the user was made and is gone, and the index of users spans the id.
    expect(found.filter((column) => !column.startsWith('search_'))).toEqual(['events.record_id']);
    const told = await db.read('SELECT type FROM events WHERE record_id = ?', [storedIdToBytes(id)]);
    expect(told).toHaveLength(2);
  });

  test('may be run again, and takes the traces of a user who was deleted before', async () => {
    expect(await eraseUser(db, made.person.id, options)).toMatchObject({ games: 0, tags: 0, auditEntries: 0 });
    const other = await app.aUser({ nickname: text('deleted') });
    await app.aGame({ title: text('deleted'), tagNames: [text('deleted')] }, other);
    await ran('users', 'delete', other.id, '--yes');
    expect(await columnsWith(NEEDLE)).toEqual(expect.arrayContaining(['tags.name', 'audit_entries.before_act']));
    await eraseUser(db, other.id, options);
    expect([await columnsWith(NEEDLE), inFiles(NEEDLE)]).toEqual([[], 0]);
    const unknown = randomUUID();
    const { code, stderr } = await cli('users', 'erase', unknown);
    expect([code, stderr]).toEqual([1, 'error: There is no user with this id.\n']);
  });

  test('takes all of it however often it is interrupted', async () => {
    const person = await app.aUser({ nickname: text('interrupted') });
    await app.aGame({ title: text('i'), gameType: NEEDLE, tagNames: [text('i')] }, person);
    await hideRecord(db, gameKind, (await app.aGame({ title: text('j') }, person)).id, { reason: text('r'), by });
    let interruptions = 0;
    for (let transactions = 0; ; transactions += 1) {
      const isDone = await killedAfter(db, transactions, () => eraseUser(db, person.id, { ...options, vacuum: false }));
      // As if the lease of the one that was killed had run out.
      await db.transaction((tx) => tx.execute('UPDATE search_kinds SET held_until = 0'));
      if (isDone) break;
      interruptions += 1;
    }
    expect(interruptions).toBeGreaterThan(5);
    await eraseUser(db, person.id, options);
    expect([await columnsWith(NEEDLE), inFiles(NEEDLE)]).toEqual([[], 0]);
    await expectExactCounts(db);
    expect(await reconcile(db, { fix: false })).toEqual([]);
  });
});
