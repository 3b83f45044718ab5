import type { Quota } from '../auth/quotas.ts';
import type { Caller } from '../auth/verifier.ts';
import type { Database } from '../db/database.ts';
import type { Writes } from '../auth/idempotency/writes.ts';
import type { Call } from '../auth/procedure.ts';
import type { Toggles } from './engagement/service.ts';
import type { ContentKind } from './kind.ts';
import type { ContentReads } from './read/reads.ts';
import type { ContentRecord } from './records.ts';
import type { TagDictionary } from './tag/dictionary.ts';
import type { Publisher } from './write/publisher.ts';
import type { ViewCounts } from './write/view-counts.ts';

/** The dependencies of a router of content, whose rows have these members in lists and in full. */
export interface ContentContext<Summary extends object, Detail extends Summary> {
  kind: ContentKind;
  db: Database;
  /** The clock. */
  now: () => Date;
  tags: TagDictionary;
  /** Reads records outside of transactions. */
  reads: ContentReads<Summary, Detail>;
  writes: Writes;
  publisher: Publisher;
  toggles: Toggles;
  views: ViewCounts;
  /** The daily quota of a caller's key; undefined if callers have no limits. */
  quotaOf: (caller: Caller) => Quota | undefined;
}

/** Reads one record, and counts a view unless its caller viewed it recently. @throws AppError the kind's NOT_FOUND */
export const getRecord = async <Detail extends object>(
  { reads, views }: ContentContext<Partial<Detail>, Detail>,
  id: string,
  call: Call,
): Promise<ContentRecord<Detail>> => {
  const record = await reads.get(id, call);
  views.note(id, call);
  return record;
};
