/**
 * @engines none
 * @tier fast
 */
import { describe, expect, test } from '@jest/globals';
import type { Connection } from 'mysql2';
import { isBroken, isRefusedCommit, isUnfit, faultOf } from '../../../src/db/mysql/errors.ts';
import { applySettings } from '../../../src/db/mysql/connect.ts';
import { backstopSettings, type Setting } from '../../../src/db/mysql/settings.ts';

// What stands between the service and its MySQL, as Vitess does: what it says of that, and what it is told.

const target = 'target: content.0.primary:';
const tablet = `${target} vttablet: rpc error: code =`;
/** Errors of Vitess 24. */
const away: [number, string][] = [
  [1105, `${target} no healthy tablet available for 'keyspace:"content" shard:"0" tablet_type:PRIMARY'`],
  [1105, `${tablet} Code(17) desc = operation not allowed in state SHUTTING_DOWN`],
  [1105, `${tablet} Code(17) desc = operation not allowed in state NOT_SERVING`],
  [1105, `${target} VT14002: no available connection`],
  [1105, `${target} vttablet: Connection Closed`],
  [1105, `${tablet} Unavailable desc = error reading from server: read: connection reset by peer`],
  [1105, `${tablet} FailedPrecondition desc = disallowed due to rule: enforce denied tables (CallerID: userData1)`],
  [
    2003,
    `${tablet} Unavailable desc = net.Dial(127.0.0.1:3306) to connect to MySQL: refused (errno 2003) (sqlstate HY000)`,
  ],
  [2013, `${tablet} Canceled desc = EOF (errno 2013) (sqlstate HY000)`],
];

describe('errors of proxies', () => {
  test.each(away)(
    'an error %d that the database behind is away may pass, and leaves the connection',
    (errno, message) => {
      const error = Object.assign(new Error(message), { errno });
      expect(faultOf(error)).toBe('unreachable');
      expect([isBroken(error), isUnfit(error)]).toEqual([false, false]);
      // Of a COMMIT nobody knows.
      expect(isRefusedCommit(error)).toBe(false);
    },
  );

  test.each([
    // A transaction of several shards that is not finished ends with this number, too.
    [1105, 'VT12001: unsupported: cross-shard query', false],
    [1062, "Duplicate entry 'no healthy tablet available' for key 'tags.slug'", true],
  ])('any other error %d does not', (errno, message, isRefused) => {
    const error = Object.assign(new Error(message), { errno });
    expect([faultOf(error), isRefusedCommit(error)]).toEqual([undefined, isRefused]);
  });

  /** What a server of this version is sent, where it refuses statements that match with this error. */
  const sent = async (serverVersion: string, settings: readonly Setting[], refused?: RegExp, errno?: number) => {
    const statements: string[] = [];
    const query = (sql: string, done: (error: Error | null) => void): void => {
      statements.push(sql);
      done(refused?.test(sql) ? Object.assign(new Error('refused'), { errno }) : null);
    };
    const connection = { _handshakePacket: { serverVersion }, query, stream: { destroy: () => undefined } };
    const outcome: unknown = await applySettings(connection as unknown as Connection, settings).catch(
      (error: unknown) => error,
    );
    return { statements: statements.join('; '), outcome };
  };

  const backstops = backstopSettings({ statementMs: 2000, engine: 'mysql' });

  test('Vitess is told limits of its own, and MySQL its', async () => {
    const onVitess = await sent('8.4.6-Vitess', backstops);
    expect(onVitess.outcome).toBeUndefined();
    expect(onVitess.statements).toMatch(/query_timeout = 3000; SET SESSION transaction_timeout = 3000;/);
    expect(onVitess.statements).not.toContain('max_execution_time');
    const onMysql = await sent('9.7.4', backstops);
    expect(onMysql.statements).toContain('max_execution_time = 3000');
    expect(onMysql.statements).not.toMatch(/query_timeout|transaction_timeout/);
  });

  test('an older Vitess is used without what it does not know, and without nothing else', async () => {
    expect(await sent('8.0.40-Vitess', backstops, /transaction_timeout/, 1193)).toMatchObject({
      outcome: undefined,
      statements: expect.stringContaining('innodb_lock_wait_timeout'),
    });
    expect((await sent('8.4.6-Vitess', backstops, /transaction_timeout/, 1064)).outcome).toBeInstanceOf(Error);
    expect((await sent('9.7.4', backstops, /max_execution_time/, 1193)).outcome).toBeInstanceOf(Error);
  });
});
