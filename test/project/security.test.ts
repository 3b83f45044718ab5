/**
 * @engines none
 * @tier fast
 */
import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { VECTOR_KEY } from '../../openapi/kit/mock-server/server.ts';
import { sandboxKeys } from '../../src/sandbox/sandbox.ts';
import { generateKey, isWellFormedKey } from '../../src/auth/format.ts';

const page = readFileSync('SECURITY.md', 'utf8');

const filesIn = (...folders: string[]): string[] =>
  folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .map((file) => posix.join(folder, file))
      .filter((file) => /\.(ts|mjs)$/.test(file) && !file.includes('node_modules/')),
  );

const model = readFileSync('docs/threat-model.md', 'utf8');
const [ledger = '', attacks = ''] = readFileSync('test/project/attacks.md', 'utf8').split(/^## Attacks .*$/m);

/** The entries of a list by their names: the text of each, and its lines of tests. */
const entriesOf = (list: string) =>
  [...list.matchAll(/^- \*\*(.+?)\*\*((?:[:.] .+)?\n(?: {2}(?!- ).+\n)*)((?: {2}- .+\n)*)/gm)].map(
    ([, name = '', said = '', shown = '']) => ({ name, said, shown }),
  );

/** The tests that an entry names, as matches: file and title; as they stand what are none. */
const testsOf = (shown: string) =>
  shown
    .split('\n')
    .filter(Boolean)
    .map((one) => /^ {2}- `(test\/\S+\.test\.ts)` › "(.+)"$/.exec(one) ?? one);

/** Which of them there are not. */
const missingOf = (named: ReturnType<typeof testsOf>): (string | undefined)[] =>
  named
    .filter((one) => {
      if (typeof one === 'string') return true;
      const [, file = '', title = ''] = one;
      const source = readFileSync(file, 'utf8');
      return !["'", '`', '"'].some((quote) => source.includes(`${quote}${title}${quote}`));
    })
    .map((one) => (typeof one === 'string' ? one : one[0]));

describe('security', () => {
  describe('the threat model', () => {
    const threats = entriesOf(model);

    test('has the whole top ten, and no weakness twice', () => {
      const names = threats.flatMap(({ name }) => name.match(/\b(API|CWE-)\d+/g) ?? []);
      expect(names.filter((name) => name.startsWith('API'))).toEqual(
        Array.from({ length: 10 }, (_, n) => `API${n + 1}`),
      );
      expect(names.length).toBeGreaterThan(50);
      expect(names.length).toBe(new Set(names).size);
    });

    test('has its weaknesses and tables in the ledger', () => {
      const tables = [...model.matchAll(/^\| (`\w+`)/gm)].map(([, name]) => name);
      expect(tables.length).toBeGreaterThan(5);
      const names = [...threats.map(({ name }) => name), ...tables];
      expect(entriesOf(ledger).map(({ name }) => name)).toEqual(names);
    });

    test.each(Object.entries({ ledger, attacks }))('has tests for each entry of the %s that is held', (_, list) => {
      const entries = entriesOf(list);
      expect(list.match(/^- \*\*/gm)?.length).toBe(entries.length);
      const isOpen = new Set(threats.filter(({ said }) => said.includes('**Not held**')).map(({ name }) => name));
      expect(entries.filter(({ name, shown }) => shown === '' && !isOpen.has(name))).toEqual([]);
      const named = entries.flatMap(({ shown }) => testsOf(shown));
      expect(missingOf(named)).toEqual([]);
      expect(named.length).toBeGreaterThan(60);
    });
  });

  describe('the expression for secret scanners', () => {
    const [, source = ''] = /^```\n(.*cgk_.*)\n```$/m.exec(page) ?? [];
    const expression = new RegExp(source);

    test('finds keys, wherever they stand', () => {
      for (const key of Array.from({ length: 20 }, generateKey)) {
        for (const text of [key, `key=${key}`, `"${key}"`, `Bearer ${key}\n`, `https://x/?k=${key}&y`]) {
          expect(expression.exec(text)?.[0]).toBe(key);
        }
      }
    });

    test.each([
      ['one character less', (key: string) => key.slice(0, -1)],
      ['one character more', (key: string) => `${key}0`],
      ['another prefix', (key: string) => `x${key}`],
      ['an underscore behind', (key: string) => `${key}_`],
      ['capitals', (key: string) => key.replace('cgk', 'CGK')],
      ['a dash within', (key: string) => `${key.slice(0, 20)}-${key.slice(21)}`],
      ['the first 12 characters', (key: string) => key.slice(0, 12)],
    ])('does not take for a key what has %s', (_, change) => {
      expect(expression.test(change(generateKey()))).toBe(false);
    });

    test('the only keys in the sources are those of the sandbox and of examples', () => {
      const files = [
        ...filesIn('src', 'contract', 'openapi', 'migrations'),
        'README.md',
        'docs/sandbox.md',
        'openapi/openapi.json',
      ];
      const found = files.flatMap((file) => readFileSync(file, 'utf8').match(new RegExp(source, 'g')) ?? []);
      const known = new Set([VECTOR_KEY, ...sandboxKeys.map(({ key }) => key)]);
      expect(found.filter((key) => isWellFormedKey(key) && !known.has(key))).toEqual([]);
      expect(found.length).toBeGreaterThanOrEqual(known.size);
    });
  });

  describe('what the sources never do', () => {
    /** The lines of the service that hold something. */
    const linesWith = (pattern: RegExp): string[] =>
      filesIn('src', 'contract', 'migrations', 'openapi/kit').flatMap((file) =>
        readFileSync(file, 'utf8')
          .split('\n')
          .filter((line) => pattern.test(line))
          .map((line) => `${file}: ${line.trim()}`),
      );

    test('the service calls nobody but the endpoints of webhooks: else only the conformance kit, the mock server, the recording proxy, and the commands `status`, `can-i-deploy`, `contract` and `doctor` have a client', () => {
      const clients = linesWith(
        /\bfetch\(|\b(request|get|connect|createConnection)\b.*'node:(https?|http2|net|tls)'|'undici'/,
      );
      const MAY =
        /^(openapi\/kit\/(conformance|mock-server)\/|openapi\/kit\/consumers\/recording-proxy\.ts|src\/admin\/doctor\/registry\.ts|src\/event\/webhook\/sender\/send\.ts)/;
      expect(clients.filter((line) => !MAY.test(line))).toEqual([]);
      expect(clients).not.toEqual([]);
    });

    test('the names of webhooks wait in none of the threads that those of the database need', () => {
      const dns = linesWith(/\blookup\(|'node:dns/);
      expect(dns).toEqual(["src/event/webhook/sender/names.ts: import { Resolver } from 'node:dns/promises';"]);
    });

    test('nothing is evaluated, and the service calls no shell', () => {
      const evaluated = linesWith(/\beval\(|\bFunction\(|\beval: true|'node:(vm|child_process)'|setTimeout\('/);
      // From the names of columns, which are those of our own statements.
      expect(evaluated.toSorted()).toEqual([
        // A thread that blocks while it listens.
        'openapi/kit/mock-server/silence.ts: const worker = new Worker(PROGRAM, { eval: true });',
        // For `backup` on the command line: the server's own tool, and the command that the operator has it run afterwards.
        "src/admin/backup/backup.ts: import { spawn } from 'node:child_process';",
        "src/admin/backup/dump/dump.ts: import { spawn } from 'node:child_process';",
        "src/admin/backup/dump/tool.ts: import { execFile } from 'node:child_process';",
        // For the command line that whoever runs `verify` hands it to clean up.
        "src/admin/commands/testing/record.ts: import { spawn } from 'node:child_process';",
        expect.stringMatching(/^src\/admin\/commands\/testing\/verify\.ts: import \{ spawn \}/),
        expect.stringMatching(/^src\/db\/sqlite\/binding\/binding\.ts: return new Function\('values', /),
      ]);
    });
  });

  /** Whether an expression is done with a text soon: it takes some 50 µs of the processor. */
  const isQuick = (expression: RegExp, text: string): boolean => {
    const began = process.cpuUsage();
    expression.test(text);
    return process.cpuUsage(began).user < 250_000;
  };

  test('no pattern of an input takes long, whatever the text', () => {
    const patterns = new Set<string>();
    JSON.parse(readFileSync('openapi/openapi.json', 'utf8'), (name, value: unknown) => {
      if (name === 'pattern' && typeof value === 'string') patterns.add(value);
      return value;
    });
    expect(patterns.size).toBeGreaterThan(5);
    const beginnings = ['', 'https://', 'https://a', 'magnet:?', '/', 'Ver1'];
    const middles = [
      'a',
      'a.',
      '-',
      'a-',
      '_',
      '.',
      '/',
      '/.',
      '/..',
      '../unit/',
      '%41',
      '/%41',
      'a ',
      ' ',
      '1',
      '.1',
      '?',
      '👾',
    ];
    const ends = ['', '!', '"', '\n', ' ', '%', '%2e', '/..', '//'];
    for (const pattern of patterns) {
      const expression = new RegExp(pattern);
      for (const begin of beginnings) {
        for (const middle of middles) {
          for (const end of ends) {
            for (const length of [25, 300, 1000, 5000]) {
              const text = begin + middle.repeat(length / middle.length) + end;
              if (!isQuick(expression, text)) throw new Error(`${pattern} takes long for ${JSON.stringify(text)}`);
            }
          }
        }
      }
    }
    // A dozen seconds of the processor, which others may be using.
  });
});
