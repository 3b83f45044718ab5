import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ProcedureId } from '../app/app.ts';
import { type Ending, openClient, reasonIn } from '../app/client.ts';
import { idIn, withDatabase } from '../http/load.ts';
import { until } from '../until.ts';
import { PLANTED } from '../documents/secrets.ts';
import { stopAfterTest } from './running.ts';
import { type Bytes, idFromBytes } from '../../../src/db/values.ts';

// Callers as integrators write them, and what became of what they were told.

/** How a request ended, and when. */
export interface Attempt {
  procedure: ProcedureId;
  /** Of a write: the title of the game that it publishes, or the id of the one that it toggles. */
  about?: string;
  /** Its Idempotency-Key. */
  key?: string | undefined;
  /** Which of the callers sent it. */
  caller: number;
  /** When it was sent, as `performance.now()` counts. */
  at: number;
  ms: number;
  /** `ok`, the reason of the refusal, or what broke. */
  outcome: string;
  ending: Ending;
}

export interface CallersOptions {
  count: number;
  /**
   * Whether they obey refusals: they wait for Retry-After, and repeat the same request with the same Idempotency-Key until
   * they are told that it is done. Those that do not obey go on to another request at once, without such a key.
   */
  obedient: boolean;
  /** How long they wait for an answer. */
  patienceMs?: number;
  /** Rest between two requests, milliseconds. */
  restMs?: number;
}

/** Callers at work. */
export interface Callers {
  /** How the titles of their games begin. */
  prefix: string;
  attempts: readonly Attempt[];
  /** What was acknowledged: the id of each game, by its title, which no other has. */
  acknowledged: ReadonlyMap<string, string>;
  /** Resolves when this many further requests have succeeded. @throws Error after four minutes without them */
  succeeded(more: number): Promise<void>;
  /** Has each of them finish what it is at: one that obeys goes on until that is done. */
  stop(): Promise<void>;
}

const REST_AFTER_BREAK_MS = 100;
const LONGEST_REST_MS = 2000;
/** How long callers wait for an answer. */
const PATIENCE_MS = 20_000;
const SUCCESS_MS = 240_000;

let started = 0;

/** Whether a caller that obeys repeats the request. */
const isWorthRepeating = (ending: Ending): boolean => {
  if (ending.kind !== 'answered') return true;
  const said = ending.headers['x-should-retry'];
  return said === undefined ? ending.status === 503 || ending.status === 429 : said === 'true';
};

const restAfter = (ending: Ending): number => {
  const seconds = ending.kind === 'answered' ? Number(ending.retryAfter) : Number.NaN;
  return Number.isNaN(seconds) ? REST_AFTER_BREAK_MS : Math.min(seconds * 1000, LONGEST_REST_MS);
};

/** Calls one procedure until it is done, or once. Returns the answer, if there was one. */
const callerOf = (base: string, key: string, options: CallersOptions, attempts: Attempt[], number: number) => {
  const client = openClient(base, key, { patienceMs: options.patienceMs ?? PATIENCE_MS });
  let isAbandoned = false;
  stopAfterTest(() => {
    isAbandoned = true;
    client.close();
  });
  return {
    call: async (procedure: ProcedureId, about: string, input: unknown): Promise<string | undefined> => {
      const idempotencyKey = options.obedient ? randomUUID() : undefined;
      const headers = idempotencyKey === undefined ? undefined : { 'Idempotency-Key': idempotencyKey };
      for (;;) {
        const at = performance.now();
        const ending = await client.call(procedure, input, headers);
        const ms = performance.now() - at;
        attempts.push({
          procedure,
          about,
          key: idempotencyKey,
          caller: number,
          at,
          ms,
          outcome: reasonIn(ending),
          ending,
        });
        if (ending.kind === 'answered' && ending.status === 200) return ending.text;
        if (ending.kind === 'refused') await sleep(REST_AFTER_BREAK_MS);
        if (isAbandoned) throw new Error('the test has ended');
        if (!options.obedient || !isWorthRepeating(ending)) return undefined;
        await sleep(restAfter(ending));
      }
    },
    close: () => client.close(),
  };
};

/** How many requests ended how, in words. */
const outcomesInWords = (attempts: readonly Attempt[]): string => {
  const counts: Record<string, number> = {};
  for (const { outcome } of attempts) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return Object.entries(counts)
    .map(([outcome, count]) => `${outcome} ${count}`)
    .join(', ');
};

/** `succeeded` of callers whose attempts are these. */
const waiter =
  (attempts: readonly Attempt[]) =>
  async (more: number): Promise<void> => {
    const count = () => attempts.reduce((sum, { outcome }) => sum + (outcome === 'ok' ? 1 : 0), 0);
    const [wanted, deadline] = [count() + more, performance.now() + SUCCESS_MS];
    while (count() < wanted) {
      if (performance.now() > deadline)
        throw new Error(`Of ${more} requests ${count() - wanted + more} succeeded: ${outcomesInWords(attempts)}.`);
      await sleep(10);
    }
  };

/** Has each caller take its turns, with a rest in between, until they are stopped. Returns what stops them. */
export const untilStopped = (
  callers: readonly { turn: (n: number) => Promise<void>; close: () => void }[],
  restMs = 0,
): (() => Promise<void>) => {
  let isStopped = false;
  stopAfterTest(() => (isStopped = true));
  const run = async ({ turn, close }: (typeof callers)[number]): Promise<void> => {
    for (let n = 0; !isStopped; n += 1) {
      await turn(n);
      if (restMs > 0) await sleep(restMs);
    }
    close();
  };
  const done = Promise.all(callers.map(run));
  // `stop` rejects with it.
  done.catch(() => undefined);
  return async () => {
    isStopped = true;
    await done;
  };
};

/** Publishes games at the service of `base`. */
export const startWriters = (base: string, key: string, options: CallersOptions): Callers => {
  const attempts: Attempt[] = [];
  const acknowledged = new Map<string, string>();
  const prefix = `load ${(started += 1)}, `;
  const writers = Array.from({ length: options.count }, (_, writer) => {
    const { call, close } = callerOf(base, key, options, attempts, writer);
    const turn = async (n: number): Promise<void> => {
      const title = `${prefix}writer ${writer}, ${n}`;
      const answer = await call('game.create', title, {
        title,
        description: PLANTED,
        gameType: `T${n % 3}`,
        tagNames: ['load', `tag ${(writer + n) % 5}`],
      });
      if (answer !== undefined) acknowledged.set(title, idIn(answer));
    };
    return { turn, close };
  });
  const stop = untilStopped(writers, options.restMs);
  return { prefix, attempts, acknowledged, succeeded: waiter(attempts), stop };
};

/** What the favourites of one user on games of their own were acknowledged to be, in turn. */
export interface Togglers extends Callers {
  /** For each caller, the game and the states it was told. */
  states: readonly { gameId: string; told: boolean[] }[];
}

/** Each caller toggles the favourite on a game of its own: told twice the same in a row, one toggle was lost or doubled. */
export const startTogglers = async (base: string, key: string, options: CallersOptions): Promise<Togglers> => {
  const attempts: Attempt[] = [];
  const acknowledged = new Map<string, string>();
  const states: { gameId: string; told: boolean[] }[] = [];
  const prefix = `load ${(started += 1)}, `;
  const begin = async (toggler: number) => {
    const { call, close } = callerOf(base, key, options, attempts, toggler);
    const title = `${prefix}toggler ${toggler}`;
    const made = await call('game.create', title, { title });
    if (made === undefined) throw new Error(`No game to toggle: ${attempts.at(-1)?.outcome}`);
    const gameId = idIn(made);
    const told: boolean[] = [];
    acknowledged.set(title, gameId);
    states.push({ gameId, told });
    const turn = async (): Promise<void> => {
      const answer = await call('game.toggleFavorite', gameId, { gameId });
      if (answer === undefined) return;
      const { result } = JSON.parse(answer) as { result: { data: { json: { favorited: boolean } } } };
      told.push(result.data.json.favorited);
    };
    return { turn, close };
  };
  const togglers = await Promise.all(Array.from({ length: options.count }, (_, toggler) => begin(toggler)));
  const stop = untilStopped(togglers, options.restMs);
  return { prefix, attempts, acknowledged, states, succeeded: waiter(attempts), stop };
};

/** What was acknowledged, held against what is stored. */
export interface Audit {
  /** Acknowledged, and not stored under the id that was told. */
  lost: number;
  /** Stored more than once, or toggled more or less than once. */
  duplicated: number;
  /** Stored, and not acknowledged: callers that obey leave none. */
  unacknowledged: number;
  /** What was asked and answered, request by request, of all that is not as it was acknowledged. */
  histories: string[];
}

/** The places at which the same was told twice in a row. */
const repeated = (told: readonly boolean[]): number[] =>
  told.flatMap((state, n) => (state === (told[n - 1] ?? false) ? [n] : []));

const TEXT_SHOWN = 300;

/** The requests about a game, one a line. */
const historyOf = (about: string, attempts: readonly Attempt[], found: string): string =>
  [
    `${about}: ${found}`,
    ...attempts
      .filter((attempt) => attempt.about === about)
      .map(({ procedure, key, at, ms, outcome, ending }) => {
        const text = ending.kind === 'answered' ? ending.text.slice(0, TEXT_SHOWN) : '';
        return `  ${Math.round(at)} + ${Math.round(ms)} ms, ${procedure}, ${key ?? 'no key'}: ${outcome} ${text}`;
      }),
  ].join('\n');

/** Looks in the database for everything that callers were told, and whether it is there once. Stop the callers first. */
export const audit = async (url: string, ...loads: readonly (Callers | Togglers)[]): Promise<Audit> => {
  const rows = await withDatabase(url, (db) => db.read<{ id: Bytes; title: string }>('SELECT id, title FROM games'));
  const stored = new Map<string, string[]>();
  const isTheirs = (title: string) => loads.some(({ prefix }) => title.startsWith(prefix));
  for (const { id, title } of rows)
    if (isTheirs(title)) stored.set(title, [...(stored.get(title) ?? []), idFromBytes(id)]);
  const attempts = loads.flatMap((load) => load.attempts);
  const histories: string[] = [];
  const note = (about: string, found: string) => histories.push(historyOf(about, attempts, found));
  let [lost, duplicated, unacknowledged] = [0, 0, 0];
  const titles = new Set(loads.flatMap((load) => [...load.acknowledged.keys()]));
  for (const [title, ids] of stored) {
    duplicated += ids.length - 1;
    if (ids.length > 1) note(title, `stored ${ids.length} times, as ${ids.join(', ')}`);
    if (titles.has(title)) continue;
    unacknowledged += 1;
    note(title, 'stored, and not acknowledged');
  }
  for (const load of loads) {
    for (const [title, id] of load.acknowledged) {
      if (stored.get(title)?.includes(id)) continue;
      lost += 1;
      note(title, `not stored as ${id}`);
    }
    for (const { gameId, told } of 'states' in load ? load.states : []) {
      const places = repeated(told);
      duplicated += places.length;
      if (places.length > 0) note(gameId, `told the same as before by answers ${places.join(', ')}, of ${told.length}`);
    }
  }
  return {
    lost,
    duplicated,
    unacknowledged,
    histories,
  };
};

/** The requests, in words, that ended otherwise than in one of `outcomes`; the first ten. */
export const strayOf = (attempts: readonly Attempt[], outcomes: readonly string[]): string[] =>
  attempts
    .filter(({ outcome }) => !outcomes.includes(outcome))
    .slice(0, 10)
    .map(({ procedure, outcome, ms }) => `${procedure}: ${outcome} after ${Math.round(ms)} ms`);

/** Resolves when each of so many callers has ended so many requests that it sent after `since`. */
export const eachEnded = async (
  attempts: readonly Attempt[],
  callers: number,
  since: number,
  times: number,
): Promise<void> => {
  const enough = (): number => {
    const counts = new Map<number, number>();
    for (const { caller, at } of attempts) if (at >= since) counts.set(caller, (counts.get(caller) ?? 0) + 1);
    return [...counts.values()].filter((count) => count >= times).length;
  };
  await until(() => enough() === callers, { withinMs: Number.POSITIVE_INFINITY });
};
