import { z } from 'zod';
import type { ConsumerUse, OperationUse } from '../consumers/use/store.ts';
import type { Change } from './conformance/document/compare.ts';

const going = z.literal(true).exactOptional();
const PartUse = z.object({ name: z.string(), lastDay: z.iso.date(), deprecated: going });

/** What a consumer used, as `keys use --json` writes it, one consumer a line. */
const NamedUse = z.object({
  consumer: z.string().min(1),
  clients: z.array(PartUse),
  operations: z.array(
    z.object({ operation: z.string(), lastDay: z.iso.date(), deprecated: going, parts: z.array(PartUse) }),
  ),
  key: z.object({ id: z.string(), name: z.string(), userId: z.string() }).exactOptional(),
}) satisfies z.ZodType<ConsumerUse>;
export type NamedUse = z.output<typeof NamedUse>;

/** A line that is no use. The message names it. */
export class UseError extends Error {}

/** Reads what `keys use --json` wrote. @throws UseError */
export const parseUses = (name: string, text: string): NamedUse[] =>
  text
    .split('\n')
    .map((line, index) => ({ line, number: index + 1 }))
    .filter(({ line }) => line.trim() !== '')
    .map(({ line, number }) => {
      try {
        return NamedUse.parse(JSON.parse(line));
      } catch {
        throw new UseError(`Line ${number} of ${name} is none of \`keys use --json\`.`);
      }
    });

/** A consumer that a change breaks. */
export interface AffectedConsumer {
  consumer: string;
  /** Undefined for anonymous callers. */
  key?: NamedUse['key'];
  clients: string[];
  /** The last day on which it used what changes: the part, or the operation. */
  lastDay: string;
  /** What it used of the operation that changes: `/sortBy=views`; empty for the operation itself. */
  parts: string[];
}

/** A change that may break clients, and the consumers that use what it changes. */
export interface Impact extends Change {
  affected: AffectedConsumer[];
}

const REQUEST = 'the request ';
const INPUT = '/json';

/** The part of the input that a change is about: `/sortBy`; empty for all of it, undefined for what is no part of it. */
const partOf = ({ where, demands }: Change): string | undefined =>
  where.startsWith(`${REQUEST}${INPUT}`) && !demands ? where.slice(REQUEST.length + INPUT.length) : undefined;

/** Elements of arrays are no parts: who sends the array is taken to send some. */
const memberOf = (part: string): string => part.replace(/(?:\/\*)+$/, '');

/** What a consumer used of an operation that a change is about; undefined for nothing. */
const usedOf = (
  change: Change,
  { parts, lastDay }: OperationUse,
): Pick<AffectedConsumer, 'lastDay' | 'parts'> | undefined => {
  const part = partOf(change);
  if (part === undefined || memberOf(part) === '') return { lastDay, parts: [] };
  const names = change.words?.map((word) => `${part}=${word}`) ?? [memberOf(part)];
  const used = parts.filter(({ name }) => names.includes(name));
  if (used.length === 0) return undefined;
  return {
    lastDay:
      used
        .map((one) => one.lastDay)
        .toSorted()
        .at(-1) ?? lastDay,
    parts: used.map(({ name }) => name),
  };
};

/**
 * The changes that may break clients, each with the consumers that it may break: those that sent what the request no longer
 * takes, and, of a reply or of what is newly required, all callers of the operation.
 */
export const impactOf = (changes: readonly Change[], uses: readonly NamedUse[]): Impact[] =>
  changes
    .filter(({ breaks }) => breaks)
    .map((change) => ({
      ...change,
      affected: uses.flatMap(({ consumer, key, clients, operations }) => {
        const operation = operations.find((one) => one.operation === change.operation);
        const used = operation && usedOf(change, operation);
        return used ? [{ consumer, ...(key && { key }), clients: clients.map(({ name }) => name), ...used }] : [];
      }),
    }));
