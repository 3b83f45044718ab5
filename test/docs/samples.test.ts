/**
 * @engines sqlite
 * @tier fast
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { operations, procedures, streams } from '../../contract/index.ts';
import type { Call, Value } from '../../openapi/samples/call.ts';
import { curlSample } from '../../openapi/samples/curl.ts';
import { goSample } from '../../openapi/samples/go.ts';
import { javaSample } from '../../openapi/samples/java.ts';
import { pythonSample } from '../../openapi/samples/python.ts';
import { rustSample } from '../../openapi/samples/rust.ts';
import type { CodeSample } from '../../openapi/samples/samples.ts';
import { typescriptSample } from '../../openapi/samples/typescript.ts';
import { readConfig } from '../../src/config/config.ts';
import { documents, withAddress } from '../../src/site/documents.ts';
import { startApp, type TestApp } from '../harness/app/app.ts';
import { demoKeyIn } from '../harness/app/demo.ts';
import { startRecorder } from '../harness/http/recorder.mjs';

// The code samples of the documents. Those of the SDKs are compiled and run by `npm run test:sdk`; those for curl are run here.

interface Document {
  paths: Record<string, { post: { operationId: string; 'x-codeSamples': CodeSample[] } }>;
}

const served = new Map(documents(readConfig({})));
const documentAt = (path: string, base = 'http://localhost:3000'): Document =>
  JSON.parse(withAddress(served.get(path) ?? '', base)) as Document;

/** `[operation id, label, source]` of each sample. */
const samplesIn = ({ paths }: Document): [id: string, label: string, source: string][] =>
  Object.values(paths).flatMap(({ post }) =>
    post['x-codeSamples'].map(({ label, source }): [string, string, string] => [post.operationId, label, source]),
  );

const sh = async (command: string, env: Record<string, string> = {}): Promise<string> => {
  const { stdout } = await promisify(execFile)('sh', ['-c', command], { env: { PATH: process.env['PATH'], ...env } });
  return stdout;
};

const published = documentAt('/openapi.json');

describe('code samples', () => {
  test('each operation has a sample for curl and in each language', () => {
    const labels = ['curl', 'TypeScript', 'Python', 'Go', 'Java', 'Rust', 'PHP', 'C#', 'Ruby'];
    expect(
      samplesIn(published)
        .map(([id, label]) => `${id} ${label}`)
        .toSorted(),
    ).toEqual(operations.flatMap(({ id }) => labels.map((label) => `${id} ${label}`)).toSorted());
  });

  test('both documents have the same samples', () => {
    expect(samplesIn(documentAt('/openapi-3.0.json'))).toEqual(samplesIn(published));
  });

  // None of these languages reads escapes in such a text.
  test.each([
    ['PHP', /<<<'JSON'\n([^]*?)\nJSON;/],
    ['C#', /"{3}\n([^]*?)\n {4}"{3};/],
    ['Ruby', /<<~'JSON'\n([^]*?)\nJSON\n/],
  ])('the samples for %s send what the example says, as it is written', (language, body) => {
    const sent = samplesIn(published).flatMap(([id, label, source]) =>
      label === language ? [[id, JSON.parse(body.exec(source)?.[1] ?? '') as unknown]] : [],
    );
    expect(sent).toEqual(operations.map(({ id, example }) => [id, { json: example.input }]));
  });

  test('a key is taken from the environment where one is needed', () => {
    const open = new Set<string>(operations.flatMap(({ id, access }) => (access === 'public' ? [id] : [])));
    for (const [id, label, source] of samplesIn(published)) {
      expect([id, label, source.includes('GATEWAY_KEY')]).toEqual([id, label, !open.has(id)]);
    }
  });

  test('no line is wider than a page shows without scrolling far', () => {
    const longest = Math.max(
      ...samplesIn(published).flatMap(([, , source]) => source.split('\n').map((line) => line.length)),
    );
    expect(longest).toBeLessThanOrEqual(100);
  });

  describe('a service that is known by a public address', () => {
    test.each(['/openapi.json', '/openapi-3.0.json'])('has it in the samples of %s', (path) => {
      const ours = samplesIn(documentAt(path, 'https://api.example.com/base/'));
      expect(ours.filter(([, , source]) => source.includes('localhost'))).toEqual([]);
      expect(ours).toEqual(
        samplesIn(documentAt(path)).map(([id, label, source]) => [
          id,
          label,
          source.replace('http://localhost:3000', 'https://api.example.com/base'),
        ]),
      );
    });

    test('never has it say more than an address', () => {
      const url = 'http://127.0.0.1:9/$(id)`id`\'";$HOME&\\{x}(y)';
      for (const [, label, source] of samplesIn(documentAt('/openapi.json', url))) {
        const address = /http:\/\/127\.0\.0\.1:9\/[^\n]*?(?=\/api\/trpc|['"])/.exec(source)?.[0];
        expect([label, address]).toEqual([
          label,
          'http://127.0.0.1:9/%24%28id%29%60id%60%27%22%3b%24HOME%26/%7Bx%7D%28y%29',
        ]);
      }
    });
  });

  describe('curl', () => {
    let app: TestApp;
    let key: string;
    let recorder: Awaited<ReturnType<typeof startRecorder>>;
    let samples: ReturnType<typeof samplesIn>;
    beforeAll(async () => {
      app = await startApp();
      key = await demoKeyIn(app.context.db);
      recorder = await startRecorder(app.url);
      samples = samplesIn(documentAt('/openapi.json', recorder.url));
    });
    afterAll(async () => {
      await recorder.stop();
      await app.stop();
    });

    test.each(streams)('$id shows its messages as they come, and ends', async ({ id }) => {
      const [, , source = ''] = samples.find(([operation]) => operation === id) ?? [];
      const shown = await sh(source.replace('curl', 'curl -sS').replace('"maxDuration": 10', '"maxDuration": 1'));
      expect(shown).toMatch(/^event: connected\n[^]*event: return\n/);
    });

    test.each(procedures)('$id asks for what the example says', async ({ id, access, example, route: { path } }) => {
      recorder.exchanges.length = 0;
      const [, , source = ''] = samples.find(([operation, label]) => operation === id && label === 'curl') ?? [];
      const answer = JSON.parse(await sh(source.replace('curl', 'curl -sS'), { GATEWAY_KEY: key })) as unknown;
      expect(answer).toEqual({ result: { data: { json: expect.any(Object) } } });
      const [exchange, ...others] = recorder.exchanges;
      expect(others).toEqual([]);
      expect({ ...exchange, headers: undefined, body: JSON.parse(exchange?.body ?? '') as unknown }).toEqual({
        path,
        body: { json: example.input },
        status: 200,
      });
      expect(exchange?.headers.authorization).toBe(access === 'public' ? undefined : `Bearer ${key}`);
    });
  });

  describe('a text that is no plain word', () => {
    const words = '"It\'s" 5 € \\ $HOME `x`\t\b\u0001\n次';
    const input = { kind: 'record', type: 'GameInput', isComplete: false, isUpdate: false } as const;
    const member = { isRequired: true, isNullable: false, meansZero: false };
    const callWith = (value: Value): Call => ({
      path: '/api/trpc/game.create',
      router: 'game',
      name: 'create',
      needsKey: false,
      input: { ...input, members: [{ ...member, name: 'title', value }] },
      json: { title: words },
      result: 'game',
      isList: false,
      shown: 'title',
    });
    const call = callWith({ kind: 'text', value: words });
    /** What follows `before`, to the last `after` of its line. */
    const between = (source: string, before: string, after: string): string => {
      const line = source.split('\n').find((text) => text.includes(before)) ?? '';
      return line.slice(line.indexOf(before) + before.length, line.lastIndexOf(after));
    };

    test('reaches curl as it is', async () => {
      const body = await sh(curlSample(call).replace(/^curl[^]*-d /, 'printf %s '));
      expect(JSON.parse(body)).toEqual({ json: { title: words } });
    });

    test('is what JavaScript reads', async () => {
      const written = between(typescriptSample(call), 'title: ', ' }');
      const { stdout } = await promisify(execFile)(process.execPath, ['-p', `JSON.stringify(${written})`]);
      expect(JSON.parse(stdout)).toBe(words);
    });

    // The compilers of the others are not on every machine: what they take is written out.
    test.each([
      ['Python', pythonSample, 'title=', ')', String.raw`'"It\'s" 5 € \\ $HOME ${'`x`'}\t\b\u0001\n次'`],
      ['Go', goSample, 'Title: ', '}', String.raw`"\"It's\" 5 € \\ $HOME ${'`x`'}\t\b\u0001\n次"`],
      ['Java', javaSample, '.title(', '));', String.raw`"\"It's\" 5 € \\ $HOME ${'`x`'}\t\b\u0001\n次"`],
      ['Rust', rustSample, 'title: ', '.into()', String.raw`"\"It's\" 5 € \\ $HOME ${'`x`'}\t\u{8}\u{1}\n次"`],
    ])('is escaped for %s', (_language, sample, before, after, written) => {
      expect(between(sample(call), before, after)).toBe(written);
    });

    test('takes the quotes that need fewer escapes', () => {
      const apostrophe = callWith({ kind: 'text', value: "it's" });
      const quotes = callWith({ kind: 'text', value: '"it"' });
      expect(typescriptSample(apostrophe)).toContain(`title: "it's"`);
      expect(typescriptSample(quotes)).toContain(`title: '"it"'`);
      expect(pythonSample(apostrophe)).toContain(`title="it's"`);
      expect(pythonSample(quotes)).toContain(`title='"it"'`);
    });
  });

  test('the address of the samples is the one that the service replaces', () => {
    expect(readFileSync('openapi/samples/names.ts', 'utf8')).toContain("SAMPLE_URL = 'http://localhost:3000'");
  });
});
