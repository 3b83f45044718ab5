/**
 * @engines sqlite server
 * @tier fault
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { removableGames } from '../../src/admin/moderation/kinds.ts';
import { hideRecord, unhideRecord } from '../../src/admin/moderation/takedown.ts';
import { exportLines, headerOf } from '../../src/admin/transfer/export.ts';
import { systemActor } from '../../src/auth/audit/log.ts';
import { mergeTags } from '../../src/content/write/tag-merge.ts';
import { renameTag } from '../../src/content/write/tag-names.ts';
import { removeRecords } from '../../src/content/write/remove.ts';
import type { Database } from '../../src/db/database.ts';
import { type Bytes, idFromBytes } from '../../src/db/values.ts';
import { gameKind } from '../../src/game/kind.ts';
import { imageKind } from '../../src/image/kind.ts';
import { renameUser } from '../../src/user/service.ts';
import { createDatabase, engine } from '../harness/app/database.ts';
import { openClient } from '../harness/app/client.ts';
import { type ServeProcess, startServe } from '../harness/app/program.ts';
import { blocksOf } from '../harness/documents/guide.ts';
import { startDurableServer } from '../harness/faults/durable-server.ts';
import { noteResult } from '../harness/faults/results.ts';
import { startTogglers, startWriters } from '../harness/faults/writers.ts';
import { freePorts } from '../harness/free-ports.mjs';
import { aKey, withDatabase } from '../harness/http/load.ts';

// The copies of docs/events.md, under kills of the service, the database and the copies themselves.

/** `FAULT_KILLS` and `FAULT_CALLS` make the run longer: the rounds, and the calls of writers and of togglers between two kills. */
const { FAULT_KILLS = '6', FAULT_CALLS = '40' } = process.env;
const KILLS = Number(FAULT_KILLS);
const CALLS = Number(FAULT_CALLS);
/** Acts of the operator at least. */
const OPERATOR_ACTS = 60;
/** What is under way at the end is in the feed by then. */
const SETTLED_MS = 5000;

interface CopiedGame {
  id: string;
  title: string;
  gameType: string | null;
  version: string | null;
  isFree: boolean;
  author: { id: string; nickname: string };
  tags: { name: string }[];
  likeCount: number;
  dislikeCount: number;
  favoriteCount: number;
}

interface ExportedLine {
  kind: string;
  id: string;
  of?: string;
  nickname?: string;
  title: string;
  gameType?: string;
  version?: string;
  isFree: boolean;
  authorId: string;
  tagNames: string[];
  isHidden?: boolean;
  likes?: string[];
  dislikes?: string[];
  favorites?: string[];
}

/** Games by their ids, as far as both an export and a copy know them. */
const exportedGames = async (db: Database): Promise<Map<string, unknown>> => {
  const header = await headerOf(db, { parts: ['users', 'games'], since: undefined });
  const names = new Map<string, string>();
  const games = new Map<string, unknown>();
  for await (const { text } of exportLines(db, header)) {
    for (const line of text.split('\n').filter((one) => one !== '')) {
      const { kind, id, nickname, isHidden, ...game } = JSON.parse(line) as ExportedLine;
      if (kind === 'user') names.set(id, nickname ?? '');
      if (kind !== 'game' || isHidden) continue;
      const { title, gameType, version, isFree, authorId, tagNames, likes, dislikes, favorites } = game;
      const counts = [likes, dislikes, favorites].map((users = []) => users.length);
      const texts = [title, gameType ?? null, version ?? null, isFree];
      games.set(id, [...texts, authorId, names.get(authorId), tagNames, ...counts]);
    }
  }
  return games;
};

const copiedGames = async (file: string): Promise<Map<string, unknown>> => {
  const { games } = JSON.parse(await readFile(file, 'utf8')) as { games: Record<string, CopiedGame> };
  return new Map(
    Object.values(games).map(({ id, title, gameType, version, isFree, author, tags, ...counts }) => [
      id,
      [
        title,
        gameType,
        version,
        isFree,
        author.id,
        author.nickname,
        tags.map(({ name }) => name),
        counts.likeCount,
        counts.dislikeCount,
        counts.favoriteCount,
      ],
    ]),
  );
};

/** A copy as a program of its own. */
interface Mirror {
  name: string;
  file: string;
  /** Starts it, unless it runs. */
  start: (base: string) => void;
  kill: () => Promise<void>;
  /** Runs it until it has seen all. @throws Error with its words when it fails */
  finish: (base: string) => Promise<void>;
}

const mirrorOf = (name: string, file: string, command: string, args: readonly string[]): Mirror => {
  let running: ChildProcess | undefined;
  const spawned = (base: string, more: Record<string, string> = {}): ChildProcess =>
    spawn(command, args, {
      env: { PATH: process.env['PATH'], GATEWAY_URL: base, MIRROR_FILE: file, ...more },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
  return {
    name,
    file,
    start: (base) => {
      running ??= spawned(base);
    },
    kill: async () => {
      const child = running;
      running = undefined;
      if (!child || child.exitCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'close');
    },
    finish: async (base) => {
      const child = spawned(base, { MIRROR_ONCE: 'true' });
      let words = '';
      child.stderr?.setEncoding('utf8').on('data', (text: string) => (words += text));
      const [code] = (await once(child, 'close')) as [number | null];
      if (code !== 0) throw new Error(`The ${name} copy ended with status ${code}:\n${words}`);
    },
  };
};

const mirrorsIn = async (folder: string): Promise<Mirror[]> => {
  const blocks = blocksOf(await readFile('docs/events.md', 'utf8'));
  const textOf = (language: string): string => blocks.find((block) => block.language === language)!.text;
  const [js, python] = [join(folder, 'mirror.mjs'), join(folder, 'mirror.py')];
  await writeFile(js, textOf('js'));
  await writeFile(python, textOf('python'));
  return [
    mirrorOf('JavaScript', join(folder, 'js.json'), process.execPath, [js]),
    mirrorOf('Python', join(folder, 'py.json'), 'python3', [python]),
  ];
};

const settle = (): Promise<unknown> => sleep(20);

/** Does what operators do, at random, and goes on where the database was away. Returns how many acts succeeded. */
const operate = async (url: string, isStopped: () => boolean): Promise<number> => {
  let done = 0;
  const by = systemActor();
  const hidden: string[] = [];
  for (let act = 0; act < OPERATOR_ACTS || !isStopped(); act += 1) {
    try {
      await withDatabase(url, async (db) => {
        const games = await db.read<{ id: Bytes }>('SELECT id FROM games ORDER BY id DESC LIMIT 40');
        const [some, other] = [games[act % games.length]?.id, games[(act * 7) % games.length]?.id];
        if (!some || !other) return;
        const removal = act % 6;
        if (removal === 0) await removeRecords(db, removableGames, [some]);
        if (removal === 1 || removal === 2) {
          await hideRecord(db, removableGames, idFromBytes(other), { reason: 'a test', by });
          hidden.push(idFromBytes(other));
        }
        const back = removal === 3 ? hidden.shift() : undefined;
        if (back !== undefined) await unhideRecord(db, removableGames, back, by);
        if (removal === 4) {
          const [user] = await db.read<{ id: Bytes }>('SELECT id FROM users ORDER BY id LIMIT 1');
          if (user) await renameUser(db, idFromBytes(user.id), `author ${act}`, by);
        }
        const kinds = [gameKind, imageKind];
        if (removal === 5)
          await renameTag(db, kinds, { slug: 'load', name: act % 2 === 0 ? 'Load' : 'LOAD' }, settle, by);
        if (act === 40) await mergeTags(db, kinds, { from: 'tag-1', into: 'tag-2' }, by, settle);
        done += 1;
      });
    } catch {
      // Interrupted halfway, as a command may be.
    }
    await sleep(100);
  }
  return done;
};

jest.setTimeout(600_000 + KILLS * (10_000 + CALLS * 200));

let served: ServeProcess | undefined;
let mirrors: Mirror[] = [];
let folder: string | undefined;

describe('a copy by events', () => {
  afterEach(async () => {
    for (const mirror of mirrors) await mirror.kill();
    await served?.stop('SIGKILL');
    if (folder !== undefined) await rm(folder, { recursive: true });
  });

  test('equals an export, whatever is killed while everybody writes', async () => {
    const server = engine === 'sqlite' ? undefined : await startDurableServer();
    const database = server ? undefined : await createDatabase();
    const url = server?.url ?? database!.url;
    const key = await aKey(url);
    const [port = 0] = await freePorts(1);
    const start = async (): Promise<ServeProcess> => {
      const env = { LOG_LEVEL: 'error', REQUEST_TIMEOUT_MS: '5000', PORT: String(port) };
      served = await startServe({ url, env });
      return served;
    };
    const { base } = await start();
    folder = await mkdtemp(join(tmpdir(), 'content-gateway-mirror-'));
    mirrors = await mirrorsIn(folder);

    const callers = [
      startWriters(base, key, { count: 12, obedient: true, restMs: 20 }),
      await startTogglers(base, key, { count: 4, obedient: true, restMs: 20 }),
    ];
    await callers[0]!.succeeded(150);
    // They begin in the middle of it.
    for (const mirror of mirrors) mirror.start(base);
    let isStopped = false;
    const operating = operate(url, () => isStopped);
    for (let kill = 0; kill < KILLS; kill += 1) {
      await Promise.all(callers.map((one) => one.succeeded(CALLS)));
      if (server && kill % 2 === 1) {
        await server.kill();
        await sleep(300);
        await server.start();
      } else {
        await served?.stop('SIGKILL');
        await start();
      }
      const mirror = mirrors[kill % 2]!;
      await mirror.kill();
      await Promise.all(callers.map((one) => one.succeeded(CALLS)));
      mirror.start(base);
    }
    await Promise.all(callers.map((one) => one.stop()));
    isStopped = true;
    const acts = await operating;
    await sleep(SETTLED_MS);
    for (const mirror of mirrors) {
      await mirror.kill();
      expect([mirror.name, existsSync(mirror.file)]).toEqual([mirror.name, true]);
      await mirror.finish(base);
    }

    const exported = await withDatabase(url, exportedGames);
    for (const { file } of mirrors) expect(await copiedGames(file)).toEqual(exported);
    expect(exported.size).toBeGreaterThan(100);
    expect(acts).toBeGreaterThan(OPERATOR_ACTS / 2);

    // All that happened is in the feed, at positions without gaps.
    const client = openClient(base);
    const created = new Set<string>();
    let [after, position]: [string | undefined, number] = [undefined, 0];
    for (let hasMore = true; hasMore;) {
      const ending = await client.call('event.list', { ...(after !== undefined && { after }) });
      if (ending.kind !== 'answered' || ending.status !== 200) throw new Error(JSON.stringify(ending));
      const page = (JSON.parse(ending.text) as { result: { data: { json: FeedPage } } }).result.data.json;
      for (const event of page.items) {
        position += 1;
        expect(event.position).toBe(position);
        if (event.type === 'game.created') created.add(event.record.id);
      }
      after = page.nextCursor;
      ({ hasMore } = page);
    }
    client.close();
    const acknowledged = callers.flatMap((one) => [...one.acknowledged.values()]);
    const lost = acknowledged.filter((id) => !created.has(id));
    expect(lost).toEqual([]);
    const answered = callers.flatMap(({ attempts }) => attempts).filter(({ outcome }) => outcome === 'ok').length;
    noteResult({
      fault: 'kill -9 of the service, the database and copies by events',
      rounds: KILLS,
      load: '12 writers, 4 togglers, an operator, 2 copies',
      acknowledged: answered,
      lost: lost.length,
      duplicated: 0,
      seen: `both copies equal the export of ${exported.size} games after ${position} events`,
    });
    await server?.remove();
    await served?.stop('SIGKILL');
    await database?.drop();
  });
});

interface FeedPage {
  items: { position: number; type: string; record: { id: string } }[];
  nextCursor: string;
  hasMore: boolean;
}
