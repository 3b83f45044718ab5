/**
 * @engines sqlite
 * @tier fast
 */
import { afterAll, describe, expect, test } from '@jest/globals';
import { type Config, readConfig } from '../../src/config/config.ts';
import { sandboxKeys } from '../../src/sandbox/sandbox.ts';
import { startApp, withSettings } from '../harness/app/app.ts';

// What the pages tell somebody who has only the address of a service: where a key comes from, where the source is.

const app = await startApp();
const CONTACT = 'mailto:help@example.com';
const SOURCE = 'https://git.example.com/gateway?a=1&b=(2)';

/** The same service with other settings. */
const serviceOf = (settings: Partial<Config>, environment: Record<string, string> = {}) => {
  const { brand } = readConfig(environment);
  const http = withSettings(app, { brand, ...settings });
  return async (path: string): Promise<string> => (await http.get(path).set('Accept', 'text/html').expect(200)).text;
};

const kinds = {
  sandbox: serviceOf({ sandbox: true, publicUrl: 'https://sandbox.example.com' }, { BRAND_CONTACT: CONTACT }),
  own: serviceOf({}),
  'at a public address': serviceOf({ publicUrl: 'https://api.example.com' }),
  'with a contact': serviceOf({}, { BRAND_CONTACT: CONTACT }),
  'with a way of its own': serviceOf({ keyRequestUrl: 'https://forms.example.com/?a&b' }, { BRAND_CONTACT: CONTACT }),
};
type Kind = keyof typeof kinds;
const KINDS = Object.keys(kinds) as Kind[];
const [{ key: SANDBOX_KEY } = { key: '' }] = sandboxKeys;

const COMMAND = 'npm run -s cli -- keys create';
const LINK = '<a href="mailto:help@example.com">the operator of the service</a>';

describe('a service tells its readers', () => {
  afterAll(() => app.stop());

  describe('where a key comes from', () => {
    test.each<[Kind, shown: string[], hidden: string[]]>([
      ['sandbox', [SANDBOX_KEY], [COMMAND, 'for a key with']],
      ['own', [COMMAND], [SANDBOX_KEY, 'for a key with']],
      [
        'at a public address',
        ['ask the operator of the service for an invitation to a key with'],
        [SANDBOX_KEY, COMMAND],
      ],
      ['with a contact', [`ask ${LINK} for an invitation to a key with`], [SANDBOX_KEY, COMMAND]],
    ])('at the start: %s', async (kind, shown, hidden) => {
      const html = (await kinds[kind]('/guides/start')).replaceAll(/<\/?span[^>]*>/g, '');
      for (const text of shown) expect(html).toContain(text);
      for (const text of hidden) expect(html).not.toContain(text);
    });

    test.each(KINDS)('in Markdown, too, and without what is said by others: %s', async (kind) => {
      expect((await kinds[kind]('/guides/start.md')).includes(SANDBOX_KEY)).toBe(kind === 'sandbox');
      const text = await kinds[kind]('/llms-full.txt');
      // In a clone without packages, Java's pom.xml says so in a comment of its own.
      expect(text.replace(/<!-- \S+: not at .*-->/, '')).not.toMatch(/<!--|\/where/);
    });

    const WORDS: Record<Kind, RegExp> = {
      sandbox: /The <a href="[./]*guides\/sandbox#keys">keys of the sandbox<\/a> are fixed/,
      own: /Ask the operator of this service for <a href="[./]*guides\/keys#get-a-key">an invitation<\/a>\./,
      'at a public address': /Ask the operator of this service for an invitation\./,
      'with a contact': /Ask <a href="mailto:help@example\.com">help@example\.com<\/a> for a key\./,
      'with a way of its own':
        /<a href="https:\/\/forms\.example\.com\/\?a&amp;b">Request a key<\/a> from the operator/,
    };

    test.each(KINDS.flatMap((kind) => ['/', '/docs/', '/errors'].map((path) => [kind, path] as const)))(
      '%s, on %s',
      async (kind, path) => {
        const html = await kinds[kind](path);
        for (const other of KINDS) expect([other, WORDS[other].test(html)]).toEqual([other, other === kind]);
      },
    );

    test('by a link wherever they are told to ask the operator', async () => {
      expect(await kinds['with a contact']('/errors')).toContain(
        'ask <a href="mailto:help@example.com">the operator</a> for a new key.',
      );
      expect(await kinds['with a contact']('/guides/keys.md')).toContain(
        `Ask [the operator](${CONTACT}) why the user is suspended.`,
      );
      expect(await kinds.own('/errors')).toContain('ask the operator for a new key.');
    });
  });

  describe('where the source is', () => {
    const withSource = serviceOf({}, { SOURCE_URL: SOURCE });
    const HREF = 'href="https://git.example.com/gateway?a=1&amp;b=';

    test.each(['/', '/guides/', '/guides/start', '/docs/', '/errors'])('on %s, if there is one', async (path) => {
      const html = await withSource(path);
      expect(html).toContain(`<a ${HREF}(2)">Source</a>`);
      expect(await kinds.own(path)).not.toContain('>Source</a>');
    });

    test.each(['sandbox', 'sdks', 'trpc', 'ci', 'mcp'])('in the guide %s', async (name) => {
      expect(await withSource(`/guides/${name}`)).toContain(`<a ${HREF}%282%29">`);
      expect(await withSource(`/guides/${name}.md`)).toContain('](https://git.example.com/gateway?a=1&b=%282%29)');
      expect(await kinds.own(`/guides/${name}.md`)).not.toContain('](..)');
    });

    test('to programs', async () => {
      const get = async (environment: Record<string, string>) => {
        const { brand } = readConfig(environment);
        return (await withSettings(app, { brand }).get('/').set('Accept', 'application/json')).body.links as Record<
          string,
          string
        >;
      };
      expect((await get({ SOURCE_URL: SOURCE }))['source']).toBe(SOURCE);
      expect(Object.keys(await get({}))).not.toContain('source');
    });
  });

  test('what else there is: the sandbox, the SDKs, `verify` and the types', async () => {
    const html = await kinds['at a public address']('/');
    for (const path of ['guides/sandbox', 'guides/sdks', 'guides/ci#verify', 'guides/trpc']) {
      expect(html).toContain(`<a href="${path}">`);
    }
    const start = await kinds['at a public address']('/guides/start');
    for (const name of ['sandbox', 'sdks', 'ci#verify', 'trpc']) expect(start).toContain(`guides/${name}"`);
  });
});
