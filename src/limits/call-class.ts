import {
  MAX_BATCH_RECORDS,
  type ProcedureMetadata,
  READS_PER_HIGH_COST,
  RECORDS_PER_WRITE,
} from '../../contract/index.ts';

/** A `read` of few records by their keys or an index, a `search` for words, or a `write`. */
export type CallClass = 'read' | 'search' | 'write';

/** The class and the cost of a call, for rate limits and overload protection. */
export interface Classified {
  callClass: CallClass;
  /** The number of usual calls of its class that a call counts as: 1, and a tenth more for each record of a batch. */
  cost: number;
  /** The number of calls charged to its rate: the same, but more for a read of high cost. */
  charge: number;
}

type Classifiable = Pick<ProcedureMetadata, 'effect' | 'cost' | 'searchMember' | 'recordsMember'>;

const memberOf = (input: unknown, name: string | undefined): unknown =>
  name !== undefined && typeof input === 'object' && input !== null && Object.hasOwn(input, name)
    ? (input as Record<string, unknown>)[name]
    : undefined;

const classOf = ({ effect, searchMember }: Classifiable, input: unknown): CallClass => {
  if (effect === 'write') return 'write';
  const words = memberOf(input, searchMember);
  return typeof words === 'string' && words.trim() !== '' ? 'search' : 'read';
};

const costOf = ({ recordsMember }: Classifiable, input: unknown): number => {
  const records = memberOf(input, recordsMember);
  return Array.isArray(records) ? 1 + Math.min(records.length, MAX_BATCH_RECORDS) / RECORDS_PER_WRITE : 1;
};

/** Classifies a call by its input as sent: the member `json` of the envelope, valid or not. */
export const classify = (procedure: Classifiable, input: unknown): Classified => {
  const cost = costOf(procedure, input);
  const charge = procedure.cost === 'high' ? READS_PER_HIGH_COST : cost;
  return { callClass: classOf(procedure, input), cost, charge };
};
