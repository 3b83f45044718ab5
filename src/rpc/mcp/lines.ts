const LINE_BREAK = 0x0a;

/**
 * The lines of a byte stream, each with its line break; undefined for a longer line than allowed. At most a line and a
 * chunk are in memory.
 */
export async function* linesOf(chunks: AsyncIterable<Buffer>, most: number): AsyncGenerator<Buffer | undefined> {
  let parts: Buffer[] = [];
  let length = 0;
  const add = (bytes: Buffer): void => {
    length += bytes.length;
    if (length <= most) parts.push(bytes);
    else parts = [];
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_BREAK); end !== -1; end = chunk.indexOf(LINE_BREAK, start)) {
      add(chunk.subarray(start, end + 1));
      yield length <= most ? Buffer.concat(parts) : undefined;
      parts = [];
      length = 0;
      start = end + 1;
    }
    if (start < chunk.length) add(chunk.subarray(start));
  }
}
