import { LRUCache } from 'lru-cache';
import { ContentReads } from '../content/read/reads.ts';
import { closeContext, type Context, openContext } from '../app/context.ts';
import { AppError } from '../base/errors.ts';
import { gameKind } from '../game/kind.ts';
import { Snapshot } from '../db/sqlite/files/snapshot.ts';
import { type Catalogue, catalogueOf } from './catalogue.ts';
import { SeededFaults } from './seeded-faults.ts';
import { fillSandbox, firstIdSince, insertSandboxExamples, referenceOf } from './sandbox.ts';
import type { Answer, Message, send } from '../event/webhook/sender/send.ts';

/** Paths whose endpoints do not accept all messages: `/status/410`, `/flaky`, `/silent`. */
const STATUS = /\/status\/([2-5]\d\d)$/;
const FLAKY = /\/flaky$/;
const SILENT = /\/silent$/;
const MOST_REMEMBERED = 1000;

const answerOf = (status: number, text = ''): Answer => ({ status, text, body: text, retryAfter: undefined });
const noAnswer = (text: string): Answer => ({ status: undefined, text, body: '', retryAfter: undefined });

/** The answer to a message of the type `webhook.challenge`. */
const challengeIn = (body: string): string | undefined =>
  (JSON.parse(body) as { data: { challenge?: string } }).data.challenge;

/**
 * Endpoints of a sandbox, which sends nothing. Each answers the challenge and accepts all messages, unless its path
 * says otherwise: `/status/503` answers with that status, `/flaky` accepts a message only at the second attempt,
 * `/silent` does not answer, not even the challenge.
 */
const scriptedEndpoints = (): typeof send => {
  const tried = new Set<string>();
  return async ({ url, headers, body }: Message): Promise<Answer> => {
    const { pathname } = new URL(url);
    if (SILENT.test(pathname)) return noAnswer('It did not answer within 10 seconds.');
    const challenge = challengeIn(body);
    if (challenge !== undefined) return answerOf(200, JSON.stringify({ challenge }));
    const [, status] = STATUS.exec(pathname) ?? [];
    if (status !== undefined) return answerOf(Number(status));
    const id = headers['webhook-id'] ?? '';
    if (FLAKY.test(pathname) && !tried.has(id)) {
      if (tried.size >= MOST_REMEMBERED) tried.clear();
      tried.add(id);
      return answerOf(503);
    }
    return answerOf(200, 'OK');
  };
};

const HOUR_MS = 3_600_000;
/** The most private spaces at a time, and the idle time after which one is dropped. */
const usual = { most: 64, idleMs: HOUR_MS };
/** After this time new spaces get new dates: the records of the last day would otherwise be older than a day. */
const STALE_MS = 12 * HOUR_MS;
/** Names of callers whose attempts are counted in a space. */
const MAX_NAMES = 1000;
/** The workspace of requests that name none. */
const SHARED = '';

/** A service of its own, with its own data. */
export interface Workspace {
  context: Context;
  /** The number of attempts under a name, including this one. */
  countAttempt: (name: string) => number;
  /** Its random faults, if the sandbox has a seed. */
  seeded: SeededFaults | undefined;
}

/** The initial data of workspaces. */
interface Beginning {
  snapshot: Snapshot;
  /** The lowest id since an instant. */
  firstId: (since: Date) => Buffer;
  catalogue: Catalogue;
}

/** Fills an empty database with the initial data of workspaces. */
const beginIn = async ({ db, routers, lifecycle: { relay } }: Context, reference: Date): Promise<Beginning> => {
  await db.migrate();
  await fillSandbox(db, reference);
  await relay.moveNow();
  await insertSandboxExamples(db, reference, routers.webhook.secrets);
  const catalogue = await catalogueOf(db, reference);
  return { snapshot: new Snapshot(db.dataSource), firstId: firstIdSince(reference), catalogue };
};

/** A space on an existing service. */
export const workspaceOn = (context: Context, name = SHARED): Workspace => {
  const { sandboxSeed: seed } = context.config;
  const attempts = new LRUCache<string, number>({ max: MAX_NAMES });
  return {
    context,
    countAttempt: (attempted) => {
      const count = (attempts.get(attempted) ?? 0) + 1;
      attempts.set(attempted, count);
      return count;
    },
    seeded: seed === undefined ? undefined : new SeededFaults(seed, name),
  };
};

/** Ends the subscriptions in a workspace, and refuses new ones. */
const stopTails = ({ context }: Workspace): void => context.lifecycle.stopping.abort();

/** Keeps a workspace until it is dropped and its last request has ended. */
class Held {
  readonly workspace: Promise<Workspace>;
  #inside = 0;
  #isDropped = false;
  readonly #close: () => void;

  constructor(workspace: Promise<Workspace>, close: () => void) {
    this.workspace = workspace;
    this.#close = close;
  }

  get isBusy(): boolean {
    return this.#inside > 0;
  }

  async within<T>(work: (workspace: Workspace) => Promise<T>): Promise<T> {
    this.#inside += 1;
    try {
      return await work(await this.workspace);
    } finally {
      this.#inside -= 1;
      this.#closeIfOver();
    }
  }

  drop(): void {
    this.#isDropped = true;
    this.#closeIfOver();
  }

  #closeIfOver(): void {
    if (this.#isDropped && !this.isBusy) this.#close();
  }
}

/**
 * The spaces of a sandbox: a shared one for requests that name none, and private ones, made when first named. Each
 * starts as a copy of the data of `fillSandbox`, and has its own database, caches and counts.
 */
export class SandboxWorkspaces {
  readonly #main: Context;
  #beginning: Promise<Beginning>;
  #reference: Date;
  #shared: Held | undefined;
  readonly #private: LRUCache<string, Held>;
  readonly #most: number;
  /** All spaces, including dropped ones with a request in progress. */
  readonly #live = new Set<Held>();
  readonly #closing = new Set<Promise<void>>();

  private constructor(main: Context, reference: Date, beginning: Beginning, { most, idleMs }: typeof usual) {
    this.#main = main;
    this.#reference = reference;
    this.#beginning = Promise.resolve(beginning);
    this.#most = most;
    this.#private = new LRUCache({
      max: most,
      ttl: idleMs,
      updateAgeOnGet: true,
      ttlAutopurge: true,
      dispose: (held) => held.drop(),
    });
    // A listener for each space would keep it in memory for ever.
    main.lifecycle.stopping.signal.addEventListener('abort', () => {
      for (const { workspace } of this.#live) void workspace.then(stopTails).catch(() => undefined);
    });
  }

  /** Makes the initial data of workspaces in the empty database of `main`, which must not be changed otherwise. */
  static async open(main: Context, kept: Partial<typeof usual> = {}): Promise<SandboxWorkspaces> {
    const reference = referenceOf(main.now());
    return new SandboxWorkspaces(main, reference, await beginIn(main, reference), { ...usual, ...kept });
  }

  /**
   * Runs `work`, a request, in a space, which stays until it is done.
   * @throws AppError OVERLOADED for a new space, if the maximum number of spaces have a request in progress
   */
  async within<T>(name: string | undefined, work: (workspace: Workspace) => Promise<T>): Promise<T> {
    return this.#find(name ?? SHARED).within(work);
  }

  /** Discards all changes in a space. */
  reset(name = SHARED): void {
    if (name !== SHARED) this.#private.delete(name);
    else {
      this.#shared?.drop();
      this.#shared = undefined;
    }
  }

  /** The contents of a workspace created now. */
  async catalogue(): Promise<Catalogue> {
    return (await this.#upToDate()).catalogue;
  }

  /** Closes all spaces. */
  async close(): Promise<void> {
    this.reset();
    this.#private.clear();
    await Promise.all(this.#closing);
    (await this.#beginning).snapshot.close();
  }

  #find(name: string): Held {
    const known = name === SHARED ? this.#shared : this.#private.get(name);
    if (known) return known;
    this.#makeRoom(name);
    const made: Held = new Held(this.#make(name), () => {
      this.#live.delete(made);
      void made.workspace.then(({ context }) => this.#leave(context)).catch(() => undefined);
    });
    this.#live.add(made);
    // The next request tries again.
    made.workspace.catch(() => this.reset(name));
    if (name === SHARED) this.#shared = made;
    else this.#private.set(name, made);
    return made;
  }

  /** Drops the least recently used idle space if a new one would exceed the maximum. */
  #makeRoom(name: string): void {
    // The shared space does not count.
    const most = name === SHARED ? this.#most + 1 : this.#most;
    if (this.#live.size - (this.#shared ? 1 : 0) < most) return;
    for (const other of this.#private.rkeys()) {
      if (this.#private.peek(other)?.isBusy) continue;
      this.#private.delete(other);
      return;
    }
    throw new AppError('OVERLOADED', {
      hint:
        `The sandbox has at most ${this.#most} private spaces, and each has a request in it. ` +
        'Try again when one has ended, or name one of those.',
    });
  }

  async #make(name: string): Promise<Workspace> {
    const { config, log, now, protection, observer, lifecycle } = this.#main;
    const opened = await openContext(config, log, now, undefined, { deliver: scriptedEndpoints() });
    const { overload } = protection;
    const context: Context = {
      ...opened,
      protection: { ...opened.protection, overload },
      observer,
    };
    if (lifecycle.stopping.signal.aborted) context.lifecycle.stopping.abort();
    try {
      const { db, routers } = context;
      const { snapshot, firstId } = await this.#upToDate();
      snapshot.fill(db.dataSource);
      context.lifecycle.indexer.start();
      context.lifecycle.relay.start();
      context.lifecycle.sender.start();
      // Lists of image posts have no time range.
      const reads: typeof routers.game.reads = new ContentReads(db, routers.game.tags, routers.user.search, {
        ...gameKind,
        firstId,
      });
      return workspaceOn({ ...context, routers: { ...routers, game: { ...routers.game, reads } } }, name);
    } catch (error) {
      this.#leave(context);
      throw error;
    }
  }

  /** The initial data of a workspace created now. */
  #upToDate(): Promise<Beginning> {
    const now = this.#main.now();
    if (now.getTime() - this.#reference.getTime() >= STALE_MS) {
      this.#reference = referenceOf(now);
      this.#beginning = this.#replace(this.#beginning);
    }
    return this.#beginning;
  }

  async #replace(old: Promise<Beginning>): Promise<Beginning> {
    const { config, log, now } = this.#main;
    const context = await openContext(config, log, now);
    try {
      const made = await beginIn(context, this.#reference);
      (await old).snapshot.close();
      return made;
    } finally {
      await closeContext(context);
    }
  }

  #leave(context: Context): void {
    const closing = closeContext(context).finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }
}

/** The spaces of a sandbox, as requests need them. */
export type Workspaces = Pick<SandboxWorkspaces, 'within' | 'reset' | 'catalogue'>;
