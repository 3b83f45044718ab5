/**
 * @engines sqlite server
 * @tier fast
 * @serverTier long
 */
import { randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Renewal } from '../../../src/app/renewal.ts';
import { storedIdToBytes } from '../../../src/db/values.ts';
import { newSecret, renewSecrets, WebhookSecrets } from '../../../src/event/webhook/secrets.ts';
import { type Output, type Reply, startApp, type TestApp, type TestUser } from '../../harness/app/app.ts';
import { runCommand } from '../../harness/app/command.ts';
import { engine } from '../../harness/app/database.ts';
import { until } from '../../harness/until.ts';

// Where the secrets of webhooks are, and by which keys.

const URL = 'https://hooks.example.com/content';
const isSqlite = engine === 'sqlite';
/** Tables with what is told of webhooks. */
const TABLES = ['webhooks', 'webhook_deliveries', 'idempotency_records', 'audit_entries'];

const secretsBy = (...webhookKeys: Buffer[]): WebhookSecrets =>
  new WebhookSecrets({ webhookKeys, databaseUrl: 'mysql://me@host/db' });
const aKey = (): Buffer => randomBytes(32);

let app: TestApp;
let owner: TestUser;
const key = aKey();
const secrets = secretsBy(key);
beforeAll(async () => {
  app = await startApp({ settings: { WEBHOOK_SECRET_KEY: key.toString('base64') } });
  owner = await app.aUser();
});
afterAll(() => app.stop());

const write = (sql: string, parameters: (string | Uint8Array | null)[] = []): Promise<number> =>
  app.context.db.transaction((tx) => tx.execute(sql, parameters));
interface Stored {
  secret: string;
  old_secret: string | null;
  older_secrets: string | null;
}
const oldestOf = ({ older_secrets: older }: Stored): string =>
  (JSON.parse(older!) as { secret: string }[]).at(-1)!.secret;
const storedOf = async (id: string): Promise<Stored> =>
  (
    await app.context.db.read<Stored>('SELECT secret, old_secret, older_secrets FROM webhooks WHERE id = ?', [
      storedIdToBytes(id),
    ])
  )[0]!;
/** Stores the secrets of a webhook as they are. */
const storePlain = async (id: string, secret: string, old: string | null = null): Promise<string> => {
  await write('UPDATE webhooks SET secret = ?, old_secret = ? WHERE id = ?', [secret, old, storedIdToBytes(id)]);
  return secret;
};
const create = (): Promise<Output<'webhook.create'>> => app.call('webhook.create', { url: URL }, owner.key);
const once = (id: 'webhook.create' | 'webhook.rotateSecret', input: object, word: string): Promise<Reply> =>
  app.send(id, input, owner.key, { 'Idempotency-Key': word });

/** All that is stored: what the tables hold and, of a file, its bytes and those of the files beside it. */
const allStored = async (): Promise<string> => {
  const rows = await Promise.all(
    TABLES.map(async (table) =>
      (await app.context.db.read(`SELECT * FROM ${table}`)).flatMap((row) => Object.values(row as object)),
    ),
  );
  const cells = rows
    .flat()
    .map((cell) => (cell instanceof Uint8Array ? Buffer.from(cell).toString('latin1') : String(cell)));
  if (!isSqlite) return cells.join('\n');
  const file = app.databaseUrl.slice('sqlite:'.length);
  const files = readdirSync(dirname(file)).map((name) => readFileSync(join(dirname(file), name), 'latin1'));
  return [...cells, ...files].join('\n');
};
const formsOf = (secret: string): string[] => {
  const bytes = Buffer.from(secret.slice('whsec_'.length), 'base64');
  return [secret, bytes.toString('base64'), bytes.toString('hex'), bytes.toString('latin1')];
};

describe('the secrets of webhooks', () => {
  test('are not in the database, also where the answer to a repetition is', async () => {
    const created = await once('webhook.create', { url: URL }, 'create');
    const { id, secret, ...webhook } = created.body.result.data.json;
    const rotated = await once('webhook.rotateSecret', { id }, 'rotate');
    const next = rotated.body.result.data.json;
    expect(secret).toMatch(/^whsec_/);
    const stored = await allStored();
    expect(stored.includes(URL)).toBe(true);
    const found = [...formsOf(secret), ...formsOf(next.secret)].filter((form) => stored.includes(form));
    expect(found.length).toBe(0);

    const again = await once('webhook.create', { url: URL }, 'create');
    expect(again.headers['idempotency-replayed']).toBe('true');
    expect(again.body.result.data.json).toEqual({ id, ...webhook, secret: null });
    const rotatedAgain = await once('webhook.rotateSecret', { id }, 'rotate');
    expect(rotatedAgain.body.result.data.json).toEqual({ ...next, secret: null });
    await app.call('webhook.delete', { id }, owner.key);
    expect((await once('webhook.create', { url: URL }, 'create')).body.result.data.json.secret).toBe(null);
  });

  test('are those of one webhook each, and cannot be changed', async () => {
    const [one, other] = [await create(), await create()];
    const { secret: stored } = await storedOf(one.id);
    expect(stored.length).toBeLessThanOrEqual(100);
    expect(secrets.decrypt(stored, one.id)).toBe(one.secret);
    expect(secrets.decrypt(stored, other.id)).toBe(undefined);
    const changed = stored.replace(/.(.{30})$/, (end) => (end.startsWith('A') ? 'B' : 'A') + end.slice(1));
    expect(secrets.decrypt(changed, one.id)).toBe(undefined);
    expect(secrets.decrypt(stored.slice(0, -24), one.id)).toBe(undefined);
    expect(secrets.decrypt('v1.', one.id)).toBe(undefined);
    expect(secretsBy(aKey()).decrypt(stored, one.id)).toBe(undefined);
    expect(secrets.encrypt(one.secret!, one.id)).not.toBe(stored);
  });

  test('are encrypted at the start, where an earlier version stored them as they are', async () => {
    const { id } = await create();
    const [secret, old] = [newSecret(), newSecret()];
    await storePlain(id, secret, old);
    const renewal = new Renewal(app.context.db, secrets);
    renewal.start();
    await until(async () => secrets.isCurrent((await storedOf(id)).secret));
    await renewal.close();
    const stored = await storedOf(id);
    expect([stored.secret, stored.old_secret].map((one) => secrets.decrypt(one!, id))).toEqual([secret, old]);
    expect(await renewSecrets(app.context.db, secrets)).toBe(0);
  });

  test('are encrypted by a new key at the start, and can be decrypted by it alone from then on', async () => {
    const { id, secret } = await create();
    for (let n = 0; n < 2; n += 1) await app.call('webhook.rotateSecret', { id }, owner.key);
    const next = aKey();
    const [both, alone] = [secretsBy(next, key), secretsBy(next)];
    const { db } = app.context;
    const before = await storedOf(id);
    expect(await renewSecrets(db, alone)).toBe(0);
    expect(await storedOf(id)).toEqual(before);
    expect(await renewSecrets(db, both)).toBeGreaterThan(0);
    const stored = await storedOf(id);
    expect(alone.decrypt(oldestOf(stored), id)).toBe(secret);
    expect(secrets.decrypt(stored.secret, id)).toBe(undefined);
    expect(await renewSecrets(db, secretsBy(key, next))).toBeGreaterThan(0);
    expect(secrets.decrypt(oldestOf(await storedOf(id)), id)).toBe(secret);
  });
});

describe('a service without a key', () => {
  test('makes a file for it beside the database, for its owner only; on a server, it makes no secrets', async () => {
    const other = await startApp({ settings: { WEBHOOK_SECRET_KEY: '' } });
    try {
      const { key: theirs } = await other.aUser();
      const file = `${other.databaseUrl.slice('sqlite:'.length)}.key`;
      const reply = await other.send('webhook.create', { url: URL }, theirs);
      if (isSqlite) {
        expect(reply.status).toBe(200);
        expect(statSync(file).mode & 0o777).toBe(0o600);
        expect(readdirSync(dirname(file)).filter((name) => name.includes('.key'))).toHaveLength(1);
        return;
      }
      expect(reply).toMatchObject({
        status: 404,
        body: { error: { json: { data: { reason: 'WEBHOOK_SECRETS_OFF' } } } },
      });
      expect(existsSync(file)).toBe(false);
    } finally {
      await other.stop();
    }
  });

  test('on a server makes none, and replaces none', async () => {
    const { id } = await create();
    const { webhook } = app.context.routers;
    const own = webhook.secrets;
    webhook.secrets = secretsBy();
    try {
      const refused = [
        await app.fail('webhook.create', { url: URL }, 404, owner.key),
        await app.fail('webhook.rotateSecret', { id }, 404, owner.key),
      ];
      expect(refused.map(({ data }) => data.reason)).toEqual(['WEBHOOK_SECRETS_OFF', 'WEBHOOK_SECRETS_OFF']);
    } finally {
      webhook.secrets = own;
    }
  });

  test('goes on with webhooks that are there, and refuses another secret of them on a server', async () => {
    if (isSqlite) return;
    const { id } = await create();
    const secret = await storePlain(id, newSecret());
    const other = await startApp({ databaseUrl: app.databaseUrl, settings: { WEBHOOK_SECRET_KEY: '' } });
    try {
      expect(other.context.routers.webhook.secrets.decrypt((await storedOf(id)).secret, id)).toBe(secret);
      const { data } = await other.fail('webhook.rotateSecret', { id }, 404, owner.key);
      expect(data.reason).toBe('WEBHOOK_SECRETS_OFF');
      expect(await renewSecrets(other.context.db, other.context.routers.webhook.secrets)).toBe(0);
      expect((await storedOf(id)).secret).toBe(secret);
    } finally {
      await other.stop();
    }
    const { code, stderr } = await runCommand(['webhooks', 'create', '--user', owner.id, '--url', URL], {
      env: { DATABASE_URL: app.databaseUrl },
    });
    expect([code, stderr]).toEqual([1, expect.stringContaining('Set WEBHOOK_SECRET_KEY')]);
  });
});

describe('the file of keys', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'content-gateway-keys-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));
  const databaseIn = (name: string): string => {
    const file = join(folder, name);
    writeFileSync(file, '');
    return file;
  };
  const secretsIn = (file: string, ...webhookKeys: Buffer[]): WebhookSecrets =>
    new WebhookSecrets({ webhookKeys, databaseUrl: `sqlite:${file}` });

  test('is made once, is read by who did not make it, and holds former keys, too', () => {
    const file = databaseIn('a.db');
    const [one, other] = [secretsIn(file), secretsIn(file)];
    const stored = one.encrypt(newSecret(), 'id');
    const secret = one.decrypt(stored, 'id');
    const text = readFileSync(`${file}.key`, 'utf8');
    expect(other.decrypt(stored, 'id')).toBe(secret);
    expect(secretsIn(file).isCurrent(other.encrypt(secret!, 'id'))).toBe(true);
    expect(readFileSync(`${file}.key`, 'utf8')).toBe(text);
    writeFileSync(`${file}.key`, `${aKey().toString('base64')}, ${text}`);
    expect([secretsIn(file).decrypt(stored, 'id'), secretsIn(file).isCurrent(stored)]).toEqual([secret, false]);
    // A key of the settings comes first.
    const given = secretsIn(file, aKey());
    expect([given.decrypt(stored, 'id'), given.isCurrent(stored)]).toEqual([secret, false]);
    rmSync(`${file}.key`);
    expect(secretsIn(file).decrypt(stored, 'id')).toBe(undefined);
    expect(existsSync(`${file}.key`)).toBe(false);
  });

  test.each<[string, (path: string) => void, string]>([
    ['nothing', (path) => writeFileSync(path, ''), 'must be the path of a file that is not empty'],
    ['something else', (path) => writeFileSync(path, 'secret'), 'holds a value that must be 32 bytes in base64'],
    ['a short key', (path) => writeFileSync(path, randomBytes(31).toString('base64')), 'holds a value that must be'],
    ['a key in bytes', (path) => writeFileSync(path, aKey()), 'holds a value that must be'],
    ['a folder', (path) => mkdirSync(path), 'not of a folder'],
    ['a link to something else', (path) => symlinkSync('/etc/passwd', path), 'holds a value that must be'],
    ['a link to nothing', (path) => symlinkSync(`${path}.none`, path), 'is a link to a file that is not there'],
    ['a link to itself', (path) => symlinkSync(path, path), 'cannot be read: ELOOP'],
    ['a device', (path) => symlinkSync('/dev/zero', path), 'not of a pipe or device'],
  ])('that is %s ends the start, and is refused by a service that runs', (name, make, fault) => {
    const file = databaseIn(`${name}.db`);
    const started = secretsIn(file);
    make(`${file}.key`);
    const faulty = new RegExp(`^the file of the key of webhooks' secrets, "${file}.key", .*${fault}`);
    expect(() => secretsIn(file)).toThrow(faulty);
    expect(() => started.encrypt(newSecret(), 'id')).toThrow('WEBHOOK_SECRETS_OFF');
    rmSync(`${file}.key`, { recursive: true });
    expect(started.encrypt(newSecret(), 'id')).toMatch(/^v1\./);
  });

  test('that cannot be used ends `serve`, and the commands that need it, in words', async () => {
    const file = databaseIn('c.db');
    mkdirSync(`${file}.key`);
    const env = { DATABASE_URL: `sqlite:${file}`, AUTO_MIGRATE: 'true', PORT: '0' };
    for (const args of [['serve'], ['webhooks', 'create', '--user', 'a', '--url', URL]]) {
      const { code, stderr } = await runCommand(args, { env });
      expect([code, stderr]).toEqual([
        1,
        expect.stringContaining(`"${file}.key", must be the path of a file, not of a folder`),
      ]);
    }
  });
});
