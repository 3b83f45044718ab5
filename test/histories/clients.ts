import { scopes } from '../../contract/index.ts';
import { hideRecord } from '../../src/admin/moderation/takedown.ts';
import { eraseUser } from '../../src/admin/person/erase.ts';
import { createKey } from '../../src/auth/service.ts';
import { systemActor } from '../../src/auth/audit/log.ts';
import { sleep } from '../../src/base/runtime.ts';
import type { Database } from '../../src/db/database.ts';
import { timeToDb } from '../../src/db/values.ts';
import { Random } from '../../src/sandbox/seed/random.ts';
import { gameKind } from '../../src/game/kind.ts';
import { imageKind } from '../../src/image/kind.ts';
import { createUser } from '../../src/user/service.ts';
import { stopAfterTest } from '../harness/faults/running.ts';
import { withDatabase } from '../harness/http/load.ts';
import { until } from '../harness/until.ts';
import { CHOICES, Copy, Endpoint, follow } from './followers.ts';
import { creationsIn, type Entry, entryOf, microseconds } from './history.ts';
import { lookFor, publish, readAll } from './reading.ts';
import { type Account, kinds, type Reached, reachedAt, Session, TRACE } from './session.ts';
import { ActiveRecords, USERS, Walker } from './walker.ts';

// Clients of several users, which call through HTTP alone and note each call and its answer.

export { type Account, ActiveRecords, follow, readAll, type Reached, Session, Walker };

const CLIENTS = 12;
/** The parts of the calls at which clients pause and everything is read; between the first and the last of them there are faults. */
const MOMENTS = [0.1, 0.5, 0.9, 1] as const;
/** Callers who read the same two records at once, so that their reads wait and are shared; and how often each does. */
const CROWD = 64;
const CROWD_CALLS = 8;
/** How often pauses of deliveries are ended. */
const HASTEN_MS = 500;
const HOUR_MS = 3_600_000;
/** The types that the second follower asks for. */
const FILTER = ['game.created', 'image.updated'];

/** New users with keys of all scopes, of whom the last one is to be erased; the database is migrated first. */
export const openAccounts = (url: string): Promise<Account[]> =>
  withDatabase(url, async (db) => {
    await db.migrate();
    const now = new Date();
    return Promise.all(
      Array.from({ length: USERS }, async (_, n) => {
        const id = await createUser(db, `user ${n === USERS - 1 ? TRACE : n}`, now);
        const { key } = await createKey(db, { userId: id, name: 'histories', scopes, expiresAt: null }, now);
        return { id, key };
      }),
    );
  });

/**
 * Has many callers read two records at once, alone and in a list, while one session of each user toggles them: with more, the search
 * for an order would take too long.
 */
const crowd = async (history: Entry[], reached: Reached, accounts: readonly Account[], seed: string): Promise<void> => {
  // Reads without a key share more than those with one.
  const accountOf = (n: number): Account | undefined =>
    n < USERS ? accounts[n] : n % 3 === 0 ? accounts[(n / 3) % USERS] : undefined;
  const sessions = Array.from(
    { length: CROWD },
    (_, n) => new Session(history, reached, CLIENTS + CROWD + n, accountOf(n)),
  );
  const togglers = sessions.slice(0, USERS);
  const tagNames = ['crowd'];
  const [first] = sessions as [Session, ...Session[]];
  const ids = {
    game: await publish(first, 'game', 'crowd', { tagNames }),
    image: await publish(first, 'image', 'crowd', { tagNames }),
  };
  const read = async (session: Session, random: Random): Promise<void> => {
    const kind = random.pick(kinds);
    const { id } = random.pick(accounts);
    if (random.chance(0.15)) await session.show('user.getProfile', { id }, { record: id });
    else if (random.chance(0.7)) await session.showAll(`${kind}.list`, { limit: 2, page: 1, tagSlugs: tagNames });
    else await session.show(`${kind}.getById`, { id: ids[kind] }, { record: ids[kind] });
  };
  let isRead = false;
  const toggle = async (session: Session, key: string): Promise<void> => {
    const { game, image } = ids;
    await session.show('game.toggleFavorite', { gameId: game }, { record: game, key });
    await session.show('image.toggleFavorite', { imagePostId: image }, { record: image, key });
  };
  const toggling = Promise.all(
    togglers.map(async (session) => {
      for (let n = 0; !isRead; n += 1) await toggle(session, `crowd ${n}`);
    }),
  );
  await Promise.all(
    sessions.slice(USERS).map(async (session) => {
      const random = new Random(`${seed} crowd ${session.client}`);
      for (let n = 0; n < CROWD_CALLS; n += 1) await read(session, random);
    }),
  ).finally(() => (isRead = true));
  await toggling;
  for (const session of sessions) session.close();
};

/** Hides a record of each kind as an operator does, and notes it; the author deletes the game all the same. */
const hide = async (history: Entry[], url: string, author: Session): Promise<void> => {
  for (const [kind, table] of [
    ['game', gameKind],
    ['image', imageKind],
  ] as const) {
    const record = await publish(author, kind, 'to hide');
    const call = microseconds();
    await withDatabase(url, (db) => hideRecord(db, table, record, { reason: 'stolen', by: systemActor() }));
    history.push(entryOf('hiding', { record, call }));
    if (kind === 'game') await author.show('game.delete', { id: record }, { record, key: 'hidden' });
  }
};

/** Erases a user as an operator does, and notes it. */
const erase = async (history: Entry[], url: string, user: string): Promise<void> => {
  const call = microseconds();
  const by = systemActor();
  await withDatabase(url, (db) =>
    eraseUser(db, user, { by, vacuum: false, settle: () => Promise.resolve(), graceMs: 0 }),
  );
  history.push(entryOf('erasure', { user, record: user, call }));
};

/** Makes webhooks go on as if the leases of killed processes and the pauses between attempts were over. */
const hasten = async (url: string, isStopped: () => boolean): Promise<void> => {
  const end = async (db: Database): Promise<void> => {
    // Also where a nemesis has set the clock of the service back.
    const past = timeToDb(new Date(Date.now() - HOUR_MS));
    await db.transaction(async (tx) => {
      await tx.execute("UPDATE webhook_deliveries SET next_at = ? WHERE state = 'waiting' AND next_at > ?", [
        past,
        past,
      ]);
      await tx.execute('UPDATE webhooks SET lease_until = ?, next_at = ?', [past, past]);
    });
  };
  const work = async (db: Database): Promise<void> => {
    for (; !isStopped(); await sleep(HASTEN_MS)) await end(db);
  };
  // The database may be away.
  for (; !isStopped(); await sleep(HASTEN_MS)) await withDatabase(url, work).catch(() => undefined);
};

interface Run {
  /** The addresses of the instances. */
  bases: readonly string[];
  /** Of the database, for what operators do. */
  url: string;
  /** The port to which webhooks may be sent. */
  webhookPort: number;
  accounts: readonly Account[];
  seed: string;
  /** The calls that are to succeed. */
  operations: number;
  /** Harms the service while clients call, between these numbers of calls. */
  harm: (from: number, to: number, answered: (calls: number) => Promise<void>) => Promise<void>;
}

/** Has clients call until enough has succeeded. Returns all that they did, in the order of the answers. */
export const recordHistory = async ({
  bases,
  url,
  webhookPort,
  accounts,
  seed,
  operations,
  harm,
}: Run): Promise<Entry[]> => {
  const history: Entry[] = [];
  const reached = reachedAt(bases);
  const records = new ActiveRecords();
  const doomed = accounts.at(-1)!;
  const walkers = Array.from({ length: CLIENTS }, (_, client) => {
    const account = accounts[client % USERS]!;
    return new Walker(history, reached, records, client, account, seed, { isDoomed: account === doomed });
  });
  const readers = accounts.map((account, n) => new Session(history, reached, CLIENTS + n, account));
  const followers = [0, 1, 2].map((n) => new Session(history, reached, CLIENTS + USERS + n));
  const [plain, filtering, copying] = followers as [Session, Session, Session];
  const copy = new Copy(copying);
  const endpoint = await Endpoint.listen(webhookPort);
  let [isOver, isEnough] = [false, false];
  const isStopped = (): boolean => isOver;
  const background: Promise<void>[] = [follow(plain, undefined, isStopped), follow(filtering, FILTER, isStopped)];
  let [counted, succeeded] = [0, 0];
  const count = (): number => {
    for (; counted < history.length; counted += 1) {
      const { client, outcome } = history[counted]!;
      if (client < CLIENTS && outcome === 'ok') succeeded += 1;
    }
    return succeeded;
  };
  // The time that a test may take ends it.
  const answered = (calls: number): Promise<void> =>
    until(() => isOver || count() >= calls, { everyMs: 5, withinMs: Number.POSITIVE_INFINITY });
  const end = (): void => {
    [isOver, isEnough] = [true, true];
    for (const one of [...walkers, ...readers, ...followers]) one.close();
  };
  stopAfterTest(end);
  const walk = async (some: readonly Walker[], meanwhile: Promise<unknown>): Promise<void> => {
    isEnough = false;
    const walking = Promise.all(
      some.map(async (walker) => {
        while (!isEnough) await walker.step();
      }),
    );
    await Promise.race([walking, meanwhile]);
    isEnough = true;
    await walking;
  };
  try {
    for (const [n, types] of CHOICES.entries()) await endpoint.subscribe(readers[n]!, types);
    let calls = 0;
    for (const [quiet, part] of MOMENTS.entries()) {
      const [from, to] = [calls, Math.floor(operations * part)];
      calls = to;
      const [isFirst, isLast] = [quiet === 0, quiet === MOMENTS.length - 1];
      const staying = isLast ? walkers.filter(({ user }) => user !== doomed.id) : walkers;
      const sessions = isLast ? readers.filter(({ user }) => user !== doomed.id) : readers;
      if (isFirst) await crowd(history, reached, accounts, seed);
      const remove = async (): Promise<void> => {
        await hide(history, url, readers[0]!);
        await erase(history, url, doomed.id);
      };
      const meanwhile = isFirst ? undefined : isLast ? remove() : harm(from, to, answered);
      await walk(staying, Promise.all([meanwhile, answered(to)]));
      const gone = new Set(
        history.flatMap(creationsIn).flatMap(({ user, record = '' }) => (user === doomed.id ? record : [])),
      );
      if (isLast) {
        records.forget(doomed.id);
        await lookFor(readers[0]!, { user: readers.at(-1)!, owner: walkers[USERS - 1]! }, gone, quiet);
      }
      const events = await readAll(sessions, quiet, { isCalm: isFirst || isLast });
      await endpoint.untilServed(events);
      if (isLast) await endpoint.askAgain(gone.add(doomed.id));
      if (copy.hasBegun) await copy.noteAt(quiet, events);
      if (isFirst) background.push(copy.run(isStopped), hasten(url, isStopped));
    }
  } finally {
    end();
    await Promise.all(background);
    await endpoint.close();
  }
  return history;
};
