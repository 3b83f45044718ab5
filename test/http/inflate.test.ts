/**
 * @engines none
 * @tier fast
 */
import { randomBytes } from 'node:crypto';
import { deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { AppError } from '../../src/base/errors.ts';
import { Inflater } from '../../src/http/message/body.ts';

const MIB = 1024 * 1024;

/** How many of so many bodies that come at once are inflated, and how many refused. */
const inflateAtOnce = async (inflater: Inflater, count: number, packed: Buffer, length: number) => {
  const results = await Promise.allSettled(
    Array.from({ length: count }, () => inflater.inflate(packed, 'gzip', 2 * MIB)),
  );
  const inflated = results.filter(({ status }) => status === 'fulfilled').length;
  for (const result of results) {
    if (result.status === 'fulfilled') expect(result.value).toHaveLength(length);
    else expect((result.reason as AppError).reason).toBe('OVERLOADED');
  }
  return { inflated, refused: count - inflated };
};

describe('compressed bodies', () => {
  test.each([
    ['large ones, by what they weigh', randomBytes(MIB - 1024), 32],
    ['small ones, by their number', Buffer.from('{}'), 512],
  ])('refuses bodies beyond those that may wait: %s', async (_, body, room) => {
    const inflater = new Inflater();
    const packed = gzipSync(body);
    for (const when of ['at first', 'again, when these are done']) {
      const counts = await inflateAtOnce(inflater, room + 10, packed, body.length);
      expect({ when, ...counts }).toEqual({ when, inflated: room, refused: 10 });
    }
  });

  test('goes on after one that is broken, or too large', async () => {
    const inflater = new Inflater();
    const broken = Array.from({ length: 5 }, () => inflater.inflate(Buffer.from('no zlib'), 'deflate', MIB));
    const large = inflater.inflate(deflateSync(Buffer.alloc(MIB + 1)), 'deflate', MIB);
    const whole = inflater.inflate(deflateSync(Buffer.alloc(MIB)), 'deflate', MIB);
    for (const one of broken) await expect(one).rejects.toMatchObject({ reason: 'MALFORMED_JSON' });
    await expect(large).rejects.toMatchObject({ reason: 'PAYLOAD_TOO_LARGE' });
    expect(await whole).toHaveLength(MIB);
  });

  test('takes no content for no content', async () => {
    expect(await new Inflater().inflate(Buffer.alloc(0), 'deflate', MIB)).toHaveLength(0);
  });
});
