/**
 * @engines sqlite
 * @tier long
 */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { reasons } from '../../contract/index.ts';
import { createDatabase } from '../harness/app/database.ts';
import { printedFor } from '../harness/faults/haproxy.ts';
import { runGuide } from '../harness/documents/guide.ts';

// What docs/scaling.md tells operators to do. Its balancers are tried in test/fault/haproxy-instances.test.ts and balancers.test.ts.

describe('scaling guide', () => {
  test('the commands of the guide run on this database', async () => {
    const database = await createDatabase();
    const folder = await mkdtemp(resolve('dist/guides-'));
    try {
      const env = { ...process.env, DATABASE_URL: database.url };
      const { ran, mismatches } = await runGuide('docs/scaling.md', { address: '', folder, env });
      expect({ ran, mismatches }).toEqual({ ran: 1, mismatches: [] });
    } finally {
      await rm(folder, { recursive: true });
      await database.drop();
    }
  });

  test('the balancer of compose.yaml asks, repeats and fails as the one of the guide', () => {
    const rules =
      printedFor('haproxy').match(/^ {2}(?:acl|http-\w+|option http\w+|retry-on|retries|use_backend) .*$/gm) ?? [];
    expect(rules.length).toBeGreaterThan(15);
    const lines = new Set(readFileSync('deploy/haproxy/haproxy.cfg', 'utf8').split('\n'));
    expect(rules.filter((rule) => !lines.has(rule))).toEqual([]);
  });

  test('the settings that the guide names are there', () => {
    const guide = readFileSync('docs/scaling.md', 'utf8');
    const known = readFileSync('.env.example', 'utf8');
    const isReason = (name: string): boolean => (reasons as readonly string[]).includes(name);
    const named = new Set([...guide.matchAll(/`([A-Z]+(?:_[A-Z]+)*)(?:=[^`]*)?`/g)].map(([, name = '']) => name));
    expect(named.size).toBeGreaterThan(4);
    expect([...named].filter((name) => !known.includes(name) && !isReason(name))).toEqual([]);
  });
});
