import type { Transaction } from '../../db/connection.ts';
import type { Database } from '../../db/database.ts';
import { AMONG_LOCKS, GroupCommit } from '../../db/batching/group-commit.ts';
import { inList, padded, placeholders } from '../../db/sql/in-list.ts';
import { memoizeBySize } from '../../base/cache.ts';
import { type Bytes, idFromBytes, newId, storedIdToBytes } from '../../db/values.ts';
import { AppError } from '../../base/errors.ts';
import { type IdempotentCall, showing, type ShownRows } from '../../auth/idempotency/call.ts';
import { doTogether, type WriteResult, type Writes } from '../../auth/idempotency/writes.ts';
import { type ChargeQuota, quotaChecker, type Quota } from '../../auth/quotas.ts';
import type { Caller } from '../../auth/verifier.ts';
import type { Call } from '../../auth/procedure.ts';
import {
  findTags,
  MERGED,
  seekTags,
  SOUGHT_TAG,
  type SoughtTag,
  type SoughtTags,
  spellingsOf,
  type Tag,
} from '../tag/service.ts';
import type { ContentKind } from '../kind.ts';
import { type Draft, namesIn, store, type Stored } from './publish.ts';
import type { ContentRecord, ViewerState } from '../records.ts';

interface Author {
  nickname: string;
  avatar: string | null;
  suspendedAt: string | null;
}

/** The author's favorite and reaction on a new record: none. */
const UNTOUCHED: ViewerState = { favorited: 0, reaction: null };

/** A new record in the form that a read returns. */
const recordOf = <Own extends object>(
  { row, tags }: Stored<Own>,
  { nickname, avatar }: Author,
): ContentRecord<Own> => ({
  row: Object.assign(row, { authorNickname: nickname, authorAvatar: avatar }),
  tags,
  viewing: UNTOUCHED,
});

/** Why a user may not publish: the user may have been deleted with the key, or suspended, since authentication. */
const refusalOf = (author: Author | undefined): AppError | undefined => {
  if (!author) return new AppError('KEY_UNKNOWN');
  return author.suspendedAt === null ? undefined : new AppError('USER_SUSPENDED');
};

/** SQL: creates that are stored together read their authors by it. */
const readAuthors = async (tx: Transaction, ids: ReadonlySet<string>): Promise<Map<string, Author>> => {
  const { sql, parameters } = inList([...ids].map(storedIdToBytes));
  const rows = await tx.read<Author & { id: Bytes }>(
    `SELECT id, nickname, avatar, suspended_at AS suspendedAt FROM users WHERE id IN (${sql})`,
    parameters,
  );
  return new Map(rows.map((row) => [idFromBytes(row.id), row]));
};

/** SQL: each create reads its author and its tags, in one round trip. */
const authorAndTags = memoizeBySize(
  (n) => `SELECT u.nickname, u.avatar, u.suspended_at AS suspendedAt, ${SOUGHT_TAG}
  FROM users u LEFT JOIN tags t ON t.slug IN (${placeholders(n)}) ${MERGED} WHERE u.id = ?`,
);

/** With more tags than this, it costs too much to repeat the author's columns for each tag. */
const MAX_JOINED_TAGS = 32;

const readAuthorAndTags = async (
  tx: Transaction,
  authorId: string,
  slugs: readonly string[],
): Promise<{ author: Author | undefined; found: Map<string, Tag> }> => {
  if (slugs.length === 0 || slugs.length > MAX_JOINED_TAGS) {
    const authors = await readAuthors(tx, new Set([authorId]));
    return { author: authors.get(authorId), found: await findTags(tx, slugs) };
  }
  const among = padded(slugs);
  const rows = await tx.read<Author & SoughtTag>(authorAndTags(among.length), [...among, storedIdToBytes(authorId)]);
  const tags = rows.filter(({ sought }) => sought !== null);
  return { author: rows[0], found: new Map(tags.map(({ sought, id, name, slug }) => [sought, { id, name, slug }])) };
};

/** A draft and its author. */
interface Authored<Own extends object> {
  authorId: string;
  draft: Draft<Own>;
}

/** Stores new records, dated `now`, and returns them as a read would, in the order of the drafts. */
const storeDrafts = async <Own extends object>(
  tx: Transaction,
  kind: ContentKind,
  drafts: readonly Authored<Own>[],
  { authors, sought, now }: { authors: ReadonlyMap<string, Author>; sought: SoughtTags; now: Date },
  chargeQuota: ChargeQuota | undefined,
): Promise<ContentRecord<Own>[]> => {
  const publications = drafts.map(({ authorId, draft }) => ({
    id: draft.id ?? newId(now),
    authorId,
    createdAt: now,
    draft,
  }));
  const stored = await store(tx, kind, publications, sought, { chargeQuota, isByAuthors: true, at: now });
  return stored.map((one, index) => recordOf(one, authors.get(drafts[index]!.authorId)!));
};

/**
 * Stores new records of an author, dated `now`, and returns them as a read would, in the order of the drafts. New tags
 * and types count against `quota`. @throws AppError KEY_UNKNOWN, USER_SUSPENDED, QUOTA_EXCEEDED
 */
export const publish = async <Own extends object>(
  tx: Transaction,
  kind: ContentKind,
  authorId: string,
  drafts: readonly Draft<Own>[],
  now: Date,
  quota?: Quota,
): Promise<ContentRecord<Own>[]> => {
  const authored = drafts.map((draft) => ({ authorId, draft }));
  const spellings = spellingsOf(namesIn(authored));
  const { author, found } = await readAuthorAndTags(tx, authorId, [...spellings.keys()]);
  const refusal = refusalOf(author);
  if (refusal || !author) throw refusal;
  const read = { authors: new Map([[authorId, author]]), sought: { spellings, found }, now };
  return storeDrafts(tx, kind, authored, read, quotaChecker(tx, quota));
};

/** A call that publishes one record. */
interface Creation extends Authored<object> {
  kind: ContentKind;
  quota: Quota | undefined;
  idempotent: IdempotentCall | undefined;
  /** Builds the output. */
  view: (record: ContentRecord<never>) => unknown;
}

/** Thrown if calls cannot be stored together: `GroupCommit` then stores them in smaller groups. */
class GroupRejected extends Error {}

/**
 * Counts the new tags of several calls, each for the first user who uses it. Quotas are always locked in the same
 * order. Calls that exceed a quota, and the rare calls with new types, are stored in smaller groups instead.
 * @throws GroupRejected
 */
const quotaCheckerOfAll = (
  tx: Transaction,
  creations: readonly Creation[],
  found: ReadonlyMap<string, Tag>,
): ChargeQuota | undefined => {
  if (creations.every(({ quota }) => quota === undefined)) return undefined;
  return async (part) => {
    if (part !== 'tags') throw new GroupRejected();
    const claimed = new Set<string>();
    const made = new Map<string, { quota: Quota; n: number }>();
    for (const { draft, quota } of creations) {
      const own = [...spellingsOf(draft.tagNames).keys()].filter((slug) => !found.has(slug) && !claimed.has(slug));
      for (const slug of own) claimed.add(slug);
      if (quota && own.length > 0) {
        made.set(quota.userId, { quota, n: own.length + (made.get(quota.userId)?.n ?? 0) });
      }
    }
    try {
      for (const [, { quota, n }] of [...made].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
        await quotaChecker(tx, quota)?.('tags', n);
      }
    } catch (error) {
      throw error instanceof AppError && error.reason === 'QUOTA_EXCEEDED' ? new GroupRejected() : error;
    }
  };
};

/** Stores the records of several calls together. @throws GroupRejected */
const publishTogether = async (tx: Transaction, creations: readonly Creation[], now: Date): Promise<WriteResult[]> => {
  const { kind, authorId, draft, quota, view: viewOfOne } = creations[0]!;
  if (creations.length === 1) {
    const [record] = await publish(tx, kind, authorId, [draft], now, quota);
    return [{ output: viewOfOne(record as ContentRecord<never>) }];
  }
  const authors = await readAuthors(tx, new Set(creations.map((creation) => creation.authorId)));
  const refusals = creations.map((creation) => refusalOf(authors.get(creation.authorId)));
  const accepted = creations.filter((_, index) => refusals[index] === undefined);
  if (accepted.length === 0) return refusals as AppError[];
  const sought = await seekTags(tx, namesIn(accepted));
  const chargeQuota = quotaCheckerOfAll(tx, accepted, new Map(sought.found));
  const records = await storeDrafts(tx, kind, accepted, { authors, sought, now }, chargeQuota);
  const outputs = accepted.map(({ view }, index) => ({ output: view(records[index] as ContentRecord<never>) }));
  const done = outputs.values();
  return refusals.map((refusal) => refusal ?? done.next().value!);
};

const sizeOf = ({ draft }: Creation): number =>
  Object.values(draft.own).reduce(
    (size: number, value: unknown) => size + (typeof value === 'string' ? value.length : 0),
    0,
  );

/** The part of a publishing call's response that is read here. */
interface Answer {
  result: { data: { json: { id: string } | { items: { id: string }[] } } };
}

/** The ids of the records in the response of a publishing call. */
const publishedRows = ({ table }: ContentKind): ShownRows => ({
  table,
  idsIn: (answer) => {
    const { json } = (JSON.parse(answer) as Answer).result.data;
    return 'items' in json ? json.items.map(({ id }) => id) : [json.id];
  },
  gone: 'IDEMPOTENCY_GONE',
});

/**
 * Publishes records. Concurrent calls of one kind are stored together: they share counters of authors, tags and totals.
 */
export class Publisher {
  readonly #writes: Writes;
  readonly #now: () => Date;
  readonly #quotaOf: (caller: Caller) => Quota | undefined;
  readonly #groups: GroupCommit<Creation, WriteResult>;

  /** `quotaOf` returns the daily quota of a caller; undefined if callers have no limits. */
  constructor(db: Database, writes: Writes, now: () => Date, quotaOf: (caller: Caller) => Quota | undefined) {
    this.#writes = writes;
    this.#now = now;
    this.#quotaOf = quotaOf;
    this.#groups = new GroupCommit(
      (creations, deadline, onCommit) => doTogether(db, creations, { now, deadline, onCommit }, publishTogether),
      { ...AMONG_LOCKS, sizeOf },
    );
  }

  /**
   * Publishes one record of the caller; `view` builds the output from it.
   * @throws AppError KEY_UNKNOWN, USER_SUSPENDED, QUOTA_EXCEEDED, OVERLOADED, and as `Writes.do`
   */
  create<Own extends object, Output>(
    kind: ContentKind,
    draft: Draft<Own>,
    { caller, deadline, idempotent: call }: Call<Caller>,
    view: (record: ContentRecord<Own>) => Output,
  ): Promise<Output> {
    const idempotent = showing(call, publishedRows(kind));
    const creation: Creation = { kind, authorId: caller.userId, draft, quota: this.#quotaOf(caller), idempotent, view };
    // Idempotent calls form separate groups: only their transactions are retried after an unknown outcome.
    const group = idempotent ? `${kind.table} once` : kind.table;
    return this.#writes.outputOf<Output>(idempotent, () => this.#groups.do(group, creation, deadline));
  }

  /**
   * Publishes records of the caller, all or none; `view` builds the output from them, in the order of the drafts.
   * @throws AppError as `create`
   */
  createAll<Own extends object, Output extends object>(
    kind: ContentKind,
    drafts: readonly Draft<Own>[],
    { caller, deadline, idempotent }: Call<Caller>,
    view: (records: ContentRecord<Own>[]) => Output,
  ): Promise<Output> {
    const quota = this.#quotaOf(caller);
    return this.#writes.do({ deadline, idempotent: showing(idempotent, publishedRows(kind)) }, async (tx) =>
      view(await publish(tx, kind, caller.userId, drafts, this.#now(), quota)),
    );
  }
}
