/**
 * @engines sqlite
 * @tier long
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { operations, procedures, scopes, streams } from '../../../contract/index.ts';
import { differenceOf } from '../../../openapi/kit/conformance/findings/finding.ts';
import type { VerifyRun } from '../../../openapi/kit/conformance/verify.ts';
import { startApp, type TestUser } from '../../harness/app/app.ts';
import { startMeddler } from '../../harness/servers/meddler.ts';
import { until } from '../../harness/until.ts';
import { runVerify } from '../../harness/http/verify.ts';

// A run that is to change nothing changes nothing, and looks at everything that can be read.

type Json = Record<string, any>; // oxlint-disable-line typescript/no-explicit-any -- faults are planted anywhere

const app = await startApp();
app.context.lifecycle.relay.start();
const meddler = await startMeddler(app.url);
let user: TestUser;

describe('read-only verify', () => {
  beforeAll(async () => {
    user = await app.aUser();
    for (const n of Array.from({ length: 8 }, (_, index) => index)) {
      await app.aGame({
        title: `Game of the year ${n}`,
        gameType: n % 2 ? 'RPG' : 'ADV',
        tagNames: ['old', `tag ${n}`],
      });
      await app.anImagePost({ title: `Picture ${n}`, tagNames: ['old', `tag ${n}`] });
    }
  });
  afterAll(async () => {
    await meddler.stop();
    await app.stop();
  });

  /** What views and the use of a key change, and who uses what. */
  const CHANGING = ['view_count', 'last_used_at'];
  const COUNTED = ['key_uses', 'consumer_uses', 'failed_calls'];

  /** Every row of every table, but for what reading changes. */
  const rows = async (): Promise<Record<string, string[]>> => {
    const { db } = app.context;
    const tables = await db.read<{ name: string }>(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT IN (?, ?, ?) ORDER BY name",
      COUNTED,
    );
    const dump: Record<string, string[]> = {};
    for (const { name } of tables) {
      const all = await db.read<Record<string, unknown>>(`SELECT * FROM ${name}`);
      const kept = all.map((row) => Object.entries(row).filter(([column]) => !CHANGING.includes(column)));
      dump[name] = kept.map((row) => JSON.stringify(row)).toSorted();
    }
    return dump;
  };

  const writes = procedures.filter(({ effect }) => effect === 'write').map(({ id }) => id);

  const failuresOf = ({ results }: VerifyRun): string[] =>
    results.flatMap(({ findings }) => findings.map(differenceOf));

  describe.each([
    ['without a key', () => ({})],
    ['with --read-only and a key of all scopes', () => ({ key: user.key, readOnly: true })],
  ])('a run %s', (_, target) => {
    test('stores nothing, sends no key to what writes, skips no public read, and passes', async () => {
      let trespasses = 0;
      meddler.meddle((request, forward) => {
        const id = request.path.replace(/^\/api\/trpc\//, '');
        if (writes.includes(id) && request.headers.authorization?.includes(user.key)) trespasses += 1;
        return forward(request);
      });
      // The relay gives events their positions in the background.
      await until(async () => (await app.context.db.read('SELECT seq FROM event_outbox LIMIT 1')).length === 0);
      const before = await rows();
      const run = await runVerify({ baseUrl: meddler.url, ...target() });
      expect(failuresOf(run)).toEqual([]);
      expect(await rows()).toEqual(before);
      expect(before['games']).toHaveLength(8);
      expect([trespasses, run.made]).toEqual([0, 0]);

      // It skips nothing of a public read but what needs a caller or a record of its own.
      const { results } = run;
      const reads = procedures.filter(({ effect, access }) => effect === 'read' && access === 'public');
      const skipped = results.filter(
        ({ subject, outcome }) => outcome === 'skipped' && reads.some(({ id }) => id === subject),
      );
      expect([...new Set(skipped.map(({ name }) => name))].toSorted()).toEqual(
        [
          'counts a new game at once',
          'counts a view soon',
          'tells of a record that was published, changed and deleted',
          'shows the first 4 images of a post, and counts all',
          ...('key' in target() ? [] : ['knows the caller by the key', 'shows the key’s user to everyone']),
        ].toSorted(),
      );
      if ('key' in target()) return;
      // What needs a key is checked to be refused.
      for (const { id } of operations) {
        const passed = results.filter(({ subject, outcome }) => subject === id && outcome === 'passed');
        const least = streams.some((stream) => stream.id === id) ? 4 : 15;
        expect([id, passed.length > least]).toEqual([id, true]);
      }
      expect(results.map(({ reason }) => reason)).toEqual(
        expect.arrayContaining(['it needs a key', ...scopes.map((scope) => `it needs a key with ${scope}`)]),
      );
    });
  });

  type Fault = [path: string, change: (output: Json, input: Json) => void, check: string];
  /** By the runs in which they are planted together: those of a run hide none of the others. */
  const faults: Fault[][] = [
    [
      [
        'game.list',
        (page, { tagSlugs }) => tagSlugs && page['items'][0] && (page['items'][0].tags = []),
        'has by tagSlugs what has the tag',
      ],
      [
        'game.list',
        (page, { timeRange }) => timeRange === 'week' && page['items'].shift(),
        'has by timeRange week what is no older, and all of that',
      ],
      ['image.list', (page, { search }) => search && page['items'].splice(0), 'finds a record by its title'],
      [
        'game.list',
        (page, { limit }) => limit === 5 && (page['items'] = page['items'].toReversed()),
        'begins a long page with the records of a short one',
      ],
      ['game.getTypeStats', ({ items }) => (items[0].count += 1), 'counts types as the list does'],
      ['user.getProfile', (profile) => (profile['nickname'] += '!'), 'shows authors as their records do'],
    ],
    [
      [
        'image.list',
        (page, { tagSlugs }) => tagSlugs?.length === 1 && page['items'].splice(0),
        'has by tagSlugs what has the tag',
      ],
      [
        'game.list',
        (page, { gameType }) => gameType && page['items'][0] && (page['items'][0].gameType = 'SLG'),
        'has by gameType what is of the type',
      ],
      [
        'game.list',
        (page, { timeRange }) =>
          timeRange === 'week' && page['items'][0] && (page['items'][0].createdAt = '2020-01-01T00:00:00.000Z'),
        'has by timeRange week what is no older, and all of that',
      ],
      [
        'image.list',
        (page, { authorId }) => authorId && page['items'][0] && (page['items'][0].author.id = 'another'),
        'has by authorId the records of the user, and all of them',
      ],
      ['image.list', (page, { search }) => search === ' ' && (page['total'] += 1), 'takes a blank search for none'],
      [
        'game.list',
        (page, { cursor, page: number }) => cursor && number === 1 && (page['items'] = page['items'].toReversed()),
        'goes by the cursor, whatever page comes with it',
      ],
      ['user.getProfile', (profile) => (profile['gameCount'] = 0), 'counts the records of an author'],
    ],
    [
      [
        'game.list',
        (page, { gameType }) => gameType?.match(/^[a-z]+$/) && (page['total'] += 1),
        'takes small letters of a gameType for capitals',
      ],
      [
        'game.list',
        (page, { timeRange }) => timeRange === 'all' && (page['total'] = 0),
        'has no more in a shorter timeRange than in a longer one',
      ],
      ['game.getById', (game) => (game['title'] += '!'), 'shows what the list shows of a record, and more'],
      [
        'image.list',
        (page, { search }) => /[A-Z]{3}/.test(search) && (page['total'] += 1),
        'finds the same in capitals',
      ],
    ],
  ];

  test.each(faults.map((planted) => [planted] as const))(
    'a run finds the faults of what others published',
    async (planted) => {
      meddler.meddle(async (request, forward) => {
        const reply = await forward(request);
        const changes = planted.filter(([path]) => request.path === `/api/trpc/${path}`);
        if (changes.length === 0 || reply.status !== 200) return reply;
        const body = JSON.parse(reply.body);
        for (const [, change] of changes) change(body.result.data.json, JSON.parse(request.body || '{}').json ?? {});
        return { ...reply, body: JSON.stringify(body) };
      });
      const only = [...new Set(planted.map(([path]) => path))];
      const { results } = await runVerify({ baseUrl: meddler.url, only });
      const failed = results.filter(({ outcome }) => outcome === 'failed').map(({ name }) => name);
      expect(failed).toEqual(expect.arrayContaining(planted.map(([, , check]) => check)));
    },
  );
});
