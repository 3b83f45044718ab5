/**
 * @engines none
 * @tier fast
 */
import { describe, expect, test } from '@jest/globals';
import { tests } from '../harness/jest/projects.mjs';

const engines = ['none', 'sqlite', 'server', 'second-server', 'mariadb', 'vitess'];
const tiers = ['fast', 'long', 'fault', 'timing', 'fuzz'];
const programs = ['redis', 'promtool', 'chromium', 'oasdiff', 'galera', 'haproxy'];

describe('the docblock of a test file', () => {
  test.each(tests)('of $path says where it runs', ({ path, engines: own, tier, needs, skips }) => {
    expect(own.length).toBeGreaterThan(0);
    expect(engines).toEqual(expect.arrayContaining(own));
    expect(tiers).toContain(tier);
    expect(programs).toEqual(expect.arrayContaining(needs));
    // What does not run on Vitess has nothing to skip there.
    for (const { reason } of skips) expect([path, own.includes('vitess'), reason !== '']).toEqual([path, true, true]);
  });
});
