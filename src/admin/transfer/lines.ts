import { isUtf8 } from 'node:buffer';

/** A line of a file. */
export interface Line {
  /** Counted from 1. */
  number: number;
  /** The position of its first byte in the file. */
  offset: number;
  /** The text without the line break; empty for a line with a fault. */
  text: string;
  /** Whether a line break ends the line. */
  isComplete: boolean;
  fault?: string;
}

/** The largest image post has 6.5 MB. */
const MAX_LINE = 16 * 2 ** 20;
const LINE_BREAK = 0x0a;
const REPLACEMENT = '\u{fffd}';

/** The lines of a stream of bytes, grouped by its chunks. At most a line and a chunk are in memory. */
export async function* readLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Line[]> {
  let number = 0;
  let offset = 0;
  let parts: Buffer[] = [];
  let length = 0;

  const add = (bytes: Buffer): void => {
    length += bytes.length;
    // Only the length of a line that is too long is kept.
    if (length <= MAX_LINE) parts.push(bytes);
    else parts = [];
  };
  const take = (isComplete: boolean): Line => {
    number += 1;
    const line = toLine(number, offset, length, parts, isComplete);
    offset += length + Number(isComplete);
    parts = [];
    length = 0;
    return line;
  };

  for await (const chunk of chunks) {
    const lines: Line[] = [];
    let start = 0;
    for (let end = chunk.indexOf(LINE_BREAK); end !== -1; end = chunk.indexOf(LINE_BREAK, start)) {
      add(chunk.subarray(start, end));
      lines.push(take(true));
      start = end + 1;
    }
    if (start < chunk.length) add(chunk.subarray(start));
    yield lines;
  }
  if (length > 0) yield [take(false)];
}

const toLine = (
  number: number,
  offset: number,
  length: number,
  parts: readonly Buffer[],
  isComplete: boolean,
): Line => {
  const fault = (why: string): Line => ({ number, offset, text: '', isComplete, fault: why });
  if (length > MAX_LINE) return fault(`is longer than ${MAX_LINE / 2 ** 20} MiB`);
  const [first] = parts;
  const bytes = first !== undefined && parts.length === 1 ? first : Buffer.concat(parts);
  const text = bytes.toString();
  if (text.includes(REPLACEMENT) && !isUtf8(bytes)) return fault('is not UTF-8');
  return { number, offset, text, isComplete };
};
