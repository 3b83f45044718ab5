/**
 * @engines all second-server
 * @tier long
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, test } from '@jest/globals';
import { createConnection } from 'mysql2/promise';
import { operations, scopes } from '../../../contract/index.ts';
import { schema } from '../../../src/app/schema.ts';
import { Database } from '../../../src/db/database.ts';
import { differenceOf } from '../../../openapi/kit/conformance/findings/finding.ts';
import { anySeed } from '../../../openapi/kit/conformance/seed.ts';
import { verify } from '../../../openapi/kit/conformance/verify.ts';
import { generateKey } from '../../../src/auth/format.ts';
import { freePorts } from '../../harness/free-ports.mjs';
import { startApp } from '../../harness/app/app.ts';
import { connectionOptions, engine } from '../../harness/app/database.ts';
import { accountsOfTheGuide } from '../../harness/servers/accounts.ts';

/** Runs statements as the account of an address. */
const run = async (address: string, statements: readonly string[]): Promise<void> => {
  const connection = await createConnection(connectionOptions(new URL(address)));
  for (const sql of statements) await connection.query(sql);
  await connection.end();
};

const suffix = randomBytes(4).toString('hex');
const accountOf = (name: string): string => `${name}_${suffix}`;
let server: string | undefined;

/** The database by the account that the guide gives the service: what it may do must be enough for every operation. */
const byAccountOfTheGuide = async (databaseUrl: string): Promise<string> => {
  if (engine !== 'mariadb' && engine !== 'mysql') return databaseUrl;
  const db = await Database.open(databaseUrl, schema);
  await db.migrate();
  await db.close();
  const url = new URL(databaseUrl);
  await run(databaseUrl, accountsOfTheGuide(url.pathname.slice(1), accountOf));
  server = new URL('/', url).href;
  return Object.assign(url, { username: accountOf('gateway'), password: 'secret' }).href;
};

const [receiverPort = 0] = await freePorts(1);
const app = await startApp({
  reach: byAccountOfTheGuide,
  settings: { WEBHOOK_HTTP: 'true', WEBHOOK_ALLOW: '127.0.0.0/8', WEBHOOK_PORTS: `443,8443,${receiverPort}` },
});
app.context.lifecycle.relay.start();
app.context.lifecycle.sender.start();
describe('verify on all engines', () => {
  afterAll(async () => {
    await app.stop();
    if (server !== undefined) await run(server, [`DROP USER ${accountOf('gateway')}, ${accountOf('migrator')}`]);
  });

  // What the kit finds in services that are not as they should be, `test/kit/conformance/http.test.ts` shows.
  test('the conformance kit finds nothing on this database', async () => {
    const other = await app.aUser();
    // The kit tries to delete records of others that a run of it made, and no others.
    const made = { title: '[verify other] five', tagNames: ['verify'] };
    for (const record of [...['one', 'two', 'three', 'four'].map((title) => ({ title })), made]) {
      await app.aGame(record, other);
      await app.anImagePost(record, other);
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
      ...scopes.toSorted().map((scope) => `it needs a key without ${scope}`),
      'no 429 or 503 came',
    ]);
  });
});
