import type { IncomingHttpHeaders } from 'node:http';

/** The position of a request in its caller's trace. */
export interface TraceParent {
  /** 32 hexadecimal digits, in lower case. */
  traceId: string;
  /** The caller's span: 16 hexadecimal digits. */
  spanId: string;
  /** 1 if the caller records the trace. */
  flags: number;
}

/** Version (not ff), trace id and parent id (not all zeros), and flags. Later versions may append parts. */
const FORM = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(?:$|-)/;
const LENGTH = 55;

/**
 * Parses the header `traceparent` by W3C Trace Context (https://www.w3.org/TR/trace-context/). Undefined if it is
 * missing or must be ignored.
 */
export const traceParentOf = ({ traceparent }: IncomingHttpHeaders): TraceParent | undefined => {
  if (typeof traceparent !== 'string') return undefined;
  const [all, version, traceId = '', spanId = '', flags = ''] = FORM.exec(traceparent) ?? [];
  if (all === undefined || (version === '00' && traceparent.length > LENGTH)) return undefined;
  // Only the first flag is defined.
  return { traceId, spanId, flags: Number.parseInt(flags, 16) & 1 };
};
