/**
 * @engines all second-server
 * @tier long
 */
import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, test } from '@jest/globals';
import { operations, scopes } from '../../../contract/index.ts';
import { differenceOf } from '../../../src/testkit/conformance/findings/finding.ts';
import { anySeed } from '../../../src/testkit/conformance/seed.ts';
import { verify } from '../../../src/testkit/conformance/verify.ts';
import { generateKey } from '../../../src/auth/format.ts';
import { freePorts } from '../../harness/free-ports.mjs';
import { startApp } from '../../harness/app/app.ts';

const [receiverPort = 0] = await freePorts(1);
const app = await startApp({
  settings: { WEBHOOK_HTTP: 'true', WEBHOOK_ALLOW: '127.0.0.0/8', WEBHOOK_PORTS: `443,8443,${receiverPort}` },
});
app.context.lifecycle.relay.start();
app.context.lifecycle.sender.start();
describe('verify on all engines', () => {
  afterAll(() => app.stop());

  // What the kit finds in services that are not as they should be, `test/testkit/conformance/http.test.ts` shows.
  test('the conformance kit finds nothing on this database', async () => {
    const other = await app.aUser();
    for (const title of ['one', 'two', 'three', 'four']) {
      await app.aGame({ title }, other);
      await app.anImagePost({ title }, other);
    }
    const { key } = await app.aUser();
    const document = JSON.parse(readFileSync('openapi/openapi.json', 'utf8')) as object;
    const { results } = await verify({
      baseUrl: app.url,
      unknownKey: generateKey(),
      origin: 'https://app.example.com',
      document,
      key,
      strict: true,
      seed: anySeed(),
      receiverPort,
    });
    expect(results.flatMap(({ findings }) => findings.map(differenceOf))).toEqual([]);
    expect(results.filter(({ outcome }) => outcome === 'passed').length).toBeGreaterThan(1300);
    const subjects = new Set(results.map(({ subject }) => subject));
    expect(subjects).toEqual(new Set(['service', ...operations.map(({ id }) => id)]));
    const skipped = results.filter(({ outcome }) => outcome === 'skipped');
    // Nothing but what such a key cannot see.
    expect([...new Set(skipped.map(({ reason }) => `${reason}`))].toSorted()).toEqual([
      ...scopes.map((scope) => `it needs a key without ${scope}`),
      'no 429 or 503 came',
    ]);
  });
});
