/**
 * @engines sqlite server
 * @tier fast
 * @serverTier long
 */
import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, test } from '@jest/globals';
import { DAILY_GAME_TYPES, DAILY_TAGS, FAILED_CALL_HOURS, IDEMPOTENCY_HOURS } from '../../contract/limits.ts';
import { KEPT_MS } from '../../src/app/instances/registry.ts';
import { KEPT_DAYS } from '../../src/consumers/use/store.ts';
import { readConfig } from '../../src/config/config.ts';
import { MOST_CONNECTIONS } from '../../src/db/mysql/open.ts';
import { defaultSizes } from '../../src/search/segment.ts';
import { startApp } from '../harness/app/app.ts';

const guide = readFileSync('docs/sizing.md', 'utf8');
const app = await startApp();

/** The rows of the guide's table, by the names of tables. */
const rows = new Map([...guide.matchAll(/^\| `(\w+)` +(\|.*)$/gm)].map(([, name = '', row = '']) => [name, row]));

describe('sizing guide', () => {
  afterAll(() => app.stop());

  test('names every table of the database, and no other', async () => {
    const { db } = app.context;
    const isSqlite = db.dialect.engine === 'sqlite';
    const found = await db.read<{ name: string }>(
      isSqlite
        ? "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
        : 'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE()',
    );
    const names = found.map(({ name }) => name);
    expect(names.length).toBeGreaterThan(20);
    expect(new Set(names)).toEqual(new Set(rows.keys()));
  });

  test('the guides state the connections of a process as they are', () => {
    const stated = ['operations', 'sizing'].map((name) => {
      const text = readFileSync(`docs/${name}.md`, 'utf8');
      return [
        name,
        [...text.matchAll(/ (\d+) connections (?:on demand|to MySQL|of its own)/g)].map(([, n]) => Number(n)),
      ];
    });
    expect(stated).toEqual(stated.map(([name]) => [name, [MOST_CONNECTIONS]]));
  });

  test.each([
    ['key_uses', `after ${KEPT_DAYS} days`],
    ['failed_calls', `${FAILED_CALL_HOURS} hours after`],
    ['consumer_uses', `after ${KEPT_DAYS} days`],
    ['idempotency_records', `after ${IDEMPOTENCY_HOURS} hours`],
    ['audit_entries', `: ${readConfig({}).auditRetentionDays}`],
    ['events', `: ${readConfig({}).eventRetentionDays}`],
    ['instances', `${KEPT_MS / 3_600_000} hours after`],
    ['tags', DAILY_TAGS.toLocaleString('fr').replaceAll('\u{202f}', ' ')],
    ['counters', `${DAILY_GAME_TYPES} a day`],
    ['search_tail', `${defaultSizes.run} at a time`],
  ])('states the retention of %s as it is: %s', (table, figure) => {
    expect(rows.get(table)).toContain(figure);
  });
});
