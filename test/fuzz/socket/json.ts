import type { Random } from '../../../src/sandbox/seed/random.ts';

// Inputs changed as JSON values, before they become text.

/** JSON text that no value stands for. */
export class Raw {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** An object with these members, repeated ones too. */
export class Members {
  readonly list: readonly (readonly [name: string, value: unknown])[];

  constructor(list: Members['list']) {
    this.list = list;
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  !(value instanceof Raw) &&
  !(value instanceof Members);

/** Such a value as text. */
export const stringify = (value: unknown): string => {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (value instanceof Raw) return value.text;
  let text = '';
  if (Array.isArray(value)) {
    for (const member of value) text += `${text === '' ? '' : ','}${stringify(member)}`;
    return `[${text}]`;
  }
  for (const [name, member] of value instanceof Members ? value.list : Object.entries(value)) {
    text += `${text === '' ? '' : ','}${JSON.stringify(name)}:${stringify(member)}`;
  }
  return `{${text}}`;
};

/** Texts that programs stumble over. */
const shortStrings: readonly string[] = [
  '',
  ' ',
  '\u3000',
  '\0',
  'a\0b',
  '\uD800',
  'x\uDFFF',
  '\uFEFF',
  '\u202Eabc',
  '\u2028\r\n',
  'e\u0301',
  '\u0345\u0301\u0327',
  'İıſßΣς',
  '👩\u200D👧\u200D🎮',
  '𠮷野家',
  '伝説',
  'ドラゴン ﾄﾞﾗｺﾞﾝ',
  '\uFDFA'.repeat(50),
  '__proto__',
  'constructor',
  'toString',
  'null',
  'undefined',
  'NaN',
  '[object Object]',
  "' OR 1=1 --",
  '"; DROP TABLE games; --',
  '%',
  '_',
  '%_\\%',
  '\\',
  '\\\\\'\\"',
  '../../../etc/passwd',
  '/..%2f..',
  '//host/x',
  'javascript:alert(1)',
  'http://[::1]:99999/',
  'http://user:pw@example.com/',
  `Ver${'1.'.repeat(15)}`,
  '9'.repeat(32),
  '1e309GB',
  '<script>alert(1)</script>',
  '${jndi:ldap://x}',
  '{{7*7}}',
  ' 2026-02-30T25:61:61.000Z',
  'x'.repeat(200),
  'x'.repeat(201),
];

/** Likewise, and long. */
const longStrings: readonly string[] = [
  'a\u0301'.repeat(100),
  '\u0301'.repeat(5000),
  `http://${'a-'.repeat(900)}`,
  `http://${'a.'.repeat(900)}!`,
  `magnet:?${'x'.repeat(4000)}`,
  `/${'.'.repeat(1000)}/..`,
  'ア'.repeat(5000),
  'ab'.repeat(35_000),
];

/** How often a size is beyond all measure: it is what takes time, here and there. */
const HUGE = 0.007;

/** A text that programs stumble over. */
export const hostileString = (random: Random): string => random.pick(random.chance(HUGE) ? longStrings : shortStrings);

const rawNumbers = [
  '-0',
  '1e308',
  '1e309',
  '-1e309',
  '1e-400',
  '9007199254740993',
  '2147483648',
  '-2147483649',
  '18446744073709551616',
  '0.1e1',
  '1.0',
  '20.0000000000000001',
  '1'.repeat(400),
  `1e${'9'.repeat(40)}`,
  `0.${'0'.repeat(1000)}1`,
];
const numbers = [0, 1, -1, 2, 1.5, 50, 51, 100, 101, 10_000, 10_001, 2 ** 31 - 1, 2 ** 31, 2 ** 53, 1e21];
const names = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'json',
  'meta',
  'id',
  'a.b',
  'a\\.b',
  '',
  '0',
  '~1/',
];

const nested = (depth: number, [open, close]: readonly [string, string]): Raw =>
  new Raw(`${open.repeat(depth)}1${close.repeat(depth)}`);

/** Any value but the right one. */
const hostileValue = (random: Random): unknown => {
  const depth = random.chance(HUGE) ? 100_000 : random.pick([2, 20, 200]);
  const length = random.chance(HUGE) ? 3000 : random.pick([11, 21, 51, 101]);
  switch (random.between(0, 9)) {
    case 0:
      return null;
    case 1:
      return random.chance(0.5);
    case 2:
      return random.pick(numbers);
    case 3:
      return new Raw(random.pick(rawNumbers));
    case 4:
      return random.pick([[], {}, [null], [[]], [{}], { length: 1 }, ['x', 1, null, {}]]);
    case 5:
      return nested(depth, ['[', ']']);
    case 6:
      return nested(depth, ['{"a":', '}']);
    case 7:
      return Array.from({ length }, () => random.pick(['x', 1, null]));
    case 8:
      return Object.fromEntries(Array.from({ length }, (_, n) => [`unknown${n}`, n]));
    default:
      return hostileString(random);
  }
};

const letters = [...'aZ09 -_.,:/%+#\\"\'', '海', 'ド', '🐉', 'é', '\u0301', '\uD83C', '\0', '\n', '\u2029'];

/** A text with a small change, mostly as good as it was. */
export const changedString = (random: Random, text: string): string => {
  const at = random.between(0, text.length);
  switch (random.between(0, 7)) {
    case 0:
    case 1:
      return text.slice(0, at) + random.pick(letters) + text.slice(at);
    case 2:
      return text.slice(0, at) + text.slice(at + random.between(1, 4));
    case 3:
      return text.slice(0, at) + random.pick(letters) + text.slice(at + 1);
    case 4:
      return random.pick([text.toUpperCase(), text.normalize('NFD'), text.trim(), ` ${text} `]);
    case 5:
      return text.slice(0, 500).repeat(random.pick([2, 3, 20]));
    case 6:
      return text.slice(0, at) + hostileString(random) + text.slice(at);
    default:
      return `${text} ${random.between(0, 999)}`;
  }
};

const changedNumber = (random: Random, value: number): unknown =>
  random.chance(0.3)
    ? new Raw(random.pick(rawNumbers))
    : random.pick([value + 1, value - 1, -value, value + 0.5, value * 1000, String(value), random.pick(numbers)]);

const changedArray = (random: Random, list: readonly unknown[]): unknown => {
  const one = list.length > 0 ? random.pick(list) : null;
  return random.pick<() => unknown>([
    () => [],
    () => list.slice(1),
    () => [...list, one],
    () => [...list, hostileValue(random)],
    () => Array.from({ length: random.pick([2, 3, 20, 21, 51]) }, () => one),
    () => [list],
    () => list[0],
    () => Object.fromEntries(list.entries()),
  ])();
};

const changedObject = (random: Random, value: Record<string, unknown>): unknown => {
  const entries = Object.entries(value);
  const [name, member] = entries.length > 0 ? random.pick(entries) : ['a', 1];
  return random.pick<() => unknown>([
    () => Object.fromEntries(entries.filter(([other]) => other !== name)),
    () => new Members([...entries, [random.pick(names), hostileValue(random)]]),
    () => new Members([...entries, [name, member]]),
    () => new Members([[name, hostileValue(random)], ...entries]),
    () => new Members(entries.map(([other, old]) => [other === name ? changedString(random, other) : other, old])),
    () => new Members([...entries, ['__proto__', { isAdmin: true, limit: 1, scopes: ['content:write'] }]]),
    () => [value],
    () => entries,
  ])();
};

const changedValue = (random: Random, value: unknown): unknown => {
  if (typeof value === 'string' && random.chance(0.8)) return changedString(random, value);
  if (typeof value === 'number' && random.chance(0.8)) return changedNumber(random, value);
  if (Array.isArray(value) && random.chance(0.7)) return changedArray(random, value);
  if (isObject(value) && random.chance(0.7)) return changedObject(random, value);
  return hostileValue(random);
};

/** A value of which one part, at any depth, is another. */
export const changed = (random: Random, value: unknown): unknown => {
  if (Array.isArray(value) && value.length > 0 && random.chance(0.75)) {
    const at = random.between(0, value.length - 1);
    return value.map((member: unknown, index) => (index === at ? changed(random, member) : member));
  }
  if (isObject(value) && Object.keys(value).length > 0 && random.chance(0.85)) {
    const name = random.pick(Object.keys(value));
    return Object.fromEntries(
      Object.entries(value).map(([other, member]) => [other, other === name ? changed(random, member) : member]),
    );
  }
  return changedValue(random, value);
};

const annotation = (random: Random, path: string): unknown =>
  random.pick<() => unknown>([
    () => ['undefined'],
    () => ['Date'],
    () => ['map', { a: ['undefined'], [path]: ['set'] }],
    () => 'undefined',
    () => nested(random.chance(HUGE) ? 20_000 : 5, ['["x",{"a":', '}]']),
  ])();

/** What may stand beside `json`: annotations of superjson, good and bad. */
export const meta = (random: Random): unknown => {
  const paths = [...names, 'title', 'search', 'extraInfo.downloads.0.password', 'games.0.title', 'a.'.repeat(50)];
  const some = () =>
    Object.fromEntries(
      Array.from({ length: random.chance(HUGE) ? 3000 : random.pick([1, 2, 10]) }, (_, n) => {
        const path = n < 2 ? random.pick(paths) : `a.${n}`;
        return [path, annotation(random, path)];
      }),
    );
  return random.pick<() => unknown>([
    () => ({ values: some(), v: 1 }),
    () => ({ values: some() }),
    () => ({ values: ['undefined'], v: 1 }),
    () => ({ values: { title: ['undefined'] }, referentialEqualities: { a: ['b', 'json.a'], b: ['a'] } }),
    () => hostileValue(random),
  ])();
};

/** JSON text as bytes, in form and encoding as no client should send it, or cut short. */
export const mangledText = (random: Random, text: string): Buffer => {
  const at = random.between(0, text.length);
  const broken = random.pick<() => string | Buffer>([
    () => text.slice(0, at),
    () => text + text,
    () => `\uFEFF${text}`,
    () => text.replace(/}$/, ',}'),
    () => text.replaceAll('"', "'"),
    () => `/**/${text}`,
    () => JSON.stringify(text),
    () => `${text.slice(0, at)}NaN${text.slice(at)}`,
    () => `\n\t${text}${' '.repeat(500)}`,
    () => Buffer.from(text, 'utf16le'),
    () => Buffer.from(text, 'latin1'),
    () =>
      Buffer.concat([
        Buffer.from(text.slice(0, at)),
        random.pick([
          Buffer.from([0xff]),
          Buffer.from([0xed, 0xa0, 0x80]),
          Buffer.from([0xc0, 0xaf]),
          Buffer.from([0]),
        ]),
        Buffer.from(text.slice(at)),
      ]),
    () => text.replace(/[a-z]/g, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`),
    () => Buffer.from(random.pick(['', 'null', '[]', '0', '"json"', '{', '{"json":', '[{}]', 'true', '-', '\\'])),
  ])();
  return Buffer.isBuffer(broken) ? broken : Buffer.from(broken);
};
