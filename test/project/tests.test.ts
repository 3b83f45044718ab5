/**
 * @engines none
 * @tier fast
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { tests } from '../harness/jest/projects.mjs';

const engines = ['none', 'sqlite', 'server', 'second-server', 'mariadb', 'vitess'];
const tiers = ['fast', 'long', 'fault', 'fuzz'];
const programs = [
  'redis',
  'promtool',
  'chromium',
  'oasdiff',
  'galera',
  'haproxy',
  'nginx',
  'languages',
  'go',
  'faketime',
];

const ELAPSED = String.raw`(?:performance|Date)\.now\(\)\s*-|-\s*(?:performance|Date)\.now\(\)`;
/** What helpers tell of how long something took. */
const TOLD = /harness\/(?:faults|http)\//;
const TOLD_NAMES = ['ms'];

/** The text from the start of an argument to the bracket that closes it. */
const argumentAt = (text: string, start: number): string => {
  let depth = 1;
  let end = start;
  for (; depth > 0 && end < text.length; end += 1) {
    if ('([{'.includes(text[end]!)) depth += 1;
    else if (')]}'.includes(text[end]!)) depth -= 1;
  }
  return text.slice(start, end - 1);
};

/**
 * The bounds on how long something took, which hold only on a machine that does nothing else. What is taken from a time that
 * passed is one, through variables, members and functions; held against another such time, it is a ratio, and may stay.
 */
const boundsOfTime = (source: string): string[] => {
  const text = source.replaceAll(/\/\/.*$/gm, '');
  const names = new Set(TOLD.test(text) ? TOLD_NAMES : []);
  // In turns of a control process it is a ratio.
  const isElapsed = (part: string): boolean =>
    !/\bturns\./.test(part) &&
    new RegExp([ELAPSED, ...[...names].map((name) => String.raw`\b${name}\b(?!:)`)].join('|')).test(part);
  for (let before = -1; before < names.size;) {
    before = names.size;
    for (const { 0: start, 1: name, index } of text.matchAll(/\bconst (\w+) = [^;{]*=> \{/g)) {
      const body = argumentAt(text, index + start.length);
      if ([...body.matchAll(/\breturn ([^;]*);/g)].some(([, part]) => isElapsed(part!))) names.add(name!);
    }
    for (const [, name, value] of text.matchAll(/\b(?:const|let) (\w+)(?:: [^=]+)? = ([^;]*);\n/g))
      if (!value!.includes('=> {') && isElapsed(value!)) names.add(name!);
    for (const [, name, value] of text.matchAll(/\b(\w+): ([^,;{}]*)/g)) if (isElapsed(value!)) names.add(name!);
    for (const [, name, value] of text.matchAll(/\b(\w+)\.push\(([^;]*)\);/g)) if (isElapsed(value!)) names.add(name!);
  }
  return [...text.matchAll(/\bexpect\(/g)].flatMap(({ index }) => {
    const received = argumentAt(text, index + 'expect('.length);
    const rest = text.slice(index + 'expect('.length + received.length + 1);
    const [matcher] = /^\.toBeLess\w+\(/.exec(rest) ?? [];
    if (!matcher) return [];
    const bound = argumentAt(rest, matcher.length);
    return isElapsed(received) && !isElapsed(bound) ? [`expect(${received})${matcher}${bound})`] : [];
  });
};

describe('a bound on time', () => {
  test.each([
    ['of a difference', 'expect(performance.now() - began).toBeLessThan(100);'],
    ['of a variable', 'const took = performance.now() - began;\nexpect(took).toBeLessThan(100);'],
    ['of a variable of a variable', 'const a = Date.now() - b;\nconst c = Math.max(a, 0);\nexpect(c).toBeLessThan(1);'],
    ['of a member', 'all.push({ at, took: performance.now() - at });\nexpect(one.took).toBeLessThanOrEqual(9);'],
    ['of a list', 'all.push(performance.now() - at);\nexpect(median(all)).toBeLessThanOrEqual(9);'],
    ['of a function', 'const timed = () => {\n  return Date.now() - at;\n};\nexpect(timed()).toBeLessThan(9);'],
    ['of a helper', "from '../harness/faults/x.ts';\nexpect(quantile(all.map(({ ms }) => ms), 0.9)).toBeLessThan(9);"],
  ])('%s is seen', (_, text) => {
    expect(boundsOfTime(text)).toHaveLength(1);
  });

  test.each([
    ['to another time', 'const took = performance.now() - began;\nexpect(took).toBeLessThan(2 * took);'],
    ['of turns', "from '../harness/faults/x.ts';\nexpect(turns.between(from, to)).toBeLessThan(20);"],
    ['from below', 'expect(performance.now() - began).toBeGreaterThan(100);'],
  ])('a ratio %s is not', (_, text) => {
    expect(boundsOfTime(text)).toEqual([]);
  });
});

/** Not this one, which holds examples. */
const others = tests.filter(({ path }) => path !== 'test/project/tests.test.ts');

describe('a test file', () => {
  test.each(others)('bounds no time on the wall: $path', ({ path }) => {
    expect(boundsOfTime(readFileSync(path, 'utf8'))).toEqual([]);
  });
});

describe('the tests', () => {
  test('are never tried again', () => {
    const setUp = ['jest.config.mjs', 'test/harness/jest/projects.mjs'];
    const text = [...others.map(({ path }) => path), ...setUp].map((path) => readFileSync(path, 'utf8')).join('\n');
    expect(text.match(/\bretryTimes\(|setupFilesAfterEnv/g)).toBeNull();
  });
});

describe('a planted fault', () => {
  const patches = readdirSync('test/mutants')
    .filter((name) => name.endsWith('.patch'))
    .map((name) => `test/mutants/${name}`);

  test('can be planted: its patch applies', () => {
    const refused = patches.filter((patch) => spawnSync('git', ['apply', '--check', patch]).status !== 0);
    expect(patches).not.toEqual([]);
    expect(refused).toEqual([]);
  });
});

describe('the docblock of a test file', () => {
  test.each(tests)('of $path says where it runs', ({ path, engines: own, tier, serverTier, needs, skips }) => {
    expect(own.length).toBeGreaterThan(0);
    expect(engines).toEqual(expect.arrayContaining(own));
    expect(tiers).toContain(tier);
    expect(serverTier === tier || (tier === 'fast' && serverTier === 'long' && own.includes('server'))).toBe(true);
    expect(programs).toEqual(expect.arrayContaining(needs));
    // What does not run on Vitess has nothing to skip there.
    for (const { reason } of skips) expect([path, own.includes('vitess'), reason !== '']).toEqual([path, true, true]);
  });
});
