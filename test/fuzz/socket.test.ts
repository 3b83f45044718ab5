/**
 * @engines sqlite
 * @tier fuzz
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { IsNull, Not } from 'typeorm';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  exampleApiKey,
  exampleGame,
  exampleGameInput,
  exampleImagePost,
  exampleImagePostInput,
  exampleUser,
} from '../../contract/examples.ts';
import { procedures } from '../../contract/index.ts';
import { recordsIn } from '../../src/content/entity.ts';
import type { ContentKind } from '../../src/content/kind.ts';
import type { Draft } from '../../src/content/write/publish.ts';
import { publish } from '../../src/content/write/publisher.ts';
import { gameKind } from '../../src/game/kind.ts';
import { gameDraft } from '../../src/game/service.ts';
import { imageKind } from '../../src/image/kind.ts';
import { imagePostDraft } from '../../src/image/service.ts';
import { createDemo } from '../../src/sandbox/records.ts';
import { insertSandboxExamples, sandboxKeys } from '../../src/sandbox/sandbox.ts';
import { keysIn } from '../../src/auth/entity.ts';
import { insertKey } from '../../src/auth/service.ts';
import type { Database } from '../../src/db/database.ts';
import { AppError } from '../../src/base/errors.ts';
import { deleteWebhook, listWebhooks } from '../../src/event/webhook/webhooks.ts';
import { createDatabase, engine, type TestDatabase } from '../harness/app/database.ts';
import { withDatabase } from '../harness/http/load.ts';
import { runCli, type ServeProcess, startServe } from '../harness/app/program.ts';
import { usageOf } from '../harness/app/usage.ts';
import { webhookSecrets } from '../harness/app/webhook-key.ts';
import { converse, type Fault, type Tally } from './socket/client.ts';
import { aConversation, type Conversation } from './socket/conversation.ts';

// Writes requests to the sockets of the service: good ones, bad ones, and bytes that are none at all. Each seed makes the
// same ones.

const TIMEOUT_MS = 15 * 60_000;
const { FUZZ_SEED = '1', FUZZ_REQUESTS = '100000', FUZZ_CONVERSATION } = process.env;

const seed = FUZZ_SEED === 'random' ? String(Math.floor(Math.random() * 1e9)) : FUZZ_SEED;

const CONNECTIONS = 32;
/** What the service may need at its most. Measured: 260 MiB on SQLite, 360 on MariaDB and MySQL. */
const MOST_MEMORY_MIB = 700;
/** How long `/healthz` may take beside all that. */
const HEALTH_LIMIT_MS = 10_000;

let database: TestDatabase;
let served: ServeProcess;

describe('fuzzing of the socket', () => {
  beforeAll(async () => {
    database = await createDatabase();
    const past = new Date('2026-01-01T00:00:00.000Z');
    await withDatabase(database.url, async (db) => {
      await db.migrate();
      await createDemo(db, past, { withKey: false });
      await db.transaction(async (tx) => {
        for (const { key, name, scopes, ended } of sandboxKeys) {
          const expiresAt = ended ? past : null;
          await insertKey(tx, { name, scopes, userId: exampleUser.id, expiresAt }, past, key);
        }
      });
    });
    // Of what is slow on a busy machine, the log would warn.
    served = await startServe({ url: database.url, env: { LOG_LEVEL: 'warn', SLOW_REQUEST_MS: '0' } });
  });

  afterAll(async () => {
    await served.stop('SIGKILL');
    await database.drop();
  });

  /** A cursor that the service gave. */
  const realCursor = async (): Promise<string> => {
    const response = await fetch(`${served.base}/api/trpc/game.list`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: '{"json":{"limit":1,"page":1}}',
    });
    const body = (await response.json()) as { result: { data: { json: { nextCursor: string } } } };
    return body.result.data.json.nextCursor;
  };

  /** How long `/healthz` takes, on a connection of its own. @throws Error when it is not answered well */
  const askHealth = (): Promise<number> =>
    new Promise((resolve, reject) => {
      const began = performance.now();
      const asked = request(`${served.base}/healthz`, { agent: false, timeout: HEALTH_LIMIT_MS }, (response) => {
        response.resume();
        response.once('end', () => {
          if (response.statusCode === 200) resolve(performance.now() - began);
          else reject(new Error(`/healthz answers ${response.statusCode}`));
        });
      });
      asked.once('timeout', () => asked.destroy(new Error(`/healthz takes more than ${HEALTH_LIMIT_MS} ms`)));
      asked.once('error', reject);
      asked.end();
    });

  /** Publishes a record of the examples again if a call has deleted it. */
  const renewRecord = (db: Database, kind: ContentKind, draft: Draft & { id: string }): Promise<void> =>
    db.transaction(async (tx) => {
      if (await recordsIn(tx, kind).existsBy({ id: draft.id })) return;
      await publish(tx, kind, exampleUser.id, [draft], new Date(exampleGame.createdAt));
    });

  /**
   * Has the records, the webhook and the key of the examples exist, and no other webhooks and keys: calls make some, and
   * end these.
   */
  const renewExamples = async (db: Database): Promise<void> => {
    const now = new Date();
    await renewRecord(db, gameKind, { ...gameDraft(exampleGameInput), id: exampleGame.id });
    await renewRecord(db, imageKind, { ...imagePostDraft(exampleImagePostInput), id: exampleImagePost.id });
    await db.transaction(async (tx) => {
      await keysIn(tx).update({ madeBy: Not(IsNull()), revokedAt: IsNull() }, { revokedAt: now });
      await keysIn(tx).update({ id: exampleApiKey.id }, { revokedAt: null, expiresAt: null });
    });
    try {
      for (const { id, userId } of await listWebhooks(db)) {
        await db.transaction((tx) => deleteWebhook(tx, id, { ownerId: userId, now }));
      }
      await insertSandboxExamples(db, now, webhookSecrets);
    } catch (error) {
      // A call deletes the same one: the next turn makes it again.
      if (!(error instanceof AppError) || error.reason !== 'WEBHOOK_NOT_FOUND') throw error;
    }
  };

  /** Asks for health, and does `more`, again and again until `work` is done. Returns the slowest answer too. */
  const besideHealth = async <T>(
    work: Promise<T>,
    more: () => Promise<void>,
  ): Promise<[done: T, slowestMs: number]> => {
    let isDone = false;
    let slowest = 0;
    const watch = async (): Promise<void> => {
      while (!isDone) {
        slowest = Math.max(slowest, await askHealth());
        await more();
        await sleep(100);
      }
    };
    const finish = async (): Promise<T> => {
      try {
        return await work;
      } finally {
        isDone = true;
      }
    };
    const [done] = await Promise.all([finish(), watch()]);
    return [done, slowest];
  };

  function* conversations(cursor: string): Generator<Conversation> {
    if (FUZZ_CONVERSATION !== undefined) {
      yield aConversation(seed, Number(FUZZ_CONVERSATION), cursor);
      return;
    }
    for (let number = 0; ; number += 1) yield aConversation(seed, number, cursor);
  }

  /** What was wrong, in words, with a file that holds what was sent. */
  const told = ({ conversation: { number, asked, wild }, what, at }: Fault): string => {
    const folder = join('build/fuzz', engine);
    mkdirSync(folder, { recursive: true });
    const file = join(folder, `${seed}-${number}.http`);
    writeFileSync(file, Buffer.concat([...asked.map(({ bytes }) => bytes), ...(wild ? [wild] : [])]));
    return `conversation ${number}, sent again by FUZZ_SEED=${seed} FUZZ_CONVERSATION=${number}, in ${file}: ${what}\nat ${at}`;
  };

  const report = ({ requests, connections, abandoned, seen, slowestMs }: Tally, more: readonly string[]): string => {
    const counted = [...seen].filter(([what]) => /^(status|[0-9])/.test(what)).toSorted(([a], [b]) => (a < b ? -1 : 1));
    return [
      `Sockets on ${engine}, FUZZ_SEED=${seed}: ${requests} requests on ${connections} connections, ${abandoned} abandoned`,
      ...counted.map(([what, count]) => `  ${what.padEnd(32)}${String(count).padStart(8)}`),
      `  slowest end of a connection: ${Math.round(slowestMs)} ms`,
      ...more.map((line) => `  ${line}`),
      '',
    ].join('\n');
  };

  test(
    'whatever is written to its sockets, the service answers as documented, and lives',
    async () => {
      const cursor = await realCursor();
      const began = performance.now();
      const [tally, slowestHealth] = await withDatabase(database.url, async (db) => {
        await renewExamples(db);
        const conversing = converse(Number(new URL(served.base).port), conversations(cursor), {
          connections: CONNECTIONS,
          requests: Number(FUZZ_REQUESTS),
        });
        return besideHealth(conversing, () => renewExamples(db));
      });
      const seconds = (performance.now() - began) / 1000;
      const usage = await usageOf(served.child.pid ?? 0);
      process.stdout.write(
        `\n${report(tally, [
          `slowest /healthz: ${Math.round(slowestHealth)} ms`,
          usage
            ? `the service: ${Math.round(usage.peakMebibytes)} MiB at its most, ${Math.round(usage.seconds)} s of a processor`
            : 'what the service used is unknown on this system',
          `${seconds.toFixed(1)} s, ${Math.round(tally.requests / seconds)} requests a second`,
        ])}`,
      );

      expect(tally.faults.map(told)).toEqual([]);
      if (FUZZ_CONVERSATION !== undefined) return;
      const unseen = procedures.filter(({ id }) => !tally.seen.has(`${id} 200`)).map(({ id }) => id);
      expect(unseen).toEqual([]);
      if (usage) expect(usage.peakMebibytes).toBeLessThan(MOST_MEMORY_MIB);

      expect(await served.stop()).toBe(0);
      // What comes at once may be more than there is room for; the server is one that is thrown away; and this process, which
      // renews the examples, keeps background work from an SQLite file.
      const expected =
        /"msg":"(overloaded|a power loss may lose .*|Node\.js .* gets no security fixes .*)"\}$|"errstr":"database is locked"/;
      const output = served
        .output()
        .split('\n')
        .filter((line) => !expected.test(line));
      expect(output.join('\n')).not.toMatch(/"level":[4-6]0|Warning|^ +at /m);
      expect(await runCli(['reconcile'], { env: { DATABASE_URL: database.url } })).toEqual({
        code: 0,
        stdout: 'Everything is right.\n',
        stderr: '',
      });
    },
    TIMEOUT_MS,
  );
});
