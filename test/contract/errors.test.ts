/**
 * @engines none
 * @tier fast
 */
import { describe, expect, test } from '@jest/globals';
import { docsOf, errorOf, failureBody, inBytes, procedures, reasons, type Retry } from '../../contract/index.ts';
import { AppError } from '../../src/base/errors.ts';
import { errorDocs, errorReply } from '../../src/http/message/failures.ts';

/** The statuses that the SDKs retry by themselves, where `X-Should-Retry` does not overrule it. */
const REPEATED = new Set([408, 429, 500, 502, 503, 504]);
const SAID_WHEN: ReadonlySet<Retry> = new Set(['after-retry-after', 'with-idempotency-key']);

/** Code points of each text. */
const BOUNDS = { message: [10, 120], hint: [10, 200], cause: [30, 400], fix: [20, 300] } as const;

/** Words that show that a text was not written by somebody at home in English, or blames the reader. */
const POOR = /\b(?:whoever|that of|which is to be|please|simply|just|obviously|illegal|bad input)\b/i;

describe('error catalogue', () => {
  describe.each(reasons)('%s', (reason) => {
    const entry = errorOf(reason);

    test.each(Object.entries(BOUNDS))('has a %s within bounds, in whole sentences', (name, [least, most]) => {
      const text = entry[name as keyof typeof BOUNDS];
      expect([...text].length).toBeGreaterThanOrEqual(least);
      expect([...text].length).toBeLessThanOrEqual(most);
      expect(text).toMatch(/^[\p{Lu}`][^\n]*[.]$/u);
      // Whole code spans, and no other Markdown or HTML.
      expect(text.split('`').length % 2).toBe(1);
      expect(text.replaceAll(/`[^`]*`/g, '')).not.toMatch(/[*_[\]<>#]/);
      expect(text).not.toMatch(/undefined|NaN|\[object/);
      expect(text).not.toMatch(POOR);
    });

    test('is repeated by clients if its words say so, and only then', () => {
      const { headers } = errorReply(new AppError(reason), null, 'r', errorDocs({ publicUrl: undefined }));
      const advice = headers['X-Should-Retry'];
      const isRepeated = advice === undefined ? REPEATED.has(entry.status) : advice === 'true';
      expect(isRepeated).toBe(!['no', 'after-fixing'].includes(entry.retry));
    });

    test('says when to come back if its words promise that', () => {
      // Whoever raises it says how many seconds those are.
      const details = reason === 'IDEMPOTENCY_IN_PROGRESS' ? { retryAfter: 1 } : {};
      const { headers } = errorReply(new AppError(reason, details), null, 'r', errorDocs({ publicUrl: undefined }));
      expect('Retry-After' in headers).toBe(SAID_WHEN.has(entry.retry));
    });
  });

  test('no two reasons share a text', () => {
    for (const name of ['message', 'cause'] as const) {
      const texts = reasons.map((reason) => errorOf(reason)[name]);
      expect(new Set(texts).size).toBe(texts.length);
    }
  });

  test('texts name operations that there are', () => {
    const ids = new Set(procedures.map(({ id }) => id));
    const named = reasons.flatMap((reason) => {
      const { hint, cause, fix } = errorOf(reason);
      return [...`${hint} ${cause} ${fix}`.matchAll(/\b(?:game|image|user)\.[a-z]\w*/gi)].map(([id]) => id);
    });
    expect(named.length).toBeGreaterThan(3);
    for (const id of named) expect(ids).toContain(id);
  });

  test('the limits of bodies in words are those of the operations', () => {
    const { hint, cause } = errorOf('PAYLOAD_TOO_LARGE');
    for (const { bodyLimit } of procedures) {
      expect(hint).toContain(inBytes(bodyLimit));
      expect(cause).toContain(inBytes(bodyLimit));
    }
  });

  test('the address of a reason begins with that of the service, where it is known', () => {
    expect(docsOf('TIMEOUT')).toBe('/errors#TIMEOUT');
    expect(errorDocs({ publicUrl: 'https://api.example.com/base' }).TIMEOUT).toBe(
      'https://api.example.com/base/errors#TIMEOUT',
    );
    const { error } = failureBody('TIMEOUT', { path: null, requestId: 'r' });
    expect(error.json.data.docs).toBe('/errors#TIMEOUT');
  });
});
