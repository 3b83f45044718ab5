/**
 * @engines sqlite
 * @tier long
 */
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readConfig } from '../../src/config/config.ts';
import { runCommand } from '../harness/app/command.ts';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';
import { blocksOf } from '../harness/documents/guide.ts';
import { runCli, type ServeProcess, startServe } from '../harness/app/program.ts';
import { freePort } from '../harness/free-ports.mjs';

// What the guides for operators tell them to type, line by line, on this database. Other guides are run as a whole.

/** What is run elsewhere, and where. */
const elsewhere: Record<string, string> = {
  'npm ci': '.ci/first-start',
  'promtool check config deploy/prometheus/prometheus.yaml': 'test/telemetry/alert-rules.test.ts',
  'prometheus --config.file=deploy/prometheus/prometheus.yaml': 'test/telemetry/alert-rules.test.ts',
};

let database: TestDatabase;
let service: ServeProcess;
let metricsPort: number;
let folder: string;
/** Stands in for the certificate of an authority. */
let authority: string;
/** What the command before has printed: the guides write `<id>` for it. */
let printed = '';

describe('commands in the guides', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'content-gateway-guides-'));
    authority = join(folder, 'ca.pem');
    await writeFile(authority, rootCertificates[0]!);
    database = await createDatabase();
    metricsPort = await freePort();
    service = await startServe({ url: database.url, env: { METRICS_PORT: String(metricsPort) } });
    // The guides name a tag, and a name that is another one.
    const { stdout: author } = await runCommand(['users', 'create', '--nickname', 'Ben'], { env: env() });
    const { stdout: key } = await runCommand(['keys', 'create', '--user', author.trim(), '--scopes', 'content:write'], {
      env: env(),
    });
    const reply = await fetch(`${service.base}/api/trpc/game.create`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key.trim()}` },
      body: JSON.stringify({ json: { title: 'One', tagNames: ['rpg'], gameType: 'RPG' } }),
    });
    expect(reply.status).toBe(200);
  });
  afterAll(async () => {
    await service.stop();
    await database.drop();
    await rm(folder, { recursive: true });
  });

  const env = (): Record<string, string> => ({ DATABASE_URL: database.url, PUBLIC_URL: service.base });

  const linesOf = (guide: string): string[] =>
    blocksOf(readFileSync(`docs/${guide}.md`, 'utf8'))
      .filter(({ language }) => language === 'sh')
      .flatMap(({ text }) => text.split('\n'))
      .map((line) => line.replace(/ +# .*$/, ''))
      .filter((line) => line !== '');

  const run = async (line: string): Promise<void> => {
    const [, assigned] = /^export (?:MIGRATE_)?DATABASE_URL='?([^']+)'?$/.exec(line) ?? [];
    const [, settings] = /^((?:[A-Z_]+=\S+ )*)npm start$/.exec(line) ?? [];
    // test/project/systemd.test.ts tries the unit and its command.
    const [, installed] = /^sudo install -m \d+ \/opt\/content-gateway\/(\S+) \S+$/.exec(line) ?? [];
    const [, unit] = /^sudo systemctl enable --now (\S+)$/.exec(line) ?? [];
    const [, command] = /^(?:npm run -s cli --|sudo content-gateway) (.+)$/.exec(line) ?? [];
    if (line in elsewhere) {
      expect(readFileSync(elsewhere[line]!, 'utf8')).toContain(line);
    } else if (installed !== undefined) {
      expect(existsSync(installed)).toBe(true);
    } else if (unit !== undefined) {
      expect(existsSync(`deploy/systemd/${unit}.service`)).toBe(true);
    } else if (assigned !== undefined) {
      const url = assigned.replace('/etc/ssl/db-ca.pem', authority);
      expect(readConfig({ DATABASE_URL: url }).databaseUrl).toBe(url);
    } else if (settings !== undefined) {
      // Whatever else runs here may have the guide's port.
      const given = settings.replace(/(?<=METRICS_PORT=)\d+/, String(await freePort()));
      const more = Object.fromEntries([...given.matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [name, value]));
      const started = await startServe({ url: database.url, env: more as Record<string, string> });
      expect((await fetch(`${started.base}/readyz`)).status).toBe(200);
      expect(await started.stop()).toBe(0);
    } else if (command !== undefined) {
      const args = command
        .replace('<id>', printed.trim())
        .replace('"$PUBLIC_URL"', service.base)
        .replace('localhost:9464', `127.0.0.1:${metricsPort}`)
        .split(' ');
      // The whole of it is run by test/kit/conformance/all-engines.test.ts.
      if (args[0] === 'verify') args.push('--only', 'service,game.getTypeStats');
      // It loads a part of itself late, which works in a process of its own only.
      const ran = args[0] === 'reindex' ? runCli : runCommand;
      const { code, stdout, stderr } = await ran(args, { env: env() });
      expect({ line, code, stderr }).toEqual({ line, code: 0, stderr });
      printed = stdout;
    } else {
      throw new Error(`nothing runs this line: ${line}`);
    }
  };

  test.each([
    ['operators', 16],
    ['operations', 3],
    ['monitoring', 5],
  ])('docs/%s.md', async (guide, expected) => {
    const lines = linesOf(guide);
    for (const line of lines) await run(line);
    expect(lines).toHaveLength(expected);
  });
});
