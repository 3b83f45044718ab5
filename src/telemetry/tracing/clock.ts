import { currentTime, performance } from '../../base/runtime.ts';

/** The largest difference from the system's clock, in milliseconds; beyond, this clock follows it. */
const MOST_OFF_MS = 20;

let offset = performance.timeOrigin;

/**
 * Milliseconds since 1970, with microseconds: OpenTelemetry's own spans begin at whole milliseconds, in which a dozen
 * statements fit. It is monotonic, but where the system's clock is set.
 */
export const preciseNow = (): number => {
  const now = performance.now();
  const off = currentTime() - (offset + now);
  if (Math.abs(off) > MOST_OFF_MS) offset += off;
  return offset + now;
};
