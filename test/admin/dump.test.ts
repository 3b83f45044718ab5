/**
 * @engines server second-server
 * @tier long
 */
import { once } from 'node:events';
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { createConnection } from 'mysql2/promise';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { migrations } from '../../migrations/index.ts';
import type { DumpResult } from '../../src/admin/backup/dump/dump.ts';
import { BACKUP, timeOfLast } from '../../src/auth/audit/log.ts';
import { connectionOptions } from '../harness/app/database.ts';
import { type Outcome, runCli, startCli } from '../harness/app/program.ts';
import { aKey, withDatabase } from '../harness/http/load.ts';
import { type Certificate, type Certificates, makeCertificates } from '../harness/servers/certificates.ts';
import { mountSmallDisk } from '../harness/servers/small-disk.ts';
import { type ServerEngine, startServer, type ThrowawayServer } from '../harness/servers/servers.ts';
import { until } from '../harness/until.ts';

// `backup` of a database on a server, which is one of this test's own: it has a binary log, and accounts.

/** All that means something in an option file or an address. */
const PASSWORD = String.raw`p#"'\s; =%@/[x]ü`;

const { name, server: program } = TEST_ENGINE;
const isMariadb = name === 'mariadb';

let server: ThrowawayServer;
let certificates: Certificates;
let authority: Certificate;
let folder: string;
let url: string;

const as = (user: string): string => {
  const address = new URL(`${server.url}/content`);
  address.username = user;
  address.password = encodeURIComponent(PASSWORD);
  return address.href;
};

beforeAll(async () => {
  if (!program || !('binary' in program)) throw new Error('This test starts a server of its own.');
  certificates = await makeCertificates();
  authority = certificates.authority('authority');
  const { cert, key } = await certificates.issue(authority, 'localhost');
  server = await startServer(name as ServerEngine, program, {
    options: ['--log-bin', '--server-id=1', `--ssl-ca=${authority.cert}`, `--ssl-cert=${cert}`, `--ssl-key=${key}`],
  });
  const { database: _, ...admin } = connectionOptions(new URL(server.url));
  const connection = await createConnection(admin);
  await connection.query('CREATE DATABASE content CHARACTER SET utf8mb4 COLLATE utf8mb4_bin');
  for (const user of ['gateway', 'reader']) {
    await connection.query(`CREATE USER ${user} IDENTIFIED BY ${connection.escape(PASSWORD)}`);
  }
  await connection.query('GRANT ALL ON content.* TO gateway');
  await connection.query(`CREATE USER certified IDENTIFIED BY ${connection.escape(PASSWORD)} REQUIRE X509`);
  await connection.query('GRANT ALL ON content.* TO certified');
  url = as('gateway');
  await aKey(url);
  await connection.query('GRANT SELECT ON content.migrations TO reader');
  await connection.query('GRANT SELECT ON content.users TO reader');
  await connection.end();
});
afterAll(async () => {
  await server.stop();
  await certificates.remove();
});

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'content-gateway-dump-'));
});
afterEach(() => rm(folder, { recursive: true }));

const at = (file: string): string => join(folder, file);
const PATH = process.env['PATH'] ?? '';
const backup = (args: readonly string[], { path = PATH, address = url } = {}): Promise<Outcome> =>
  runCli(['backup', ...args], { env: { PATH: path, DATABASE_URL: address } });

/** A program in the place of both dump tools, which has its arguments in `$@` and the real tool in `$real`. */
const withTool = (script: string): string => {
  for (const tool of ['mariadb-dump', 'mysqldump']) {
    writeFileSync(at(tool), `#!/bin/sh\nreal=$(PATH='${PATH}' command -v mariadb-dump)\n${script}\n`);
    chmodSync(at(tool), 0o755);
  }
  return `${folder}${delimiter}${PATH}`;
};

describe('backup of a server', () => {
  test('writes a whole dump that names its place in the binary log, and records it', async () => {
    const began = Date.now();
    const { code, stdout, stderr } = await backup([folder, '--json']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: isMariadb ? '' : expect.stringContaining('no position') });
    const { file, bytes, ...result } = JSON.parse(stdout) as DumpResult;
    expect(result).toEqual({
      migration: migrations.at(-1)?.name,
      position: isMariadb ? { file: expect.stringMatching(/\.\d{6}$/), position: expect.any(Number) } : null,
    });
    expect(readdirSync(folder)).toEqual([expect.stringMatching(/^content-\d{8}T\d{6}Z\.sql\.gz$/)]);
    expect([statSync(file).size, (statSync(file).mode & 0o777).toString(8)]).toEqual([bytes, '600']);
    const text = gunzipSync(readFileSync(file)).toString();
    expect(text).toMatch(/^-- Dump completed on .*\n$/m);
    expect(text).toContain('CREATE TABLE `game_tags`');
    expect(text).toContain('INSERT INTO `users`');
    const recorded = await withDatabase(url, (db) => timeOfLast(db, BACKUP));
    expect(Number(recorded)).toBeGreaterThanOrEqual(began);
  });

  test('shows no password to other processes, and leaves none behind', async () => {
    const path = withTool(`printf '%s\\n' "$@" >>'${at('seen')}'; exec "$real" "$@"`);
    expect(await backup([at('copy.sql')], { path })).toMatchObject({ code: 0 });
    const seen = readFileSync(at('seen'), 'utf8');
    expect(seen).toContain('--single-transaction');
    expect(seen).not.toContain('s; =%@');
    expect(readdirSync(folder).toSorted()).toEqual(['copy.sql', 'mariadb-dump', 'mysqldump', 'seen']);
  });

  test.each([
    ['is killed in the midst', '"$real" "$@" | head -c 9000; kill -9 $$', /dump failed/],
    ['says that all is well, and is not', '"$real" "$@" | head -c 9000', /cut short/],
    ['fails', 'echo "Got error: 1045" >&2; exit 2', /dump failed: Got error: 1045/],
  ])('leaves nothing where the tool %s', async (_, script, fault) => {
    const path = withTool(`[ "$1" = --version ] && exec "$real" --version\n${script}`);
    const { code, stderr } = await backup([at('copy.sql.gz')], { path });
    expect([code, stderr]).toEqual([1, expect.stringMatching(fault)]);
    expect(readdirSync(folder).toSorted()).toEqual(['mariadb-dump', 'mysqldump']);
  });

  /** The address of the account that must show a certificate, by a name, with these parameters. */
  const secured = async (parameters: Record<string, string>): Promise<string> => {
    const { cert, key } = await certificates.issue(authority, 'client');
    const all = { 'ssl-cert': cert, 'ssl-key': key, ...parameters };
    const query = Object.entries(all).map(([parameter, value]) => `${parameter}=${encodeURIComponent(value)}`);
    return `${as('certified').replace('127.0.0.1', 'localhost')}?${query.join('&')}`;
  };

  test.each(['REQUIRED', 'VERIFY_CA', 'VERIFY_IDENTITY'])('goes over TLS as the address says: %s', async (mode) => {
    const ca = mode === 'REQUIRED' ? undefined : { 'ssl-ca': authority.cert };
    const address = await secured({ 'ssl-mode': mode, ...ca });
    expect(await backup([at('copy.sql')], { address })).toMatchObject({ code: 0 });
    expect(readdirSync(folder)).toEqual(['copy.sql']);
  });

  test('has the tool check the certificate of the server, too', async () => {
    const stranger = certificates.authority('stranger').cert;
    const address = await secured({ 'ssl-mode': 'VERIFY_CA', 'ssl-ca': authority.cert });
    // The service trusts the server, and the tool is given another authority.
    const path = withTool(`for ca in '${folder}'/*.ca.*; do cat '${stranger}' >"$ca"; done; exec "$real" "$@"`);
    const { code, stderr } = await backup([at('copy.sql')], { address, path });
    expect([code, stderr]).toEqual([1, expect.stringMatching(/dump failed: .*(?:certificate|SSL|TLS)/i)]);
  });

  test('has the tool compare the name of the server, as MariaDB does it wherever it checks a certificate', async () => {
    const byName = await secured({ 'ssl-mode': 'VERIFY_CA', 'ssl-ca': authority.cert });
    const { code, stderr } = await backup([at('copy.sql')], { address: byName.replace('localhost', '127.0.0.1') });
    expect([code, stderr]).toEqual([1, expect.stringMatching(/dump failed: .*(?:certificate|SSL|TLS)/i)]);
  });

  test('leaves nothing behind, the password least of all, when it is stopped in the midst', async () => {
    const path = withTool(`[ "$1" = --version ] && exec "$real" --version\n: >'${at('begun')}'; exec sleep 3`);
    const child = startCli(['backup', at('copy.sql')], { PATH: path, DATABASE_URL: url });
    const ended = once(child, 'exit');
    await until(() => existsSync(at('begun')));
    expect(readdirSync(folder).filter((file) => file.includes('options'))).toHaveLength(1);
    child.kill('SIGTERM');
    expect(await ended).toEqual([null, 'SIGTERM']);
    expect(readdirSync(folder).toSorted()).toEqual(['begun', 'mariadb-dump', 'mysqldump']);
  });

  test('refuses a dump by an account that does not see all tables', async () => {
    const { code, stderr } = await backup([at('copy.sql')], { address: as('reader') });
    expect([code, stderr]).toEqual([1, expect.stringMatching(/The dump lacks .*\bgames\b.*may not read all tables/)]);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('says what to install where there is no tool', async () => {
    const { code, stderr } = await backup([at('copy.sql')], { path: folder });
    expect([code, stderr]).toEqual([1, expect.stringMatching(/There is neither .* nor .* on the PATH: install/)]);
  });

  const disk = mountSmallDisk(1);
  (disk ? test : test.skip)('says that the disk is full, and leaves nothing on it', async () => {
    const path = withTool(
      `[ "$1" = --version ] && exec "$real" --version\nhead -c 3000000 /dev/urandom; exec "$real" "$@"`,
    );
    const { code, stderr } = await backup([join(disk!.folder, 'copy.sql.gz')], { path });
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^error: No room in .*: \d\.\d MiB are free\./m)]);
    expect(readdirSync(disk!.folder)).toEqual([]);
  });
});
