import type { Caller } from '../auth/verifier.ts';
import type { Call } from '../auth/procedure.ts';
import type { ContentContext } from './context.ts';
import type { ContentRecord } from './records.ts';
import type { Draft } from './write/publish.ts';
import { publish } from './write/publisher.ts';
import { publishedRows, showing } from './write/replays.ts';

/** One record; counts a view, unless its caller has looked at it lately. @throws AppError the kind's NOT_FOUND */
export const getRecord = async <Detail extends object>(
  { reads, views }: ContentContext<Partial<Detail>, Detail>,
  id: string,
  call: Call,
): Promise<ContentRecord<Detail>> => {
  const record = await reads.get(id, call);
  views.note(id, call);
  return record;
};

/** Publishes a record; `view` makes the output of it. @throws AppError QUOTA_EXCEEDED, OVERLOADED */
export const createRecord = <Detail extends object, Output extends object>(
  { kind, publisher, quotaOf }: ContentContext<Partial<Detail>, Detail>,
  draft: Draft<Detail>,
  call: Call<Caller>,
  view: (record: ContentRecord<Detail>) => Output,
): Promise<Output> => publisher.create(kind, { draft, quota: quotaOf(call.caller), view }, call);

/** Publishes records, all or none; `view` makes the output of them, in the order of the drafts. @throws AppError QUOTA_EXCEEDED */
export const createRecords = <Detail extends object, Output extends object>(
  { kind, writes, quotaOf, now }: ContentContext<Partial<Detail>, Detail>,
  drafts: readonly Draft<Detail>[],
  { caller, deadline, idempotent }: Call<Caller>,
  view: (records: ContentRecord<Detail>[]) => Output,
): Promise<Output> => {
  const once = { deadline, idempotent: showing(idempotent, publishedRows(kind)) };
  return writes.do(once, async (tx) => view(await publish(tx, kind, caller.userId, drafts, now(), quotaOf(caller))));
};
