/**
 * @engines sqlite
 * @tier fast
 */
import { afterAll, describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { operations } from '../../contract/index.ts';
import { startApp, withSettings } from '../harness/app/app.ts';

// The published documents as an operator's service serves them.

const app = await startApp();
describe('published documents', () => {
  afterAll(() => app.stop());

  const documents = ['/openapi.json', '/openapi-3.0.json'];
  const inYaml = (path: string): string => path.replace('.json', '.yaml');

  const brand = {
    name: 'Game Shelf: no. 1 \u202e',
    color: '#aa3311',
    logo: undefined,
    contact: 'mailto:api@example.com',
    terms: 'https://example.com/terms',
    source: undefined,
  };

  test.each(documents)('%s has its operations in the order of the contract', async (path) => {
    const { body } = await app.http.get(path);
    expect(Object.keys(body.paths as object)).toEqual(operations.map(({ route }) => route.path));
  });

  test.each(documents)('%s is the same document as YAML, whichever YAML the reader knows', async (path) => {
    const reply = await app.http.get(inYaml(path)).buffer(true);
    expect(reply.headers['content-type']).toBe('application/yaml');
    const { body: json } = await app.http.get(path);
    // What the versions read differently stands in both documents.
    const versions = path === documents[0] ? (['1.2', '1.1'] as const) : (['1.1'] as const);
    for (const version of versions) {
      expect(parse(reply.text, { version })).toEqual(json);
    }
    expect(reply.text).toMatch(/^openapi: /);
  });

  test.each(documents)('%s is published under the name, contact, terms and address of the operator', async (path) => {
    const http = withSettings(app, { brand, publicUrl: 'https://api.example.com/v1' });
    const { body } = await http.get(path);
    expect(body).toMatchObject({
      info: { title: brand.name, contact: { email: 'api@example.com' }, termsOfService: 'https://example.com/terms' },
      servers: [{ url: 'https://api.example.com/v1' }],
      externalDocs: { url: 'https://api.example.com/v1/guides/' },
    });
    // One of them shows it: another document passes the same way.
    if (path !== documents[0]) return;
    const { text } = await http.get(inYaml(path)).buffer(true);
    expect(text).not.toContain('\u202e');
    expect(parse(text)).toEqual(body);
  });

  interface Address {
    servers: object;
    externalDocs: object;
  }

  /** What a document in YAML says of its address, without its larger part. */
  const membersOf = (yaml: string): string =>
    yaml
      .split(/^(?=\w)/m)
      .filter((member) => /^(servers|externalDocs):/.test(member))
      .join('');

  test('a contact that is a page is published as such', async () => {
    const { body } = await withSettings(app, { brand: { ...brand, contact: 'https://example.com/help' } }).get(
      '/openapi.json',
    );
    expect(body.info.contact).toEqual({ url: 'https://example.com/help' });
  });

  test.each(documents.flatMap((path) => [path, inYaml(path)]))(
    '%s names the address under which the caller asked for it',
    async (path) => {
      const at = async (host: string) => {
        const { text, headers } = await app.http.get(path).set('Host', host).buffer(true);
        const { servers, externalDocs } = (
          path.endsWith('.json') ? JSON.parse(text) : parse(membersOf(text))
        ) as Address;
        return { servers, externalDocs, etag: headers['etag'], named: text.split(`http://${host}/api/trpc/`).length };
      };
      const samples = operations.length;
      const one = await at('games.example:8080');
      expect(one).toMatchObject({
        servers: [{ url: 'http://games.example:8080' }],
        externalDocs: { url: 'http://games.example:8080/guides/' },
      });
      expect(one.named).toBeGreaterThan(samples);
      const other = await at('[::1]:3000');
      expect(other).toMatchObject({ servers: [{ url: 'http://[::1]:3000' }], named: one.named });
      expect(other.etag).not.toBe(one.etag);
    },
  );

  test.each(['evil.example/x', 'a"b', 'user@evil.example'])('the host %j is refused', async (host) => {
    expect((await app.http.get('/openapi.json').set('Host', host)).status).toBe(400);
  });

  test.each(['x$(id)', ' '])('the host %j does not get into a document', async (host) => {
    const { body } = await app.http.get('/openapi.json').set('Host', host);
    expect(body.servers).toEqual([{ url: `http://localhost:${app.context.config.port}` }]);
  });

  test('the introduction links to the pages that it names', async () => {
    const { body } = await app.http.get('/openapi.json').set('Host', 'a.example');
    const { description } = body.info as { description: string };
    expect(description).toContain('Guide: [`/guides/keys`](http://a.example/guides/keys).');
    expect(description).toContain('[`/errors.json`](http://a.example/errors.json)');
    expect(description).not.toMatch(/(?<!\[)`\/(guides|errors)/);
  });

  test('a proxy that is not trusted does not tell the address', async () => {
    const { body } = await app.http.get('/openapi.json').set({ 'X-Forwarded-Host': 'evil.example', Host: 'a.example' });
    expect(body.servers).toEqual([{ url: 'http://a.example' }]);
  });
});
