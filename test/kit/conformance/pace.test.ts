/**
 * @engines none
 * @tier fast
 * @modules own
 */
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { RateLimitNotice } from '../../../src/admin/commands/testing/rate-limit-notice.ts';
import { paceOf } from '../../../openapi/kit/conformance/http/client.ts';

const POLICIES = '"keys";q=30;w=60, "anonymous";q=600;w=60, "work";q=30000;w=60;qu="milliseconds"';

describe('the pace of a run', () => {
  test.each([
    ['some is left', '"anonymous";r=1;t=60', POLICIES, 0],
    ['nothing is left of 600 in 60 seconds', '"anonymous";r=0;t=60', POLICIES, 100],
    ['nothing is left of 30 in 60 seconds', '"keys";r=0;t=60', POLICIES, 2000],
    ['the policy is not named', '"search";r=0;t=60', POLICIES, 0],
    ['the reply has no policies', '"anonymous";r=0;t=60', undefined, 0],
    ['the reply has no limits', undefined, undefined, 0],
    ['the header is of another form', 'limit=600, remaining=0', POLICIES, 0],
  ])('where %s', (_, limit, policy, ms) => {
    const headers = new Headers();
    if (limit !== undefined) headers.set('RateLimit', limit);
    if (policy !== undefined) headers.set('RateLimit-Policy', policy);
    expect(paceOf(headers)).toBe(ms);
  });
});

describe('the notice of a rate limit', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  const HELP = 'A key (--key) has higher limits, and RATE_LIMIT=off on the deployment removes them.';
  const toldBy = (work: (notice: RateLimitNotice, pass: (seconds: number) => void) => void, hasTerminal: boolean) => {
    const written = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
    let now = 0;
    work(new RateLimitNotice(hasTerminal, () => now), (seconds) => (now += seconds));
    return written.mock.calls.map(([text]) => String(text));
  };
  const work = (notice: RateLimitNotice, pass: (seconds: number) => void): void => {
    notice.begin(1643);
    for (let check = 0; check < 300; check += 1) {
      pass(0.25);
      notice.onWait(1);
      notice.advance(1);
    }
  };

  test('says twice a minute how far the run is, and what would make it faster', () => {
    expect(toldBy(work, false)).toEqual([
      `Rate limited: waiting 1 s; 0 of 1,643 checks. ${HELP}\n`,
      `Rate limited: waiting 1 s; 120 of 1,643 checks, about 7 min left. ${HELP}\n`,
      `Rate limited: waiting 1 s; 240 of 1,643 checks, about 6 min left. ${HELP}\n`,
    ]);
  });

  test('is told once beside a progress bar', () => {
    expect(toldBy(work, true)).toHaveLength(1);
  });
});
