/**
 * @engines server
 * @tier fuzz
 */
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { demoKeyIn } from '../harness/app/demo.ts';
import { createDatabase, engine, type TestDatabase } from '../harness/app/database.ts';
import { withDatabase } from '../harness/http/load.ts';
import { type ServeProcess, startServe } from '../harness/app/program.ts';

// Schemathesis makes thousands of requests from the published document, valid and invalid ones, and holds each reply
// against it. What it does is told in deploy/ci/schemathesis.toml, which docs/ci.md hands to others.

const TIMEOUT_MS = 15 * 60_000;
const { SCHEMATHESIS, FUZZ_EXAMPLES = '50', FUZZ_PHASES = 'examples,coverage,fuzzing', FUZZ_SEED = '1' } = process.env;
const seed = FUZZ_SEED === 'random' ? String(randomInt(1e9)) : FUZZ_SEED;

let database: TestDatabase;
let served: ServeProcess;
let key: string;

describe('fuzzing', () => {
  beforeAll(async () => {
    database = await createDatabase();
    key = await withDatabase(database.url, async (db) => {
      await db.migrate();
      return demoKeyIn(db);
    });
    served = await startServe({ url: database.url, env: { LOG_LEVEL: 'error' } });
  });

  afterAll(async () => {
    await served.stop();
    await database.drop();
  });

  /** Runs Schemathesis to its end, with all it prints. */
  const fuzz = async (): Promise<{ code: number; output: string }> => {
    if (!SCHEMATHESIS) throw new Error('SCHEMATHESIS must name the program `st`: run this by `npm run fuzz`');
    const root = process.cwd();
    // It keeps notes where it runs.
    const cwd = join('build/fuzz', engine);
    mkdirSync(cwd, { recursive: true });
    const child = spawn(
      SCHEMATHESIS,
      [
        '--no-color',
        `--config-file=${root}/deploy/ci/schemathesis.toml`,
        'run',
        `${root}/openapi/openapi.json`,
        `--url=${served.base}`,
        `--header=Authorization: Bearer ${key}`,
        `--max-examples=${FUZZ_EXAMPLES}`,
        `--phases=${FUZZ_PHASES}`,
        `--seed=${seed}`,
      ],
      {
        cwd,
        env: { ...process.env, GATEWAY_HOME: root, PYTHONDONTWRITEBYTECODE: '1' },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    }
    const [code] = (await once(child, 'close')) as [number];
    return { code, output };
  };

  test(
    'every reply to whatever can be made from the document is as it says',
    async () => {
      const { code, output } = await fuzz();
      process.stdout.write(`\nSchemathesis on ${engine}, FUZZ_SEED=${seed}:\n${output}\n`);
      expect(code).toBe(0);
      expect(served.output()).not.toMatch(/"level":[56]0/);
    },
    TIMEOUT_MS,
  );
});
