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

/** A message as it came, before anything of it is known. */
interface Loose {
  jsonrpc?: unknown;
  id?: unknown;
  method?: unknown;
  params?: unknown;
  result?: unknown;
  error?: unknown;
}

/** Whether a value of JSON is an object. */
export const isMembers = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The id of a line that asks for an answer and is no request of JSON-RPC 2.0 (section 4); undefined for all other lines. The
 * SDK drops such a line, and its sender would wait for ever.
 */
export const invalidRequestId = (line: string): string | number | undefined => {
  let message: Loose;
  try {
    const parsed: unknown = JSON.parse(line);
    if (!isMembers(parsed)) return undefined;
    message = parsed;
  } catch {
    return undefined;
  }
  if (message.result !== undefined || message.error !== undefined) return undefined;
  const { jsonrpc, id, method, params = {} } = message;
  if (typeof id !== 'string' && typeof id !== 'number') return undefined;
  return jsonrpc === '2.0' && typeof method === 'string' && isMembers(params) ? undefined : id;
};
