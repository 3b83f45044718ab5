/**
 * @engines none
 * @tier fast
 */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { tests } from '../harness/jest/projects.mjs';

const engines = ['none', 'sqlite', 'server', 'second-server', 'mariadb', 'vitess'];
const tiers = ['fast', 'long', 'fault', 'timing', 'fuzz'];
const programs = ['redis', 'promtool', 'chromium', 'oasdiff', 'galera', 'haproxy'];

/** A bound on how long something took, which holds only on a machine that does nothing else. */
const CLOCK = /expect\((?:Math\.abs\()?(?:performance|Date)\.now\(\) - [^\n]*\.toBeLess/;

describe('a test file', () => {
  test.each(tests.filter(({ tier }) => tier !== 'timing'))('bounds no time on the wall: $path', ({ path }) => {
    expect(CLOCK.exec(readFileSync(path, 'utf8'))?.[0]).toBeUndefined();
  });
});

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
