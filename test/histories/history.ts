import { createHash } from 'node:crypto';
import { errors, type Reason } from '../../contract/index.ts';
import { performance } from '../../src/base/runtime.ts';
import type { ProcedureId } from '../harness/app/app.ts';
import type { Ending } from '../harness/app/client.ts';

/** A record or user as an answer shows it, without what no check reads. */
export interface Seen {
  /** The cover of a game, the first image of a post: no other record has the same, and no update changes it. */
  mark?: string;
  id?: string;
  title?: string;
  nickname?: string;
  avatar?: string | null;
  gameType?: string | null;
  authorId?: string;
  authorName?: string;
  /** The slugs of its tags, in their order, with commas. */
  tags?: string;
  viewCount?: number;
  favorited?: boolean;
  reaction?: 'like' | 'dislike' | null;
  favoriteCount?: number;
  likeCount?: number;
  dislikeCount?: number;
  gameCount?: number;
  imagePostCount?: number;
  updatedAt?: string;
  viewer?: { favorited: boolean; reaction: 'like' | 'dislike' | null } | null;
}

/** An event as the feed shows it. */
export interface SeenEvent {
  id: string;
  position: number;
  type: string;
  record: string;
  actorId: string | null;
}

/**
 * An operation of a client: all attempts of a call under one Idempotency-Key are one. Times are microseconds of one clock.
 * Besides the calls there are the messages that endpoints of webhooks took, copies by the feed, the records that an operator hid, and
 * the erasure of a user.
 */
export interface Entry {
  client: number;
  operation: ProcedureId | 'message' | 'copy' | 'hiding' | 'erasure';
  /** The id of the caller; empty without a key. */
  user: string;
  /** The id of the record or user that it is about; of a creation, as answered. */
  record?: string;
  input: Record<string, unknown>;
  /** Of a creation: the mark of the record, which no other one has. */
  mark?: string;
  key?: string;
  /** Set where the same client sent the same key before: with the same input, or with another one. */
  repeats?: 'same input' | 'other input';
  call: number;
  return: number;
  attempts: number;
  /** Refused: nothing was stored, by the promise of the reason. */
  outcome: 'ok' | 'refused' | 'unknown';
  /** Of the last attempt; `ok` for a success. */
  reason: string;
  output?: Seen;
  /** The records or users that an answer shows, in its order. */
  items?: readonly Seen[];
  /** Of a list: how many there are in all, unless it counted no further. */
  total?: number;
  /** Whether the answer shows a text of the user who is erased. */
  isTraced?: boolean;
  /** The hash of the answer's text, and whether the answer was a repetition. */
  answer?: string;
  isReplayed?: boolean;
  /** The ids in the order of a walk of a list to its end. */
  walked?: readonly string[];
  /** The events of a page of the feed, or of all its pages. */
  events?: readonly SeenEvent[];
  /** The counts of types. */
  types?: Readonly<Record<string, number>>;
  /** The number of a moment at which no client wrote. */
  quiet?: number;
  /** Of a quiet moment: whether nothing was harmed since the one before. */
  isCalm?: boolean;
  /** Of a message: its `webhook-id`, and whether it was signed. */
  messageId?: string;
  isSigned?: boolean;
}

interface Marked {
  images?: readonly string[];
  coverUrl?: string | null;
  title?: string;
}

/** What identifies a record for good: the cover of a game, the first image of a post; without one, the title. */
export const markOf = ({ images, coverUrl, title }: Marked): string => images?.[0] ?? coverUrl ?? title ?? '';

/** The records that an entry was to publish, each as an entry; none for a repetition. */
export const creationsIn = (entry: Entry): Entry[] => {
  const [, name] = entry.operation.split('.');
  if (entry.repeats !== undefined) return [];
  if (name === 'create') return entry.mark === undefined ? [] : [entry];
  if (name !== 'batchCreate') return [];
  const { items, input, ...rest } = entry;
  const { games = [], posts = [] } = input as { games?: Entry['input'][]; posts?: Entry['input'][] };
  return [...games, ...posts].map((one, n) => {
    const output = items?.[n];
    return {
      ...rest,
      input: one,
      mark: markOf(one),
      ...(output?.id !== undefined && { record: output.id, output }),
    };
  });
};

/** The entry with each record that it shows as a read of its own. */
export const readsIn = ({ items, ...entry }: Entry): Entry[] =>
  items === undefined ? [entry] : items.map((output) => ({ ...entry, record: output.id ?? '', output }));

/** The erasure of a user, if there was one. */
export const erasureIn = (history: readonly Entry[]): Entry | undefined =>
  history.find(({ operation }) => operation === 'erasure');

/** When records were deleted, hidden, or erased with the user who published them. */
export interface Ends {
  /** When a record may have ended at the earliest. */
  earliest: (record: string | undefined) => number;
  /** When a record had ended for certain. */
  latest: (record: string | undefined) => number;
}

export const isDeletion = ({ operation, repeats }: Entry): boolean =>
  /^(?:game|image)\.delete$/.test(operation) && repeats === undefined;

/** The ends of the records of a history. */
export const endsIn = (history: readonly Entry[]): Ends => {
  const [earliest, latest] = [new Map<string, number>(), new Map<string, number>()];
  const note = (record: string | undefined, { call, return: end, outcome }: Entry): void => {
    if (record === undefined || outcome === 'refused') return;
    earliest.set(record, Math.min(call, earliest.get(record) ?? call));
    if (outcome === 'ok') latest.set(record, Math.min(end, latest.get(record) ?? end));
  };
  const erasure = erasureIn(history);
  for (const entry of history) {
    if (isDeletion(entry) || entry.operation === 'hiding') note(entry.record, entry);
    if (erasure && entry.user === erasure.user) for (const { record } of creationsIn(entry)) note(record, erasure);
  }
  return {
    earliest: (record = '') => earliest.get(record) ?? Number.POSITIVE_INFINITY,
    latest: (record = '') => latest.get(record) ?? Number.POSITIVE_INFINITY,
  };
};

/** A finding: the check, what it found, and the entries that show it. */
export interface Anomaly {
  check: string;
  found: string;
  entries: readonly Entry[];
}

/** All that a history has against one promise. */
export type Check = (history: readonly Entry[]) => Anomaly[];

/** Notes a finding, with the entries that show it. */
type Note = (found: string, entries: readonly Entry[]) => void;

/** A check by its name: `look` notes what it finds in a history. */
export const checkOf =
  (check: string, look: (history: readonly Entry[], note: Note) => void): Check =>
  (history) => {
    const anomalies: Anomaly[] = [];
    look(history, (found, entries) => anomalies.push({ check, found, entries }));
    return anomalies;
  };

export const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 22);

/** Microseconds of a clock that never goes back. */
export const microseconds = (): number => Math.round(performance.now() * 1000);

/** An entry of what is no call, and ends now. */
export const entryOf = (operation: Entry['operation'], more: Partial<Entry> = {}): Entry => {
  const now = microseconds();
  const ended = { call: now, return: now, attempts: 1, outcome: 'ok', reason: 'ok' } as const;
  return { client: 0, operation, user: '', input: {}, ...ended, ...more };
};

/** Whether an attempt that did not succeed may have stored something, by the promise of its reason. */
export const outcomeOf = (ending: Ending, reason: string): Entry['outcome'] => {
  if (reason === 'ok') return 'ok';
  if (ending.kind === 'refused') return 'refused';
  if (ending.kind !== 'answered' || !Object.hasOwn(errors, reason)) return 'unknown';
  const { retry } = errors[reason as Reason];
  return retry === 'with-idempotency-key' || retry === 'after-a-pause' ? 'unknown' : 'refused';
};

const seconds = (time: number): string => (time / 1e6).toFixed(4);

/** An entry as a line. */
const lineOf = ({ client, user, operation, record, input, key, reason, outcome, output, ...entry }: Entry): string =>
  [
    `${seconds(entry.call)}–${seconds(entry.return)} s`,
    `client ${client}${user && ` of user ${user.slice(-6)}`}`,
    `${operation}${record ? ` of ${record}` : ''}`,
    JSON.stringify(input),
    ...(key === undefined ? [] : [`key ${key}`]),
    `${outcome}${reason === outcome ? '' : ` ${reason}`}${entry.attempts > 1 ? ` after ${entry.attempts} attempts` : ''}`,
    ...(output ? [JSON.stringify(output)] : []),
  ].join(', ');

const SHOWN = 8;

/** An anomaly in lines: what was found, and the first of its entries. */
export const wordsOf = ({ check, found, entries }: Anomaly): string =>
  [`${check}: ${found}`, ...entries.slice(0, SHOWN).map((entry) => `  ${lineOf(entry)}`)].join('\n');
