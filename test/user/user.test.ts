/**
 * @engines all
 * @tier fast
 * @serverTier long
 */
import { afterAll, describe, expect, test } from '@jest/globals';
import { startApp } from '../harness/app/app.ts';

let clock = Date.parse('2026-04-01T12:00:00.000Z');
const app = await startApp({ now: () => new Date(clock) });
afterAll(() => app.stop());

const searcher = await app.aUser({ nickname: 'searcher', scopes: ['user:read'] });

/** The nicknames that a search finds. */
const search = async (query: string, limit = 50) => {
  const { items, hasMore } = await app.call('user.search', { query, limit }, searcher.key);
  return { nicknames: items.map(({ nickname }) => nickname), hasMore };
};

describe('user.me', () => {
  test('answers the whole profile and the key in use', async () => {
    const expiresAt = new Date(clock + 3_600_000);
    const { id, nickname, key, keyId } = await app.aUser({ scopes: ['user:read', 'content:write'], expiresAt });
    expect(await app.call('user.me', {}, key)).toEqual({
      id,
      nickname,
      bio: null,
      pronouns: null,
      website: null,
      location: null,
      socialLinks: {},
      avatar: null,
      gameCount: 0,
      imagePostCount: 0,
      createdAt: new Date(clock).toISOString(),
      updatedAt: new Date(clock).toISOString(),
      apiKey: {
        id: keyId,
        name: 'test',
        scopes: ['user:read', 'content:write'],
        expiresAt: expiresAt.toISOString(),
      },
    });
  });

  test('shows a key that never expires as such', async () => {
    const { key } = await app.aUser();
    expect((await app.call('user.me', {}, key)).apiKey.expiresAt).toBeNull();
  });
});

describe('user.getProfile', () => {
  test('answers what everyone may see: neither the key nor when the profile was changed', async () => {
    const user = await app.aUser();
    const profile = {
      nickname: '花子 🌸',
      bio: 'Zeile 1\nZeile 2',
      pronouns: 'she/her',
      website: 'https://demo.example.com/',
      location: '京都',
      socialLinks: { github: 'https://github.com/example', pixiv: '@hanako' },
    };
    await app.call('user.updateProfile', profile, user.key);
    await app.call('user.updateAvatar', { avatar: '/avatars/hanako.png' }, user.key);
    await app.aGame({}, user);
    await app.aGame({}, user);
    await app.anImagePost({}, user);
    const shown = await app.call('user.getProfile', { id: user.id });
    expect(shown).toEqual({
      ...profile,
      id: user.id,
      avatar: '/avatars/hanako.png',
      gameCount: 2,
      imagePostCount: 1,
      createdAt: expect.any(String),
    });
    const { updatedAt: _, apiKey: __, ...me } = await app.call('user.me', {}, user.key);
    expect(me).toEqual(shown);
  });
});

describe('user.updateProfile', () => {
  const whole = {
    nickname: 'whole',
    bio: 'bio',
    pronouns: 'they/them',
    website: 'https://example.com/',
    location: 'here',
    socialLinks: { github: '@whole', pixiv: '@whole' },
  };

  test('leaves what is omitted as it was', async () => {
    const { key } = await app.aUser();
    const before = await app.call('user.updateProfile', whole, key);
    expect(before).toMatchObject(whole);
    clock += 1000;
    const after = await app.call('user.updateProfile', { bio: 'another' }, key);
    expect(after).toEqual({ ...before, bio: 'another', updatedAt: new Date(clock).toISOString() });
    expect(await app.call('user.me', {}, key)).toEqual(after);
  });

  test('null clears a text', async () => {
    const { key } = await app.aUser();
    await app.call('user.updateProfile', whole, key);
    const cleared = { bio: null, pronouns: null, website: null, location: null };
    expect(await app.call('user.updateProfile', cleared, key)).toMatchObject({
      ...cleared,
      nickname: whole.nickname,
      socialLinks: whole.socialLinks,
    });
  });

  test('replaces the social links as a whole', async () => {
    const { key } = await app.aUser();
    await app.call('user.updateProfile', whole, key);
    const replaced = await app.call('user.updateProfile', { socialLinks: { mastodon: '@whole' } }, key);
    expect(replaced.socialLinks).toEqual({ mastodon: '@whole' });
    expect((await app.call('user.updateProfile', { socialLinks: {} }, key)).socialLinks).toEqual({});
  });

  test('changes nothing when nothing is given', async () => {
    const { key } = await app.aUser();
    const before = await app.call('user.me', {}, key);
    clock += 1000;
    expect(await app.call('user.updateProfile', {}, key)).toEqual(before);
  });

  test('changes nothing when the user has all that is given', async () => {
    const { key } = await app.aUser();
    const given = { ...whole, pronouns: null };
    await app.call('user.updateProfile', given, key);
    const before = await app.call('user.updateAvatar', { avatar: '/a.png' }, key);
    clock += 1000;
    expect(await app.call('user.updateProfile', given, key)).toEqual(before);
    expect(await app.call('user.updateAvatar', { avatar: '/a.png' }, key)).toEqual(before);
    // To MySQL and MariaDB, texts that differ in spaces at their end are equal.
    const spaced = { bio: `${whole.bio} ` };
    expect(await app.call('user.updateProfile', { ...given, ...spaced }, key)).toMatchObject(spaced);
  });

  test('a new nickname shows at once on what the user published, and in search', async () => {
    const user = await app.aUser({ nickname: 'caterpillar' });
    const game = await app.aGame({}, user);
    await app.call('user.updateProfile', { nickname: 'Butterfly' }, user.key);
    await app.call('user.updateAvatar', { avatar: 'https://example.com/b.png' }, user.key);
    const summary = { id: user.id, nickname: 'Butterfly', avatar: 'https://example.com/b.png' };
    expect((await app.call('game.getById', { id: game.id })).author).toEqual(summary);
    const found = await app.call('user.search', { query: 'butterFLY', limit: 50 }, user.key);
    expect(found).toEqual({ items: [summary], hasMore: false });
    expect(await search('caterpillar')).toEqual({ nicknames: [], hasMore: false });
  });

  test('two changes at once both last', async () => {
    const { key } = await app.aUser();
    await Promise.all([
      app.call('user.updateProfile', { bio: 'one' }, key),
      app.call('user.updateProfile', { location: 'two' }, key),
    ]);
    expect(await app.call('user.me', {}, key)).toMatchObject({ bio: 'one', location: 'two' });
  });
});

describe('user.updateAvatar', () => {
  test('sets the avatar, and null clears it', async () => {
    const { key } = await app.aUser();
    const before = await app.call('user.me', {}, key);
    clock += 1000;
    const after = await app.call('user.updateAvatar', { avatar: '/a.png' }, key);
    expect(after).toEqual({ ...before, avatar: '/a.png', updatedAt: new Date(clock).toISOString() });
    expect(await app.call('user.updateAvatar', { avatar: null }, key)).toMatchObject({ avatar: null });
  });

  test('needs an avatar', async () => {
    const { key } = await app.aUser();
    const { issues } = await app.fail('user.updateAvatar', {}, 400, key);
    expect(issues).toEqual([{ path: '/avatar', code: 'invalid_type', message: 'is required' }]);
  });
});

describe('user.search', () => {
  test('puts users whose nickname starts with the query first, then the older', async () => {
    for (const nickname of ['le Prefix 1', 'PREFIX 2', 'the prefix 3', 'prefix 4', 'pre fix']) {
      await app.aUser({ nickname });
      clock += 1;
    }
    const nicknames = ['PREFIX 2', 'prefix 4', 'le Prefix 1', 'the prefix 3'];
    expect(await search('prefix')).toEqual({ nicknames, hasMore: false });
    expect(await search('prefix', 4)).toEqual({ nicknames, hasMore: false });
    expect(await search('prefix', 3)).toEqual({ nicknames: nicknames.slice(0, 3), hasMore: true });
    expect(await search('prefix', 1)).toEqual({ nicknames: nicknames.slice(0, 1), hasMore: true });
  });

  test.each([
    ['ドラゴン騎士', ['ドラゴン', 'どらごん', 'ﾄﾞﾗｺﾞﾝ', '騎士', '騎', 'ン騎'], ['竜', 'ドラゴン 騎士', 'トラゴン']],
    ['Zoë van Dyk', ['zoe\u0308', 'ＶＡＮ', ' van dyk ', 'ë v', 'K'], ['zoe', 'dyk van', 'vandyk']],
    [String.raw`50%_\o'k"`, ['%', '_', '\\', "'", '0%_', '"'], ['%%', '5%0', '__', '\\\\', "' OR '1'='1"]],
  ])('finds %s by any part, whatever its width, case or kana form', async (nickname, finds, misses) => {
    await app.aUser({ nickname });
    for (const query of finds)
      expect([query, (await search(query)).nicknames]).toEqual([query, expect.arrayContaining([nickname])]);
    for (const query of misses)
      expect([query, (await search(query)).nicknames]).toEqual([query, expect.not.arrayContaining([nickname])]);
  });

  test.each([0, 51, -1, 1.5, '5', null])('refuses the limit %p and names the range', async (limit) => {
    const { issues } = await app.fail('user.search', { query: 'x', limit }, 400, searcher.key);
    expect(issues).toEqual([
      {
        path: '/limit',
        code: expect.any(String),
        message: expect.stringMatching(/^must be a whole number from 1 to 50(, not \S.*)?$/),
      },
    ]);
  });

  test.each(['', 'x'.repeat(101), 'x\0', 1, null])('refuses the query %p', async (query) => {
    const { issues } = await app.fail('user.search', { query, limit: 1 }, 400, searcher.key);
    expect(issues).toEqual([{ path: '/query', code: expect.any(String), message: expect.any(String) }]);
  });
});
