const HEAD_END = Buffer.from('\r\n\r\n');
const LAST_CHUNK = Buffer.from('0\r\n\r\n');
/** Too many requests, and service unavailable. */
const REFUSALS = [429, 503];
const MULTI_STATUS = 207;
const TOOL_FAILED = '"isError":true';
const REFUSED_INSIDE = ['"OVERLOADED"', '"RATE_LIMITED"'];

const headOf = (buffer) => buffer.latin1Slice(0, buffer.indexOf(HEAD_END)).toLowerCase();

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

/**
 * Whether a whole reply is `answered`, `refused` or `other`. Only 2xx are answers. A batch with a refused call is refused;
 * `isMcp`: so is a tool call that failed for lack of room, which MCP sends with status 200.
 */
export const kindOf = (buffer, isMcp) => {
  const status = statusOf(buffer);
  if (REFUSALS.includes(status)) return 'refused';
  if (status < 200 || status > 299) return 'other';
  if (status !== MULTI_STATUS && !(isMcp && buffer.includes(TOOL_FAILED))) return 'answered';
  return REFUSED_INSIDE.some((reason) => buffer.includes(reason)) ? 'refused' : 'other';
};

/** After how many milliseconds the server asks a refused caller to come back. */
export const retryAfterMs = (buffer) => {
  const [, seconds = 1] = /\r\nretry-after: *(\d+)/.exec(headOf(buffer)) ?? [];
  return Number(seconds) * 1000;
};

/** Whether the server closes the connection after this reply. */
export const isLastReply = (buffer) => headOf(buffer).includes('\r\nconnection: close');
