/**
 * @engines sqlite server second-server
 * @tier long
 */
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Connection, createConnection } from 'mysql2/promise';
import { Database } from '../../../src/db/database.ts';
import { AppError } from '../../../src/base/errors.ts';
import { schema } from '../../../src/app/schema.ts';
import { startApp } from '../../harness/app/app.ts';
import { type Certificate, type Certificates, makeCertificates } from '../../harness/servers/certificates.ts';
import { connectionOptions } from '../../harness/app/database.ts';
import { runCli } from '../../harness/app/program.ts';
import { type ServerProgram, startServer, type ThrowawayServer } from '../../harness/servers/servers.ts';

// What a connection is secured by, with real certificates, on servers with TLS and without.

const DATABASE = 'secured';
/** No account of it can log in without TLS, or without a certificate. */
const ACCOUNTS = { tls: 'REQUIRE SSL', certified: 'REQUIRE X509', any: 'REQUIRE NONE' };

type Parameters = Record<string, string>;

const CIPHER = "SHOW STATUS LIKE 'Ssl_cipher'";
/** As many at the same time as there are connections, so that each has to answer. */
const allAtOnce = <T>(n: number, run: () => Promise<T>): Promise<T[]> => Promise.all(Array.from({ length: n }, run));

const onPrivateServers = (name: 'mariadb' | 'mysql', program: ServerProgram): void => {
  let certificates: Certificates;
  let authority: Certificate;
  let stranger: Certificate;
  let ours: Certificate;
  let elsewhere: Certificate;
  let server: ThrowawayServer;
  let open: ThrowawayServer;
  let root: Connection;

  /** The certificate that the server shows. */
  const shown = (): Certificate => ({
    cert: join(certificates.folder, 'shown.pem'),
    key: join(certificates.folder, 'shown-key.pem'),
  });
  const show = async ({ cert, key }: Certificate): Promise<void> => {
    await copyFile(cert, shown().cert);
    await copyFile(key, shown().key);
  };

  beforeAll(async () => {
    certificates = await makeCertificates();
    authority = certificates.authority('authority');
    stranger = certificates.authority('stranger');
    ours = await certificates.issue(authority, 'localhost');
    elsewhere = await certificates.issue(authority, 'db.example.com');
    await show(ours);
    const { cert, key } = shown();
    const secured = [`--ssl-ca=${authority.cert}`, `--ssl-cert=${cert}`, `--ssl-key=${key}`];
    server = await startServer(name, program, { options: secured });
    open = await startServer(name, program, { options: [name === 'mysql' ? '--tls-version=' : '--skip-ssl'] });
    for (const { url } of [server, open]) {
      const connection = await createConnection(connectionOptions(new URL(url)));
      await connection.query(`CREATE DATABASE ${DATABASE}`);
      for (const [account, demand] of Object.entries(ACCOUNTS)) {
        await connection.query(`CREATE USER ${account}@'%' IDENTIFIED BY 'p@ss#w' ${demand}`);
        await connection.query(`GRANT ALL ON ${DATABASE}.* TO ${account}@'%'`);
      }
      if (url === server.url) root = connection;
      else await connection.end();
    }
  });
  afterAll(async () => {
    await root.end();
    await Promise.all([server.stop(), open.stop()]);
    await certificates.remove();
  });

  const urlOf = (
    parameters: Parameters,
    {
      account = 'tls',
      host = '127.0.0.1',
      on = server,
    }: { account?: string; host?: string; on?: ThrowawayServer } = {},
  ): string => {
    const url = new URL(on.url);
    url.hostname = host;
    url.username = account;
    url.password = 'p%40ss%23w';
    url.pathname = `/${DATABASE}`;
    const query = Object.entries(parameters).map(([parameter, value]) => `${parameter}=${value}`);
    return `${url.href}${query.length > 0 ? '?' : ''}${query.join('&')}`;
  };

  /** The ciphers of the connections, once each; all of them are asked. */
  const ciphersOf = async (url: string): Promise<string[]> => {
    const db = await Database.open(url, schema);
    type Rows = { Value: string }[];
    try {
      const rows: Rows[] = [
        ...(await allAtOnce(12, () => db.read<Rows[0]>(CIPHER))),
        ...(await allAtOnce(10, () => db.transaction((tx) => tx.read<Rows[0]>(CIPHER)))),
        ...(await allAtOnce(2, () => db.dataSource.query<Rows>(CIPHER))),
      ];
      return [...new Set(rows.flat().map(({ Value }) => Value))];
    } finally {
      await db.close();
    }
  };

  /** Why no database can be opened. */
  const refusalOf = async (url: string): Promise<string> => {
    const opened = await Database.open(url, schema).catch((error: unknown) => error);
    if (opened instanceof Database) {
      await opened.close();
      return 'none';
    }
    if (opened instanceof AppError && opened.reason === 'DATABASE_UNAVAILABLE') return opened.details.hint ?? '';
    throw opened;
  };

  test('without ssl-mode, and with DISABLED, nothing is encrypted', async () => {
    for (const parameters of [{}, { 'ssl-mode': 'DISABLED' }] as Parameters[]) {
      expect(await ciphersOf(urlOf(parameters, { account: 'any' }))).toEqual(['']);
      expect(await refusalOf(urlOf(parameters))).toContain('Access denied');
    }
  });

  test('REQUIRED encrypts every connection, whoever the server is', async () => {
    const [cipher = '', ...others] = await ciphersOf(urlOf({ 'ssl-mode': 'required' }));
    expect(others).toEqual([]);
    expect(cipher).toMatch(/^TLS_|GCM/);
  });

  test.each(['REQUIRED', 'VERIFY_CA'])('%s refuses a server that has no TLS', async (mode) => {
    const parameters = { 'ssl-mode': mode, ...(mode === 'VERIFY_CA' && { 'ssl-ca': authority.cert }) };
    expect(await refusalOf(urlOf(parameters, { account: 'any', on: open }))).toContain(
      'Server does not support secure connection',
    );
    expect(await refusalOf(urlOf({}, { account: 'any', on: open }))).toBe('none');
  });

  test('VERIFY_CA trusts the authority that it is told, and no other', async () => {
    const withCa = ({ cert }: Certificate) => urlOf({ 'ssl-mode': 'VERIFY_CA', 'ssl-ca': cert });
    expect(await ciphersOf(withCa(authority))).toEqual([expect.stringMatching(/./)]);
    expect(await refusalOf(withCa(stranger))).toMatch(/certificate/);
  });

  test('VERIFY_IDENTITY also wants the name of the host', async () => {
    const url = urlOf({ 'ssl-mode': 'VERIFY_IDENTITY', 'ssl-ca': authority.cert }, { host: 'localhost' });
    const reload = name === 'mariadb' ? 'FLUSH SSL' : 'ALTER INSTANCE RELOAD TLS';
    expect(await ciphersOf(url)).toEqual([expect.stringMatching(/./)]);
    expect(await refusalOf(url.replace('authority', 'stranger'))).toMatch(/certificate/);
    await show(elsewhere);
    await root.query(reload);
    try {
      expect(await refusalOf(url)).toMatch(/localhost.*db\.example\.com|altnames/);
      expect(await refusalOf(url.replace('VERIFY_IDENTITY', 'VERIFY_CA'))).toBe('none');
    } finally {
      await show(ours);
      await root.query(reload);
    }
  });

  test('the client shows its own certificate where it has one', async () => {
    const secured = { 'ssl-mode': 'VERIFY_CA', 'ssl-ca': authority.cert };
    const client = { 'ssl-cert': elsewhere.cert, 'ssl-key': elsewhere.key };
    expect(await refusalOf(urlOf(secured, { account: 'certified' }))).toContain('Access denied');
    expect(await refusalOf(urlOf({ ...secured, ...client }, { account: 'certified' }))).toBe('none');
    await expect(Database.open(urlOf({ ...secured, ...client, 'ssl-key': ours.key }), schema)).rejects.toThrow(
      'has an ssl-key that is not the key of its ssl-cert',
    );
  });

  test('commands refuse the same parameters and servers as the service', async () => {
    const migrate = (url: string, env = {}) => runCli(['migrate'], { env: { DATABASE_URL: url, ...env } });
    const required = { 'ssl-mode': 'REQUIRED' };
    // Without ssl-ca, those authorities count that Node.js trusts.
    const identity = urlOf({ 'ssl-mode': 'VERIFY_IDENTITY' }, { host: 'localhost' });
    const refused = await Promise.all([
      migrate(urlOf(required, { account: 'any', on: open })),
      migrate(urlOf({ bogus: '1', ...required })),
      migrate(identity),
    ]);
    const fault = (stderr: RegExp) => ({ code: 1, stdout: '', stderr: expect.stringMatching(stderr) });
    expect(refused).toEqual([
      fault(/^error: The database cannot be reached: .*does not support secure connection\n$/),
      fault(
        /^error: DATABASE_URL has the unknown parameter "bogus"; allowed are ssl-mode, ssl-ca, ssl-cert, ssl-key\n$/,
      ),
      fault(/^error: The database cannot be reached: .*certificate.*\n$/),
    ]);
    expect(await migrate(identity, { NODE_EXTRA_CA_CERTS: authority.cert })).toMatchObject({ code: 0, stderr: '' });
  });

  test('the service works by an account that nobody uses without TLS', async () => {
    const app = await startApp({
      reach: async () => urlOf({ 'ssl-mode': 'VERIFY_CA', 'ssl-ca': authority.cert }),
    });
    try {
      const { id } = await app.aGame({ title: 'secured' });
      expect(await app.call('game.getById', { id })).toMatchObject({ title: 'secured' });
    } finally {
      await app.stop();
    }
  });
};

const { name, server } = globalThis.TEST_ENGINE;
if (name !== 'sqlite' && name !== 'vitess' && 'binary' in server)
  describe('a connection', () => onPrivateServers(name, server));

describe('TLS', () => {
  test('an SQLite file has no parameters', async () => {
    await expect(Database.open('sqlite:no/such/folder.db?ssl-mode=REQUIRED', schema)).rejects.toThrow(
      'takes no parameters',
    );
  });
});
