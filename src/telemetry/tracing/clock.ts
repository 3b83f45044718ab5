/** By how much the system's clock may be away from ours before we follow it, in milliseconds. */
const MOST_OFF_MS = 20;

let offset = performance.timeOrigin;

/**
 * Milliseconds since 1970, with microseconds: OpenTelemetry's own spans begin at whole milliseconds, in which a dozen statements
 * have room. It goes steadily, but for where the system's clock is set.
 */
export const preciseNow = (): number => {
  const now = performance.now();
  const off = Date.now() - (offset + now);
  if (Math.abs(off) > MOST_OFF_MS) offset += off;
  return offset + now;
};
