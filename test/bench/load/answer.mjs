const HEAD_END = Buffer.from('\r\n\r\n');
const LAST_CHUNK = Buffer.from('0\r\n\r\n');

/** The length of the answer that begins a buffer, or undefined when not all of it is there. */
export const answerLength = (buffer) => {
  const headEnd = buffer.indexOf(HEAD_END);
  if (headEnd === -1) return undefined;
  const head = buffer.latin1Slice(0, headEnd).toLowerCase();
  const bodyStart = headEnd + HEAD_END.length;
  const at = head.indexOf('\r\ncontent-length:');
  if (at !== -1) {
    const length = bodyStart + Number.parseInt(head.slice(at + 17), 10);
    return buffer.length >= length ? length : undefined;
  }
  return buffer.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK) ? buffer.length : undefined;
};

/** The status of an answer that has come whole. */
export const statusOf = (buffer) => Number(buffer.latin1Slice(9, 12));

/** The item at this share of a sorted list. */
export const quantile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
