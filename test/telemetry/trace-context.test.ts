/**
 * @engines none
 * @tier fast
 */
import { describe, expect, test } from '@jest/globals';
import { traceParentOf } from '../../src/base/trace-context.ts';

// By https://www.w3.org/TR/trace-context-2/#traceparent-header, whose own example this is.

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';

describe('trace context', () => {
  test.each([
    [`00-${TRACE}-${PARENT}-01`, 1],
    [`00-${TRACE}-${PARENT}-00`, 0],
    // A trace id that is random, which says nothing of whether it is recorded.
    [`00-${TRACE}-${PARENT}-02`, 0],
    [`00-${TRACE}-${PARENT}-ff`, 1],
    // Later versions.
    [`cc-${TRACE}-${PARENT}-01`, 1],
    [`cc-${TRACE}-${PARENT}-01-what-the-future-brings`, 1],
  ])('%s is taken up', (traceparent, flags) => {
    expect(traceParentOf({ traceparent })).toEqual({ traceId: TRACE, spanId: PARENT, flags });
  });

  test.each([
    undefined,
    '',
    'none',
    // None that may be.
    `ff-${TRACE}-${PARENT}-01`,
    `0-${TRACE}-${PARENT}-01`,
    // This version ends with the flags.
    `00-${TRACE}-${PARENT}-01-what-the-future-brings`,
    `00-${TRACE}-${PARENT}-01-`,
    `00-${TRACE}-${PARENT}-010`,
    `cc-${TRACE}-${PARENT}-010`,
    // Sent twice.
    `00-${TRACE}-${PARENT}-01, 00-${TRACE}-${PARENT}-01`,
    `00-${'0'.repeat(32)}-${PARENT}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${PARENT}-01`,
    `00-${TRACE.slice(1)}-${PARENT}-01`,
    `00-${TRACE}x-${PARENT}-01`,
    `00-${TRACE}-${PARENT}-0g`,
    `00-${TRACE}-${PARENT}`,
    ` 00-${TRACE}-${PARENT}-01`,
  ])('%s is ignored', (traceparent) => {
    expect(traceParentOf({ traceparent })).toBeUndefined();
  });
});
