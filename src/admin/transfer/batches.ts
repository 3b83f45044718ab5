import type { Line } from './lines.ts';
import { BadLine, END } from './format.ts';
import { isLineKind, type LineKind } from './records.ts';

/** A line, parsed and checked without regard to other lines. */
export interface BatchEntry {
  number: number;
  kind: LineKind;
  value: { id: string };
  /** The length of the line. */
  length: number;
}

/** A line that is left out, and the reason. */
export interface LineFault {
  number: number;
  message: string;
}

/** Lines that are stored in one transaction: records or users of one kind, and further parts of their audiences. */
export interface Batch {
  entries: BatchEntry[];
  faults: LineFault[];
  /** The number of its last line. */
  last: number;
}

/** The most lines and characters of a batch. Two batches are in memory: the one that is stored and the next one. */
const MOST_LINES = 500;
const MOST_CHARACTERS = 2 ** 19;

/** Parses a line; undefined for the last line of a file. */
const entryOf = ({ number, text, fault }: Line): BatchEntry | BadLine | undefined => {
  if (fault !== undefined) return new BadLine(fault);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return new BadLine('is not JSON');
  }
  const { kind, id } = (value ?? {}) as { kind?: unknown; id?: unknown };
  if (kind === END.kind) return undefined;
  if (!isLineKind(kind)) return new BadLine('/kind must be user, game, image, audience or end');
  if (typeof id !== 'string') return new BadLine('/id must be a string');
  return { number, kind, value: value as { id: string }, length: text.length };
};

const isBlank = ({ text, fault }: Line): boolean => fault === undefined && /^\s*$/.test(text);

/** The lines of a file after the first, in batches. `onEnd` is called at the last line; any line after it is bad. */
export async function* batchesOf(lines: AsyncIterable<Line[]>, onEnd: () => void): AsyncGenerator<Batch> {
  let batch: Batch = { entries: [], faults: [], last: 0 };
  let characters = 0;
  let kind: LineKind | undefined;
  let isEnded = false;
  for await (const some of lines) {
    for (const line of some) {
      if (isBlank(line)) continue;
      const entry = isEnded ? new BadLine('comes after the last line of the export') : entryOf(line);
      if (entry === undefined) {
        isEnded = true;
        onEnd();
        continue;
      }
      const isOther =
        !(entry instanceof BadLine) && entry.kind !== 'audience' && kind !== undefined && entry.kind !== kind;
      const size = batch.entries.length + batch.faults.length;
      if (size > 0 && (isOther || size >= MOST_LINES || characters + line.text.length > MOST_CHARACTERS)) {
        yield batch;
        batch = { entries: [], faults: [], last: 0 };
        characters = 0;
      }
      batch.last = line.number;
      characters += line.text.length;
      if (entry instanceof BadLine) batch.faults.push({ number: line.number, message: entry.message });
      else {
        batch.entries.push(entry);
        if (entry.kind !== 'audience') ({ kind } = entry);
      }
    }
  }
  if (batch.last > 0) yield batch;
}
