/**
 * @engines sqlite
 * @tier fast
 */
import { afterAll, describe, expect, test } from '@jest/globals';
import { escapeUnseen } from '../../contract/text.ts';
import { type ProcedureId, startApp } from '../harness/app/app.ts';
import { isPublishedInput } from '../harness/app/published.ts';

// The edges of every input rule: what fits is stored and read back unchanged, what does not is refused by its name, before
// any database is asked, hence on one engine. The published document draws the same line.

const app = await startApp();
afterAll(() => app.stop());

interface Rule {
  /** JSON pointer to the member, in the input and in the reply. */
  member: string;
  takes?: readonly (readonly [name: string, value: unknown])[];
  refuses?: readonly (readonly [name: string, value: unknown, code: string])[];
}

const PICTURE = 'https://images.example.com/1.png';
const LONE_SURROGATE = '\ud83d';

const notText = [
  ['a number', 1, 'invalid_type'],
  ['an array', ['x'], 'invalid_type'],
] as const;

/** A text of `min` to `max` characters, none of them `unwanted`. */
const text = (member: string, min: number, max: number, wanted: string, unwanted: readonly string[]): Rule => ({
  member,
  takes: [
    [`${max} emoji`, '👾'.repeat(max)],
    [`${min} letters`, 'x'.repeat(min)],
    ['blanks, joiners and all planes', wanted],
    ['quotes and wildcards', `'"\`;--%_\\`],
  ],
  refuses: [
    [`${max + 1} emoji`, '👾'.repeat(max + 1), 'too_big'],
    [`${max + 1} letters`, 'x'.repeat(max + 1), 'too_big'],
    ['a lone surrogate', `x${LONE_SURROGATE}`, 'lone_surrogate'],
    ['a null character', 'x\u0000x', 'null_character'],
    ...unwanted.map((value) => [escapeUnseen(JSON.stringify(value)), value, 'control_character'] as const),
    ...(min === 0 ? [] : ([['an empty text', '', 'too_small']] as const)),
    ...notText,
  ],
});

const nowhere = ['x\u001b[2J', 'x\u007f', 'x\u0085x', 'x\u202egnp.exe', '\u2066x', '\ufeffx'];

const line = (member: string, min: number, max: number): Rule =>
  text(
    member,
    min,
    max,
    ' e\u0301\u{10ffff}👩‍🚀\u00a0\u3000 ',
    nowhere.concat('x\tx', 'x\n', '\rx', 'x\u2028x', 'x\u200e', '\u200fx', 'x\u061cx'),
  );

/** A line that is not blank. */
const label = (member: string, max: number, min = 1): Rule => {
  const { refuses = [], ...rule } = line(member, min, max);
  return {
    ...rule,
    takes: [...(rule.takes ?? []), ['what is to be seen among what is not', ' \u2800\u3164!\ufe0f\u{e0100}\u200d']],
    refuses: [
      ...refuses,
      ['a space', ' ', 'blank'],
      ['white space', '\u00a0\u2003\u3000 ', 'blank'],
      ...[...unseen, ...unseenBeyond].map((value, n) => [`nothing visible, ${n}`, value, 'blank'] as const),
    ],
  };
};

/** Texts in which nothing is to be seen: joiners, selectors, fillers and blanks. */
const unseen = [
  '\u200b',
  '\u200d \u200c',
  '\ufe0f',
  '\u3164\u115f',
  '\u2800\u2800',
  '\u00ad',
  '\u2060\u034f',
  '\uffa0',
  '\u180e',
];
const unseenBeyond = ['\u{e0100}', '\u{e0061}\u{e007f} \u{1d173}'];

const prose = (member: string, min: number, max: number): Rule =>
  text(member, min, max, ' \t\n\r\n\u2028e\u0301\u{10ffff}👩‍🚀\u200e\u200f\u061c ', nowhere);

/** As a text that cannot be cleared. */
const neverNull = ({ refuses = [], ...rule }: Rule): Rule => ({
  ...rule,
  refuses: [...refuses, ['null', null, 'invalid_type']],
});

/** As a text that null clears. */
const clearable = ({ takes = [], ...rule }: Rule): Rule => ({ ...rule, takes: [...takes, ['null', null]] });

const notHttpUrl = [
  'ftp://example.com/1.png',
  '//example.com/1.png',
  'example.com',
  'https://',
  'https:///1.png',
  'https://exa mple.com/',
  'https://example.com/a b',
  'https://example.com/\n',
  ' https://example.com/',
  'https://user:secret@example.com/',
  'https://.example.com/',
  'https://example.com:port/',
  'https://example.com:65536/',
  'https://[2001:db8:::1]/',
  'https://[1:2:3:4:5:6:7:8:9]/',
  'https://[::g]/',
  'https://2001:db8::1/',
  'https://日本語\u3000.jp/',
  'https://good.example\uff0f.evil.example/',
  'https://exa\u200bmple.com/',
  'https://例え。。テスト/',
  'javascript:alert(1)//https://example.com',
  'data:image/png;base64,AAAA',
  'https://x/"><script>alert(1)</script>',
  'https://example.com/"onerror=1',
  'https://example.com/<b',
  'https://example.com/?q=>',
  'https://example.com/#`',
  'https://example.com/a\\b',
  'https://example.com\\@evil.example',
  'https://example.com/\u202egnp.exe',
  'https://example.com/\u0085',
  'https://example.com/\ufeff',
];

const refusedUrls = (urls: readonly string[]) =>
  urls.map((url) => [escapeUnseen(JSON.stringify(url)), url, 'invalid_format'] as const);

const httpUrls = (max: number) =>
  [
    'http://example.com',
    'HTTPS://EXAMPLE.COM:8443/a/b.png?size=2&x=%20#top',
    'https://localhost/',
    'https://127.0.0.1:3000?x',
    'https://sub_domain.xn--fsq.example./画像/👾.png',
    "https://example.com/it's(1)/~a;b=c,d!$&*+@:[x]|{y}^%zz%2e%2F",
    'https://example.com/👩‍🚀',
    'https://bücher.example:65535/',
    'https://пример。испытание/',
    'https://उदाहरण.परीक्षा./',
    'https://مثال.إختبار#x',
    'https://דוגמה.טעסט/',
    'https://ตัวอย่าง.ไทย',
    'https://실례.테스트/',
    'https://𠮷野家.example/',
    'https://i❤.example/',
    'http://[::]:8080/',
    'http://[::1]?x',
    'https://[FE80::1:2:3]/',
    'https://[1:2:3:4:5:6:7:8]',
    'https://[1::8]/',
    'https://[1:2:3:4:5:6:7::]/',
    'https://[::ffff:192.0.2.1]/',
    `${PICTURE}?`.padEnd(max, 'x'),
  ].map((url) => [url.length > 100 ? `${url.length} characters` : url, url] as const);

test.each(httpUrls(300))('%s is one to the URL standard', (_, url) => {
  expect(URL.canParse(url)).toBe(true);
});

/** An absolute http(s) URL of at most `max` characters. */
const httpUrl = (member: string, max = 2048): Rule => ({
  member,
  takes: httpUrls(max),
  refuses: [
    ...refusedUrls(notHttpUrl),
    [`${max + 1} characters`, `${PICTURE}?`.padEnd(max + 1, 'x'), 'too_big'],
    ['an empty text', '', 'too_small'],
    ...notText,
  ],
});

/** An array of `min` to `max` items. */
const list = (member: string, min: number, max: number, item: (n: number) => unknown): Rule => {
  const items = (length: number) => Array.from({ length }, (_, n) => item(n));
  return {
    member,
    takes: [
      [`${max} items`, items(max)],
      [`${min} items`, items(min)],
    ],
    refuses: [
      [`${max + 1} items`, items(max + 1), 'too_big'],
      ...(min === 0 ? [] : ([['no items', [], 'too_small']] as const)),
      ['an item alone', item(0), 'invalid_type'],
      ['null', null, 'invalid_type'],
    ],
  };
};

const gameRules: Rule[] = [
  neverNull(label('/title', 200)),
  neverNull(prose('/description', 0, 5000)),
  neverNull(httpUrl('/coverUrl')),
  {
    member: '/gameType',
    takes: [
      ['RPG', 'RPG'],
      ['words', '角色扮演 VISUAL NOVEL'],
      ['32 emoji', '👾'.repeat(32)],
    ],
    refuses: [
      ['33 letters', 'A'.repeat(33), 'too_big'],
      ['an empty text', '', 'too_small'],
      ['a space before', ' RPG', 'invalid_format'],
      ['a space behind', 'RPG ', 'invalid_format'],
      ['two spaces', 'A  B', 'invalid_format'],
      ['white space', '\u3000', 'blank'],
      ['words of white space', '\u3000 \u2003', 'blank'],
      ...unseen
        .filter((type) => type.trim() === type)
        .map((type, n) => [`nothing visible, ${n}`, type, 'blank'] as const),
      ...unseenBeyond.map((type, n) => [`nothing visible beyond, ${n}`, type, 'blank'] as const),
      ...['A\nB', 'A\u001b', 'A\u202eB', '\u200eA', '\ufeffA'].map(
        (type) => [escapeUnseen(JSON.stringify(type)), type, 'invalid_format'] as const,
      ),
      ['a lone surrogate', LONE_SURROGATE, 'lone_surrogate'],
      ['null', null, 'invalid_type'],
      ...notText,
    ],
  },
  {
    member: '/isFree',
    takes: [
      ['true', true],
      ['false', false],
    ],
    refuses: [
      ['a text', 'true', 'invalid_type'],
      ['a number', 1, 'invalid_type'],
      ['null', null, 'invalid_type'],
    ],
  },
  {
    member: '/version',
    takes: ['Ver1', 'Ver1.20.3', 'Ver007', 'Ver'.padEnd(32, '1')].map((version) => [version, version]),
    refuses: [
      ...['Ver', 'ver1', 'v1', '1.0', 'Ver1.', 'Ver.1', 'Ver1..2', 'Ver 1', 'Ver1b', 'Ver１', 'Ver1\n', 'xVer1'].map(
        (version) => [JSON.stringify(version), version, 'invalid_format'] as const,
      ),
      ['33 characters', 'Ver'.padEnd(33, '1'), 'too_big'],
      ['an empty text', '', 'too_small'],
      ['null', null, 'invalid_type'],
      ['a number', 1.2, 'invalid_type'],
    ],
  },
  neverNull(label('/extraInfo/originalName', 200, 0)),
  neverNull(label('/extraInfo/originalAuthor', 200, 0)),
  {
    member: '/extraInfo/fileSize',
    takes: ['1.5GB', '700 MB', '0B', '12 KB', '0.25TB', 'GB'.padStart(32, '1')].map((size) => [size, size]),
    refuses: [
      ...['GB', '1.5', '1.5gb', '1,5GB', '1  GB', '1\tGB', '1.GB', '.5GB', '-1GB', '1PB', '1GBB', '１GB', '1GB\n'].map(
        (size) => [JSON.stringify(size), size, 'invalid_format'] as const,
      ),
      ['33 characters', 'GB'.padStart(33, '1'), 'too_big'],
      ['null', null, 'invalid_type'],
      ['a number', 1.5, 'invalid_type'],
    ],
  },
  list('/extraInfo/platforms', 0, 20, (n) => `platform ${n}`),
  neverNull(label('/extraInfo/platforms/0', 32)),
  list('/extraInfo/screenshots', 0, 50, (n) => `${PICTURE}?${n}`),
  neverNull(httpUrl('/extraInfo/screenshots/0')),
  list('/extraInfo/downloads', 0, 50, (n) => ({ name: `mirror ${n}`, url: `${PICTURE}?${n}`, password: '' })),
  neverNull(label('/extraInfo/downloads/0/name', 200)),
  {
    member: '/extraInfo/downloads/0/url',
    takes: [
      ...httpUrls(4096),
      ['a magnet link', 'magnet:?xt=urn:btih:c12fe1c06bba254a9dc9f519b335aa7c1367a88a&dn=伝説'],
      ['4096 characters of a magnet link', 'magnet:?xt='.padEnd(4096, 'x')],
    ],
    refuses: [
      ...refusedUrls(notHttpUrl),
      ...refusedUrls(['magnet:', 'magnet:?', 'magnet:xt=1', 'magnet:?x y', 'ed2k://|file|x|1|2|/']),
      ...refusedUrls(['magnet:?dn="><script>', 'magnet:?dn=\u202egnp.exe', 'magnet:?dn=\\']),
      ['4097 characters', 'magnet:?xt='.padEnd(4097, 'x'), 'too_big'],
      ['null', null, 'invalid_type'],
    ],
  },
  neverNull(line('/extraInfo/downloads/0/password', 0, 200)),
  { member: '/extraInfo/downloads/0/size', refuses: [['an unknown member', 1, 'unrecognized_keys']] },
  { member: '/extraInfo/size', refuses: [['an unknown member', 1, 'unrecognized_keys']] },
  { member: '/tagnames', refuses: [['an unknown member', ['x'], 'unrecognized_keys']] },
];

const postRules: Rule[] = [
  neverNull(label('/title', 200)),
  list('/images', 1, 100, (n) => `${PICTURE}?${n}`),
  neverNull(httpUrl('/images/0')),
  { member: '/coverUrl', refuses: [['an unknown member', PICTURE, 'unrecognized_keys']] },
];

const links = (length: number) => Object.fromEntries(Array.from({ length }, (_, n) => [`site-${n}`, `@user${n}`]));

const profileRules: Rule[] = [
  neverNull(label('/nickname', 50)),
  clearable(prose('/bio', 0, 2000)),
  clearable(line('/pronouns', 0, 50)),
  clearable(line('/location', 0, 100)),
  clearable(httpUrl('/website')),
  {
    member: '/socialLinks',
    takes: [
      ['no links', {}],
      ['20 links', links(20)],
    ],
    refuses: [
      ['21 links', links(21), 'too_big'],
      ['an array', ['@x'], 'invalid_type'],
      ['a text', '@x', 'invalid_type'],
      ['null', null, 'invalid_type'],
    ],
  },
  {
    member: '/socialLinks/github',
    takes: [
      ...httpUrls(300),
      ['a handle', '@demo'],
      ['a handle with a number', 'demo#1234'],
      ['a handle with a slash', 'c/demo'],
      ['300 emoji', '👾'.repeat(300)],
    ],
    refuses: [
      ['a handle with a space', 'a b', 'invalid_format'],
      ['a handle with a colon', 'a:b', 'invalid_format'],
      ['a script', 'javascript:alert(1)', 'invalid_format'],
      ...refusedUrls(['//evil.example', '/evil', '\\\\evil.example', '/\\evil.example', 'a\\b']),
      ...refusedUrls(['"><script>', 'x"', '<b', 'x>', '`x', 'x\u202e', '\u200ex', 'x\u0001']),
      ['another scheme', 'ftp://example.com', 'invalid_format'],
      ['301 characters', 'x'.repeat(301), 'too_big'],
      ['an empty text', '', 'too_small'],
      ['a lone surrogate', LONE_SURROGATE, 'lone_surrogate'],
      ['null', null, 'invalid_type'],
      ...notText,
    ],
  },
  ...['a', '0_-', 'constructor', 'x'.repeat(32)].map((name) => ({
    member: `/socialLinks/${name}`,
    takes: [['a handle', '@x']] as const,
  })),
  ...['GitHub', 'git hub', 'größe', 'a~1b', 'x'.repeat(33), '', '__proto__'].map((name) => ({
    member: `/socialLinks/${name}`,
    refuses: [['a handle', '@x', 'invalid_key']] as const,
  })),
  { member: '/avatar', refuses: [['an unknown member', PICTURE, 'unrecognized_keys']] },
];

const avatarRules: Rule[] = [
  {
    member: '/avatar',
    takes: [
      ...httpUrls(2048),
      ...[
        '/',
        '/a.png',
        '/a/b/c.png',
        '/a/',
        '/.hidden',
        '/..a/...',
        '/画像/👾.png?size=2#x',
        '/a.png?next=/../x&u=%2f%2e//#/../%5C',
        '/%E7%94%BB%20%25%41%2D%2b%5B%5d%40.png',
        '/....',
        '/a/./b',
        '/'.padEnd(2048, 'x'),
      ].map((path) => [path.length > 100 ? 'a path of 2048 characters' : path, path] as const),
      ['null', null],
    ],
    refuses: [
      ...refusedUrls(notHttpUrl),
      ...refusedUrls([
        'a.png',
        './a.png',
        '//example.com',
        '/a//b',
        '/..',
        '/../a',
        '/a/..',
        '/a/../b',
        '/a\\b',
        '/a b',
        '/%2e%2e/x',
        '/%2E%2e/x',
        '/.%2e/x',
        '/%2E./x',
        '/a/%2e%2E',
        '/a%2epng',
        '/a%2fb',
        '/a%2Fb',
        '/%5c%5Cevil',
        '/a%5cb',
        '/%0d%0aa',
        '/%00',
        '/100%',
        '/%zz',
        '/a"b',
        '/a?"><script>',
        '/<b>',
        '/\u202egnp.exe',
      ]),
      ['2049 characters', '/'.padEnd(2049, 'x'), 'too_big'],
      ['an empty text', '', 'too_small'],
      ...notText,
    ],
  },
];

const membersOf = (pointer: string): string[] =>
  pointer
    .slice(1)
    .split('/')
    .map((member) => member.replaceAll('~1', '/').replaceAll('~0', '~'));

/** A copy of an input with one member set, whatever its name. */
const withMember = (input: object, pointer: string, value: unknown): object => {
  const copy = structuredClone(input);
  const members = membersOf(pointer);
  const name = members.pop() ?? '';
  const holder = members.reduce<Record<string, unknown>>(
    (node, member) => (node[member] ??= {}) as Record<string, unknown>,
    copy as Record<string, unknown>,
  );
  Object.defineProperty(holder, name, { value, enumerable: true, configurable: true, writable: true });
  return copy;
};

const memberOf = (value: unknown, pointer: string): unknown =>
  membersOf(pointer).reduce((node, member) => (node as Record<string, unknown>)[member], value);

/** What the service refuses though JSON Schema has no word for it. */
const isBeyondJsonSchema = (member: string, code: string, value: unknown): boolean =>
  code === 'lone_surrogate' ||
  member.endsWith('/__proto__') ||
  // No pattern that means the same in every dialect can name ranges beyond U+FFFF.
  (code === 'blank' && /[\u{10000}-\u{10ffff}]/u.test(String(value)));

const taker = await app.aUser();
const takersPost = await app.anImagePost({}, taker);
const refuser = await app.aUser();
const refusersPost = await app.anImagePost({}, refuser);

interface Subject {
  id: ProcedureId;
  rules: readonly Rule[];
  /** A valid input; the second one is of the user whose every input is refused. */
  input: object;
  refusedInput?: object;
  /** Reads again what a reply shows. */
  read: (output: { id: string }) => Promise<unknown>;
}

const subjects: Subject[] = [
  {
    id: 'game.create',
    rules: gameRules,
    input: {
      title: 'x',
      extraInfo: { platforms: ['x'], screenshots: [PICTURE], downloads: [{ name: 'x', url: PICTURE }] },
    },
    read: ({ id }) => app.call('game.getById', { id }),
  },
  {
    id: 'image.create',
    rules: [...postRules, neverNull(prose('/description', 0, 5000))],
    input: { title: 'x', images: [PICTURE] },
    read: ({ id }) => app.call('image.getById', { id }),
  },
  {
    id: 'image.update',
    rules: [...postRules, clearable(prose('/description', 0, 5000))],
    input: { id: takersPost.id, images: [PICTURE] },
    refusedInput: { id: refusersPost.id, images: [PICTURE] },
    read: ({ id }) => app.call('image.getById', { id }),
  },
  {
    id: 'user.updateProfile',
    rules: profileRules,
    input: {},
    read: ({ id }) => app.call('user.getProfile', { id }),
  },
  {
    id: 'user.updateAvatar',
    rules: avatarRules,
    input: {},
    read: ({ id }) => app.call('user.getProfile', { id }),
  },
];

interface Case {
  member: string;
  name: string;
  value: unknown;
  code?: string;
}

/** The names of a record are checked before its values are, and the first that is unusable is told alone. */
const slotOf = ({ member }: Case): string => member.replace(/^(\/socialLinks)\/.*/, '$1');

/**
 * Cases of all members together, as few inputs as hold each of them once: what one member is given does not touch another, but
 * for one that holds it.
 */
const together = (cases: readonly Case[]): { cases: Case[] }[] => {
  const holds = ({ member }: Case) => cases.some((other) => other.member.startsWith(`${member}/`));
  return [cases.filter(holds), cases.filter((one) => !holds(one))].flatMap((some) => {
    const inputs: { cases: Case[] }[] = [];
    for (const [index, one] of some.entries()) {
      const before = some.slice(0, index).filter((other) => slotOf(other) === slotOf(one)).length;
      (inputs[before] ??= { cases: [] }).cases.push(one);
    }
    return inputs;
  });
};

const withMembers = (input: object, cases: readonly Case[]): object =>
  cases.reduce((json, { member, value }) => withMember(json, member, value), input);

describe.each(subjects)('$id', ({ id, rules, input, refusedInput = input, read }) => {
  const taken = rules.flatMap(({ member, takes = [] }) => takes.map(([name, value]) => ({ member, name, value })));
  const refused = rules.flatMap(({ member, refuses = [] }) =>
    refuses.map(([name, value, code]) => ({ member, name, value, code })),
  );

  test.each(together(taken))('takes what fits, %#', async ({ cases }) => {
    const json = withMembers(input, cases);
    const { status, body } = await app.send(id, json, taker.key);
    expect({ status, error: body.error }).toEqual({ status: 200 });
    expect(isPublishedInput(id, json)).toBe(true);
    const output = body.result.data.json;
    const stored = await read(output);
    for (const { member, value } of cases) {
      expect([member, memberOf(output, member)]).toEqual([member, value]);
      expect([member, memberOf(stored, member)]).toEqual([member, value]);
    }
  });

  test.each(together(refused))('refuses what does not, %#', async ({ cases }) => {
    const { data, issues } = await app.fail(id, withMembers(refusedInput, cases), 400, refuser.key);
    expect(data.reason).toBe('VALIDATION_FAILED');
    const byMember = (a: { path: string }, b: { path: string }) => (a.path < b.path ? -1 : 1);
    expect(issues.toSorted(byMember)).toEqual(
      cases.map(({ member, code }) => ({ path: member, code, message: expect.stringMatching(/./) })).toSorted(byMember),
    );
  });

  test('the document refuses the same', () => {
    const published = refused.map(({ member, value }) => isPublishedInput(id, withMember(refusedInput, member, value)));
    const beyond = refused.map(({ member, code, value }) => isBeyondJsonSchema(member, code, value));
    const named = (allowed: readonly boolean[]) =>
      refused.filter((_, n) => allowed[n]).map(({ member, name }) => [member, name]);
    expect(named(published)).toEqual(named(beyond));
  });
});

describe.each(subjects.filter(({ id }) => !id.startsWith('user.')))(
  '$id tagNames',
  ({ id, input, refusedInput = input }) => {
    test('takes 20 names of up to 50 characters', async () => {
      const tagNames = Array.from({ length: 20 }, (_, n) => `${n}`.padEnd(50, '名'));
      const { body } = await app.send(id, { ...input, tagNames }, taker.key);
      expect(body.result.data.json.tags).toMatchObject(tagNames.map((name) => ({ name })));
    });

    test.each([
      ['21 names', '/tagNames', Array.from({ length: 21 }, (_, n) => `tag ${n}`), 'too_big'],
      ['51 characters', '/tagNames/1', ['x', '名'.repeat(51)], 'too_big'],
      ['an empty name', '/tagNames/0', ['', 'x'], 'too_small'],
      ['a blank name', '/tagNames/1', ['x', '\u3000'], 'blank'],
      ['a lone surrogate', '/tagNames/0', [LONE_SURROGATE], 'lone_surrogate'],
      ['a line break', '/tagNames/1', ['x', 'a\nb'], 'control_character'],
      ['another direction', '/tagNames/0', ['\u202eGPR'], 'control_character'],
      ['a number', '/tagNames/0', [1], 'invalid_type'],
      ['a text', '/tagNames', 'x', 'invalid_type'],
      ['null', '/tagNames', null, 'invalid_type'],
    ])('refuses %s', async (_, path, tagNames, code) => {
      const { issues } = await app.fail(id, { ...refusedInput, tagNames }, 400, refuser.key);
      expect(issues).toEqual([{ path, code, message: expect.stringMatching(/./) }]);
    });
  },
);

test('nothing of what was refused was stored', async () => {
  expect(await app.call('user.me', {}, refuser.key)).toMatchObject({
    nickname: refuser.nickname,
    bio: null,
    pronouns: null,
    website: null,
    location: null,
    socialLinks: {},
    avatar: null,
    gameCount: 0,
    imagePostCount: 1,
  });
  expect(await app.call('image.getById', { id: refusersPost.id }, refuser.key)).toEqual(refusersPost);
});

test('a fault tells the length that is allowed and the one it has', async () => {
  const { issues } = await app.fail('game.create', { title: '👾'.repeat(201), tagNames: [''] }, 400, refuser.key);
  expect(issues).toEqual([
    { path: '/title', code: 'too_big', message: 'must have at most 200 characters, has 201' },
    { path: '/tagNames/0', code: 'too_small', message: 'must have at least 1 character, has 0' },
  ]);
});

test('a member that is missing is required', async () => {
  const { issues } = await app.fail('image.create', {}, 400, refuser.key);
  expect(issues).toEqual([
    { path: '/title', code: 'invalid_type', message: 'is required' },
    { path: '/images', code: 'invalid_type', message: 'is required' },
  ]);
});
