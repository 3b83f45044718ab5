/**
 * @engines sqlite
 * @tier fast
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { holdsKey, withoutKeys } from '../../contract/index.ts';
import { listActs, record } from '../../src/auth/audit/log.ts';
import { keyOfWord } from '../../src/auth/format.ts';
import { KeyName } from '../../contract/api-key.ts';
import { startApp, type TestApp, type TestUser } from '../harness/app/app.ts';

// Whole keys in places where none belongs: nothing that is kept or logged holds them.

const key = keyOfWord('aKeyThatBelongsNowhere');
const [, random = ''] = key.split('_');
const percent = (text: string): string =>
  Array.from(text, (character) => `%${character.charCodeAt(0).toString(16)}`).join('');
const forms = [
  key,
  key.toUpperCase(),
  `Cgk_${random}`,
  `before${key}`,
  `a key: ${key}.`,
  `${key}-2`,
  key.slice(0, 20),
  percent(key),
  encodeURIComponent(percent(key)),
  `cgk%5F${random}`,
  `%43GK_${percent(random)}`,
];

describe('a key in a text', () => {
  test.each(forms)('is told and masked: %s', (form) => {
    expect(holdsKey(form)).toBe(true);
    const shown = withoutKeys(`${form} and after`);
    expect(shown).toMatch(/cgk_….* and after$/);
    const plain = decodeURIComponent(decodeURIComponent(shown)).toLowerCase();
    expect(plain).not.toContain(random.slice(0, 8).toLowerCase());
    expect(withoutKeys(shown)).toBe(shown);
  });

  test.each(['', 'a cog', 'cgk', 'cg k_1', 'CGK 1', 'x_cgkz', '%63gk', 'https://example.com/?a=%5F'])(
    'is not seen where there is none: %s',
    (text) => {
      expect([holdsKey(text), withoutKeys(text)]).toEqual([false, text]);
    },
  );
});

describe('what is kept and logged', () => {
  let app: TestApp;
  let user: TestUser;
  beforeAll(async () => {
    app = await startApp({ settings: { TRUST_PROXY: '1', SLOW_REQUEST_MS: '1' } });
    user = await app.aUser();
  });
  afterAll(() => app.stop());

  /** All rows of all tables, the log, and the requests that `/admin` shows. */
  const everything = async (): Promise<string> => {
    await app.context.auth.uses?.flush();
    const tables = await app.context.db.read<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'");
    const rows = await Promise.all(tables.map(({ name }) => app.context.db.read(`SELECT * FROM "${name}"`)));
    const bytes = (_: string, value: unknown): unknown =>
      value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value;
    const { failures, slow } = app.context.requests;
    return JSON.stringify([rows, failures, slow], bytes) + app.log();
  };
  const expectNothing = async (): Promise<void> => {
    const kept = (await everything()).toLowerCase();
    for (const part of [random, percent(random)]) expect(kept.split(part.toLowerCase()).length - 1).toBe(0);
  };

  test('hold no key that came in a header, a path, or the name of a member', async () => {
    const withForm = (form: string) => [
      app.send('game.create', { title: 'x', [form]: 1 }, user.key, { 'X-Request-Id': form }),
      app.send('game.list', { limit: 1, page: 1 }, undefined, { 'User-Agent': `${form}/1.0`, 'X-Forwarded-For': form }),
      app.send('game.getById', { id: 'none' }, user.key, { 'User-Agent': `a/${form}`, 'Idempotency-Key': form }),
      app.http.post(`/api/${encodeURI(form)}`),
      app.http.post(`/api/trpc/${encodeURI(form)}`).set('X-Request-Id', form),
      app.http.get(`/${encodeURI(form)}?key=${encodeURI(form)}`).set('Accept', 'text/html'),
    ];
    const replies = await Promise.all(forms.flatMap(withForm));
    for (const { headers } of replies) expect(holdsKey(String(headers['x-request-id']))).toBe(false);
    const usual = await app.send('game.list', { limit: 1, page: 1 }, undefined, { 'X-Request-Id': 'my-cgk.1' });
    expect(usual.headers['x-request-id']).toBe('my-cgk.1');
    await expectNothing();
  });

  test('hold none that an operator typed', async () => {
    const act = { action: 'games hide', subject: `game ${key}`, before: { title: key }, after: { reason: [key] } };
    await app.context.db.transaction((tx) => record(tx, { name: `Maru ${key}`, now: new Date() }, act));
    const { value } = await listActs(app.context.db).next();
    expect((value as unknown[]).at(-1)).toMatchObject({
      actor: 'Maru cgk_…',
      subject: 'game cgk_…',
      after: { reason: ['cgk_…'] },
    });
    await expectNothing();
  });

  const need = { operation: 'game.list', test: 'a test', sends: ['/limit'], reasons: ['RATE_LIMITED'] };
  const published = { tag: 'main', contract: { consumer: 'a shop', contract: '1.0.0', needs: [need] } };
  const withNeed = (more: object) => ({
    tag: 'main',
    contract: { ...published.contract, needs: [{ ...need, ...more }] },
  });
  const hook = 'https://example.com/hook';

  test.each([
    ['apiKey.create', '/name', (name: string) => ({ name, scopes: ['content:write'] })],
    ['apiKey.rename', '/name', (name: string) => ({ id: user.keyId, name })],
    ['user.updateProfile', '/nickname', (name: string) => ({ nickname: name })],
    ['webhook.create', '/url', (name: string) => ({ url: `${hook}?key=${name}` })],
    ['webhook.update', '/url', (name: string) => ({ id: 'x', url: `${hook}/${name}` })],
    ['webhook.create', '/recordId', (name: string) => ({ url: hook, recordId: name })],
    ['consumerContract.publish', '/tag', (name: string) => ({ ...published, tag: name })],
    ['consumerContract.delete', '/consumer', (name: string) => ({ consumer: name, tag: 'main' })],
    [
      'consumerContract.publish',
      '/contract/consumer',
      (name: string) => ({ ...published, contract: { ...published.contract, consumer: name } }),
    ],
    [
      'consumerContract.publish',
      '/contract/contract',
      (name: string) => ({ ...published, contract: { ...published.contract, contract: name.slice(0, 30) } }),
    ],
    ['consumerContract.publish', '/contract/needs/0/test', (name: string) => withNeed({ test: `list ${name}` })],
    ['consumerContract.publish', '/contract/needs/0/operation', (name: string) => withNeed({ operation: name })],
    ['consumerContract.publish', '/contract/needs/0/sends/0', (name: string) => withNeed({ sends: [`/${name}`] })],
    ['consumerContract.publish', '/contract/needs/0/reads/0', (name: string) => withNeed({ reads: [`/${name}`] })],
    ['consumerContract.publish', '/contract/needs/0/reasons/0', (name: string) => withNeed({ reasons: [name] })],
  ] as const)('%s refuses one as a name: %s', async (id, path, input) => {
    for (const name of [key, key.toUpperCase()]) {
      const { data } = await app.fail(id, input(name), 400, user.key);
      expect(data.issues).toContainEqual({
        path,
        code: 'holds_key',
        message: 'must not hold an API key',
      });
    }
    await expectNothing();
  });

  test('the names that operators give are refused likewise', () => {
    expect(KeyName.safeParse(`laptop ${key}`).error?.issues[0]?.message).toBe('must not hold an API key');
    expect(KeyName.safeParse('laptop of C. G. K.').success).toBe(true);
  });
});
