/**
 * @engines sqlite server
 * @tier fault
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { systemActor } from '../../src/auth/audit/log.ts';
import { idFromBytes, timeToDb } from '../../src/db/values.ts';
import { typeCodes } from '../../src/event/outbox/record.ts';
import { createWebhook, listWebhooks } from '../../src/event/webhook/webhooks.ts';
import { openClient } from '../harness/app/client.ts';
import { createDatabase, engine } from '../harness/app/database.ts';
import { type ServeProcess, startServe } from '../harness/app/program.ts';
import { webhookSecrets } from '../harness/app/webhook-key.ts';
import { startDurableServer } from '../harness/faults/durable-server.ts';
import { noteResult } from '../harness/faults/results.ts';
import { startWriters } from '../harness/faults/writers.ts';
import { freePorts } from '../harness/free-ports.mjs';
import { aKey, idIn, withDatabase } from '../harness/http/load.ts';
import { until } from '../harness/until.ts';

// Two instances deliver to an endpoint that fails and hangs, and are killed with their database meanwhile.

// `FAULT_KILLS=50 FAULT_WRITERS=32` makes it the long run of the table.
const KILLS = Number(process.env['FAULT_KILLS'] ?? 6);
const WRITERS = Number(process.env['FAULT_WRITERS'] ?? 4);
/** How many games are published before each kill. */
const GAMES = 15;
/** All writers together publish about eight games in a second, however many they are. */
const REST_MS = WRITERS * 125;
const TYPES = ['game.created', 'image.created', 'image.updated'] as const;
/** How many records are told of by an endpoint that still fails, at most. */
const MOST_FAILING = 200;
const FAILS = 0.3;
const HANGS = 0.05;
const PATIENCE_MS = 300_000 + 20_000 * KILLS;

interface Message {
  type: string;
  data: { position: number; type: string; record: { id: string }; challenge?: string };
}

/** An endpoint that fails some messages and hangs at others; `taken` are those that it has answered with 2xx, in order. */
class Endpoint {
  readonly taken: { webhookId: string; message: Message }[] = [];
  refused = 0;
  unsigned = 0;
  isSound = false;
  secret = '';
  #server!: Server;

  async listen(): Promise<void> {
    this.#server = createServer((request, response) => {
      void text(request)
        .catch(() => '')
        .then((body) => {
          if (body === '') return response.destroy();
          const message = JSON.parse(body) as Message;
          if (message.type === 'webhook.challenge') {
            return response.end(JSON.stringify({ challenge: message.data.challenge }));
          }
          try {
            new Webhook(this.secret).verify(body, request.headers as Record<string, string>);
          } catch {
            this.unsigned += 1;
          }
          const chance = this.isSound ? 1 : Math.random();
          if (chance < HANGS) return undefined;
          if (chance < HANGS + FAILS) {
            this.refused += 1;
            return response.writeHead(500).end();
          }
          this.taken.push({ webhookId: String(request.headers['webhook-id']), message });
          return response.writeHead(204).end();
        });
    });
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

/** The positions of all events that are to be delivered, once the relay has given each its own. */
const relayed = (url: string): Promise<number[] | undefined> =>
  withDatabase(url, async (db) => {
    const rows = await db.read<{ position: number | null }>(
      `SELECT position FROM events WHERE type IN (${TYPES.map(() => '?').join(', ')}) ORDER BY position`,
      TYPES.map((type) => typeCodes[type]),
    );
    const [waiting] = await db.read<{ n: number }>('SELECT COUNT(*) AS n FROM event_outbox');
    return waiting!.n > 0 ? undefined : rows.map(({ position }) => Number(position));
  });

const served: (ServeProcess | undefined)[] = [];
let endpoint: Endpoint;

describe('webhooks', () => {
  afterEach(async () => {
    for (const one of served.splice(0)) await one?.stop('SIGKILL');
    endpoint.close();
  });

  test(
    'get each change, and nothing that did not happen, whatever is killed',
    async () => {
      const server = engine === 'sqlite' ? undefined : await startDurableServer();
      const database = server ? undefined : await createDatabase();
      const url = server?.url ?? database!.url;
      const key = await aKey(url);
      endpoint = new Endpoint();
      await endpoint.listen();
      const ports = await freePorts(2);
      const start = async (index: number): Promise<ServeProcess> => {
        const env = {
          LOG_LEVEL: 'error',
          REQUEST_TIMEOUT_MS: '5000',
          PORT: String(ports[index]),
          WEBHOOK_ALLOW: '127.0.0.0/8',
          WEBHOOK_PORTS: String(endpoint.port),
          WEBHOOK_HTTP: 'true',
        };
        const one = await startServe({ url, env });
        served[index] = one;
        return one;
      };
      const bases = [(await start(0)).base, (await start(1)).base];
      const policy = { allowed: ['127.0.0.0/8'], ports: [endpoint.port], allowsHttp: true };
      await withDatabase(url, async (db) => {
        const [user] = await db.read<{ id: Uint8Array }>('SELECT id FROM users');
        const userId = idFromBytes(user!.id);
        const target = {
          userId,
          url: `http://127.0.0.1:${endpoint.port}/`,
          types: [...TYPES],
        };
        const made = await db.transaction((tx) =>
          createWebhook(tx, target, { policy, secrets: webhookSecrets }, systemActor()),
        );
        endpoint.secret = made.secret;
        await until(async () => (await listWebhooks(db))[0]?.state === 'active');
      });
      const writers = startWriters(bases, key, { count: WRITERS, obedient: true, restMs: REST_MS });
      // Posts that are changed again and again, whose events must come in order.
      let isEditing = true;
      const editing = Promise.all(
        bases.map(async (base) => {
          const client = openClient(base, key);
          while (isEditing) {
            const post = await client.call('image.create', {
              title: 'first',
              images: ['https://images.example.com/1'],
            });
            if (post.kind === 'answered' && post.status === 200) {
              const id = idIn(post.text);
              for (let title = 2; title <= 4; title += 1) await client.call('image.update', { id, title: `${title}` });
            }
            await sleep(1000);
          }
          client.close();
        }),
      );
      // As if the pauses between attempts were over.
      let isDone = false;
      const hastening = (async () => {
        while (!isDone) {
          await withDatabase(url, (db) =>
            db.transaction(async (tx) => {
              const now = timeToDb(new Date());
              await tx.execute(
                "UPDATE webhook_deliveries SET next_at = ? WHERE state = 'waiting' AND attempts < ? AND next_at > ?",
                // The last attempts are for when the endpoint fails no more.
                [now, endpoint.isSound ? 10 : 8, now],
              );
              await tx.execute('UPDATE webhooks SET next_at = ?', [now]);
            }),
          ).catch(() => undefined);
          await sleep(1000);
        }
      })();
      for (let kill = 0; kill < KILLS; kill += 1) {
        await writers.succeeded(GAMES);
        if (server && kill % 3 === 2) {
          await server.kill();
          await sleep(300);
          await server.start();
        } else {
          await served[kill % 2]?.stop('SIGKILL');
          await start(kill % 2);
        }
      }
      await writers.stop();
      isEditing = false;
      await editing;
      const acknowledged = new Set(writers.acknowledged.values());
      const seen = (): Set<string> => new Set(endpoint.taken.map(({ message }) => message.data.record.id));
      // It goes on failing for a while when nothing is killed any more; the rest is to come without.
      await until(() => seen().size > Math.min(acknowledged.size / 2, MOST_FAILING), { withinMs: PATIENCE_MS / 2 });
      endpoint.isSound = true;
      let due: number[] = [];
      await until(async () => (due = (await relayed(url)) ?? []).length > 0, { withinMs: 30_000, everyMs: 500 });
      const takenIds = (): Set<string> => new Set(endpoint.taken.map(({ webhookId }) => webhookId));
      await until(() => takenIds().size >= due.length, { withinMs: PATIENCE_MS / 2 });
      await sleep(2000);
      isDone = true;
      await hastening;

      // Without repetitions, each event once, and no other; those of one record in their order.
      const once = new Map(endpoint.taken.toReversed().map(({ webhookId, message }) => [webhookId, message.data]));
      const positions = [...once.values()].map(({ position }) => position).toSorted((a, b) => a - b);
      expect(positions).toEqual(due);
      const last = new Map<string, number>();
      const late = [...once.values()].toReversed().filter(({ position, record: { id } }) => {
        const isLate = position < (last.get(id) ?? 0);
        last.set(id, position);
        return isLate;
      });
      expect(late).toEqual([]);
      // Each stored record has its event, and no other has one.
      const stored = await withDatabase(url, (db) =>
        db.read<{ n: number }>('SELECT (SELECT COUNT(*) FROM games) + (SELECT COUNT(*) FROM image_posts) AS n'),
      );
      expect(last.size).toBe(stored[0]!.n);
      expect(endpoint.unsigned).toBe(0);
      const client = openClient(bases[0]!);
      const first = await client.call('event.list', { types: ['game.created'], limit: 1 });
      client.close();
      expect(first.kind === 'answered' && first.status).toBe(200);
      noteResult({
        fault: 'kill -9 of two instances and the database; the endpoint of a webhook fails 30 %, and hangs at 5 %',
        rounds: KILLS,
        load: `${WRITERS} writers, 2 editors`,
        acknowledged: acknowledged.size,
        lost: [...acknowledged].filter((id) => !seen().has(id)).length,
        duplicated: once.size - new Set(positions).size,
        seen: `${endpoint.taken.length} taken of ${due.length} events, ${endpoint.refused} refused; by webhook-id each once, in order`,
      });
      for (const one of served.splice(0)) await one?.stop('SIGKILL');
      await server?.remove();
      await database?.drop();
    },
    PATIENCE_MS + 600_000,
  );
});
