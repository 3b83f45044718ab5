import type { IncomingHttpHeaders } from 'node:http';

/** Where a request stands in the trace of who sent it. */
export interface TraceParent {
  /** 32 hexadecimal digits, in lower case. */
  traceId: string;
  /** The span of the caller that it belongs to: 16 hexadecimal digits. */
  spanId: string;
  /** 1 where the caller records it. */
  flags: number;
}

/** Version, trace id, parent id and flags: ff is no version, and ids are not all zeros. Later versions may say more. */
const FORM = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(?:$|-)/;
const LENGTH = 55;

/**
 * What the header `traceparent` says, by W3C Trace Context (https://www.w3.org/TR/trace-context/); undefined where there is
 * none, or one that is to be ignored.
 */
export const traceParentOf = ({ traceparent }: IncomingHttpHeaders): TraceParent | undefined => {
  if (typeof traceparent !== 'string') return undefined;
  const [all, version, traceId = '', spanId = '', flags = ''] = FORM.exec(traceparent) ?? [];
  if (all === undefined || (version === '00' && traceparent.length > LENGTH)) return undefined;
  // Of the flags that later versions may have, we know the first.
  return { traceId, spanId, flags: Number.parseInt(flags, 16) & 1 };
};
