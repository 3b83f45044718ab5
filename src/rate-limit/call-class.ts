import { MAX_BATCH_RECORDS, type ProcedureMetadata, RECORDS_PER_WRITE } from '../../contract/index.ts';

/** What a call counts as. A `read` of few records by their keys or an index, a `search` for words, or a `write`. */
export type CallClass = 'read' | 'search' | 'write';

const memberOf = (input: unknown, name: string | undefined): unknown =>
  name !== undefined && typeof input === 'object' && input !== null && Object.hasOwn(input, name)
    ? (input as Record<string, unknown>)[name]
    : undefined;

/** What a call counts as. `input` is as it was sent, the member `json` of the envelope, valid or not. */
export const classOf = (
  { effect, searchMember }: Pick<ProcedureMetadata, 'effect' | 'searchMember'>,
  input: unknown,
): CallClass => {
  if (effect === 'write') return 'write';
  const words = memberOf(input, searchMember);
  return typeof words === 'string' && words.trim() !== '' ? 'search' : 'read';
};

/** For how many usual calls of its class a call counts: 1, and for records stored together a tenth of each besides. */
export const costOf = ({ recordsMember }: Pick<ProcedureMetadata, 'recordsMember'>, input: unknown): number => {
  const records = memberOf(input, recordsMember);
  return Array.isArray(records) ? 1 + Math.min(records.length, MAX_BATCH_RECORDS) / RECORDS_PER_WRITE : 1;
};
