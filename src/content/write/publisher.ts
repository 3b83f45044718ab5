import type { Transaction } from '../../db/connection.ts';
import type { Database } from '../../db/database.ts';
import { AMONG_LOCKS, GroupCommit } from '../../db/batching/group-commit.ts';
import { inList, padded, placeholders } from '../../db/sql/in-list.ts';
import { memoizeBySize } from '../../db/sql/memoize.ts';
import { type Bytes, idFromBytes, newId, storedIdToBytes } from '../../db/values.ts';
import { AppError } from '../../base/errors.ts';
import type { IdempotentCall } from '../../auth/idempotency/call.ts';
import { doTogether, type WriteResult, type Writes } from '../../auth/idempotency/writes.ts';
import { type ChargeQuota, quotaChecker, type Quota } from '../../auth/quotas.ts';
import type { Caller } from '../../auth/verifier.ts';
import type { Call } from '../../auth/procedure.ts';
import { findTags, MERGED, slugsOf, SOUGHT_TAG, type SoughtTag, type Tag } from '../tag/service.ts';
import type { ContentKind } from '../kind.ts';
import { type Draft, spellingsIn, store, type Stored } from './publish.ts';
import { publishedRows, showing } from './replays.ts';
import type { ContentRecord } from '../records.ts';
import type { ViewerColumns } from '../viewer.ts';

interface AuthorColumns {
  nickname: string;
  avatar: string | null;
  suspended_at: string | null;
}

/** The author's favorite and reaction on a new record. */
const UNTOUCHED: ViewerColumns = { favorited: 0, reaction: null };

/** A new record as it would be read. */
const recordOf = <Columns extends object>(
  { row, tags }: Stored<Columns>,
  { nickname, avatar }: AuthorColumns,
): ContentRecord<Columns> => ({
  row: Object.assign(row, { author_nickname: nickname, author_avatar: avatar }),
  tags,
  viewing: UNTOUCHED,
});

/** Why a user may not publish: keys go with their user, and the user may be suspended since the key was verified. */
const refusalOf = (author: AuthorColumns | undefined): AppError | undefined => {
  if (!author) return new AppError('KEY_UNKNOWN');
  return author.suspended_at === null ? undefined : new AppError('USER_SUSPENDED');
};

/** SQL: each create reads its author and its tags, in one round trip. */
const authorAndTags = memoizeBySize(
  (n) => `SELECT u.nickname, u.avatar, u.suspended_at, ${SOUGHT_TAG}
  FROM users u LEFT JOIN tags t ON t.slug IN (${placeholders(n)}) ${MERGED} WHERE u.id = ?`,
);

/** With more tags than these, the author's columns had better not be repeated beside each of them. */
const MAX_JOINED_TAGS = 32;

const readAuthorAndTags = async (
  tx: Transaction,
  authorId: Bytes,
  slugs: readonly string[],
): Promise<{ author: AuthorColumns; tags: Map<string, Tag> }> => {
  const isJoined = slugs.length > 0 && slugs.length <= MAX_JOINED_TAGS;
  const among = padded(slugs);
  const rows = isJoined
    ? await tx.read<AuthorColumns & SoughtTag>(authorAndTags(among.length), [...among, authorId])
    : await tx.read<AuthorColumns & SoughtTag>('SELECT nickname, avatar, suspended_at FROM users WHERE id = ?', [
        authorId,
      ]);
  const [author] = rows;
  const refusal = refusalOf(author);
  if (refusal || !author) throw refusal;
  if (!isJoined) return { author, tags: await findTags(tx, slugs) };
  const tags = rows
    .filter(({ sought }) => sought !== null)
    .map(({ sought, id, name, slug }) => [sought, { id, name, slug }] as const);
  return { author, tags: new Map(tags) };
};

/**
 * Stores new records of an author, dated `now`, and returns them as they would be read, in the order of the drafts. New tags
 * and types count against `quota`. @throws AppError QUOTA_EXCEEDED
 */
export const publish = async <Columns extends object>(
  tx: Transaction,
  kind: ContentKind,
  authorId: string,
  drafts: readonly Draft<Columns>[],
  now: Date,
  quota?: Quota,
): Promise<ContentRecord<Columns>[]> => {
  const publications = drafts.map((draft) => ({ id: draft.id ?? newId(now), authorId, createdAt: now, draft }));
  const spellings = spellingsIn(drafts);
  const { author, tags: found } = await readAuthorAndTags(tx, storedIdToBytes(authorId), [...spellings.keys()]);
  const stored = await store(tx, kind, publications, spellings, found, {
    chargeQuota: quotaChecker(tx, quota),
    isByAuthors: true,
    at: now,
  });
  return stored.map((one) => recordOf(one, author));
};

/** A call that publishes one record. */
interface Creation {
  kind: ContentKind;
  authorId: string;
  draft: Draft;
  quota: Quota | undefined;
  idempotent: IdempotentCall | undefined;
  /** Makes the output. */
  view: (record: ContentRecord<never>) => unknown;
}

/** Thrown when calls cannot be stored together. `GroupCommit` then stores them in smaller groups. */
class NotTogether extends Error {}

/** SQL: creates that are stored together read their authors by it. */
const readAuthors = async (tx: Transaction, ids: ReadonlySet<string>): Promise<Map<string, AuthorColumns>> => {
  const { sql, parameters } = inList([...ids].map(storedIdToBytes));
  const rows = await tx.read<AuthorColumns & { id: Bytes }>(
    `SELECT id, nickname, avatar, suspended_at FROM users WHERE id IN (${sql})`,
    parameters,
  );
  return new Map(rows.map((row) => [idFromBytes(row.id), row]));
};

/**
 * Counts the new tags of several calls, each for the user who comes first. Quotas are locked in one order. Calls beyond a
 * quota, and calls with new types, which are rare, are stored in smaller groups instead. @throws NotTogether
 */
const quotaCheckerOfAll = (
  tx: Transaction,
  creations: readonly Creation[],
  found: ReadonlyMap<string, Tag>,
): ChargeQuota | undefined => {
  if (creations.every(({ quota }) => quota === undefined)) return undefined;
  return async (part) => {
    if (part !== 'tags') throw new NotTogether();
    const claimed = new Set<string>();
    const made = new Map<string, { quota: Quota; n: number }>();
    for (const { draft, quota } of creations) {
      const own = slugsOf(draft.tagNames).filter((slug) => !found.has(slug) && !claimed.has(slug));
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
      throw error instanceof AppError && error.reason === 'QUOTA_EXCEEDED' ? new NotTogether() : error;
    }
  };
};

/** Stores the records of several calls together. @throws NotTogether */
const publishTogether = async (tx: Transaction, creations: readonly Creation[], now: Date): Promise<WriteResult[]> => {
  const { kind } = creations[0]!;
  const authors = await readAuthors(tx, new Set(creations.map(({ authorId }) => authorId)));
  const refusals = creations.map(({ authorId }) => refusalOf(authors.get(authorId)));
  const accepted = creations.filter((_, index) => refusals[index] === undefined);
  if (accepted.length === 0) return refusals as AppError[];
  const spellings = spellingsIn(accepted.map(({ draft }) => draft));
  const tags = await findTags(tx, [...spellings.keys()]);
  const publications = accepted.map(({ authorId, draft }) => ({ id: newId(now), authorId, createdAt: now, draft }));
  const chargeQuota = quotaCheckerOfAll(tx, accepted, new Map(tags));
  const stored = await store(tx, kind, publications, spellings, tags, { chargeQuota, isByAuthors: true, at: now });
  const outputs = accepted.map(({ authorId, view }, index) => ({
    output: view(recordOf(stored[index]!, authors.get(authorId)!) as ContentRecord<never>),
  }));
  const done = outputs.values();
  return refusals.map((refusal) => refusal ?? done.next().value!);
};

const publishEach = async (tx: Transaction, creations: readonly Creation[], now: Date): Promise<WriteResult[]> => {
  const [first, ...others] = creations;
  if (!first || others.length > 0) return publishTogether(tx, creations, now);
  const { kind, authorId, draft, quota, view } = first;
  const [record] = await publish(tx, kind, authorId, [draft], now, quota);
  return [{ output: view(record as ContentRecord<never>) }];
};

/** A call that publishes one record, and what its output is made with. */
interface PublishRequest<Columns extends object, Output> {
  draft: Draft<Columns>;
  quota: Quota | undefined;
  view: (record: ContentRecord<Columns>) => Output;
}

const sizeOf = ({ draft }: Creation): number =>
  Object.values(draft.columns).reduce(
    (size: number, value: unknown) => size + (typeof value === 'string' ? value.length : 0),
    0,
  );

/** Publishes records. Calls of one kind that meet are stored together: their authors, tags and totals are counters of all. */
export class Publisher {
  readonly #writes: Writes;
  readonly #groups: GroupCommit<Creation, WriteResult>;

  constructor(db: Database, writes: Writes, now: () => Date) {
    this.#writes = writes;
    this.#groups = new GroupCommit(
      (creations, deadline, onCommit) => doTogether(db, creations, { now, deadline, onCommit }, publishEach),
      { ...AMONG_LOCKS, sizeOf },
    );
  }

  /**
   * Publishes one record of the caller; `view` makes the output of it.
   * @throws AppError KEY_UNKNOWN, USER_SUSPENDED, QUOTA_EXCEEDED, and as `Writes.do`
   */
  async create<Columns extends object, Output>(
    kind: ContentKind,
    { draft, quota, view }: PublishRequest<Columns, Output>,
    { caller: { userId }, deadline, idempotent: call }: Call<Caller>,
  ): Promise<Output> {
    const idempotent = showing(call, publishedRows(kind));
    const creation: Creation = { kind, authorId: userId, draft, quota, idempotent, view };
    // Repeatable calls are stored by themselves: only a transaction of such is run again when its outcome is unknown.
    const storeIn = (group: string): Promise<WriteResult> => this.#groups.do(group, creation, deadline);
    const result = idempotent
      ? await this.#writes.inFlight(idempotent, () => storeIn(`${kind.table} once`))
      : await storeIn(kind.table);
    if ('output' in result) return result.output as Output;
    throw result;
  }
}
