/**
 * @engines none
 * @tier fast
 */
import { ROOT_CONTEXT, SpanStatusCode } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { describe, expect, test } from '@jest/globals';
import { AppError } from '../../src/base/errors.ts';
import { overloadTraces } from '../../src/telemetry/tracing/traces.ts';
import { databaseTraces } from '../../src/telemetry/tracing/database.ts';
import { end, SpanScope } from '../../src/telemetry/tracing/scope.ts';

const traced = (work: (scope: SpanScope) => void): ReadableSpan[] => {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const scope = new SpanScope(provider.getTracer('test'));
  const call = scope.beginIn(ROOT_CONTEXT, { name: 'call' })!;
  scope.within(call, () => work(scope));
  end(call);
  return exporter.getFinishedSpans();
};
const unasked = (): never => {
  throw new Error('nobody asks');
};

describe('tracing', () => {
  test.each([
    [undefined, SpanStatusCode.UNSET, undefined],
    [null, SpanStatusCode.UNSET, undefined],
    [new AppError('TIMEOUT'), SpanStatusCode.ERROR, 'TIMEOUT'],
    [Object.assign(new Error('Duplicate entry'), { code: 'ER_DUP_ENTRY' }), SpanStatusCode.ERROR, 'ER_DUP_ENTRY'],
    [new TypeError('no'), SpanStatusCode.ERROR, 'TypeError'],
  ])('a statement that ends with %p says why, in no words of the database', (error, code, type) => {
    const [span] = traced((scope) => {
      databaseTraces(scope, { attributes: {} }).pool('reads', unasked).statement('SELECT 1 FROM games').end(error);
    });
    expect(span).toMatchObject({ name: 'SELECT games', status: { code } });
    expect(span?.status.message).toBeUndefined();
    expect(span?.attributes['error.type']).toBe(type);
  });

  test.each([
    ['SELECT r.id FROM games r JOIN users u ON u.id = r.author_id', 'SELECT games'],
    ['SELECT c.id FROM (SELECT game_id FROM game_tags UNION SELECT 1) c JOIN games r ON r.id = c.id', 'SELECT games'],
    ['SELECT name FROM (SELECT name FROM (SELECT 1) x JOIN counters k) c0', 'SELECT counters'],
    ['INSERT INTO tags (id) VALUES (?)', 'INSERT tags'],
    ['DELETE FROM game_tags WHERE game_id IN (SELECT id FROM games)', 'DELETE game_tags'],
    ['UPDATE `games` SET tag_ids = ?', 'UPDATE games'],
    ['COMMIT', 'COMMIT'],
  ])('%s is summed up as %s, by a table and never by an alias', (sql, summary) => {
    const [span] = traced((scope) => {
      databaseTraces(scope, { attributes: {} }).pool('reads', unasked).statement(sql).end();
    });
    expect([span?.name, span?.attributes['db.query.summary']]).toEqual([summary, summary]);
  });

  test.each([
    [0, {}],
    [12.34, { 'content_gateway.waited_ms': 12.3 }],
  ])('a call that waited %d ms in the queue', (ms, attributes) => {
    const [call] = traced((scope) => overloadTraces(scope).limiter('game.write', unasked).began(ms));
    expect(call?.attributes).toEqual(attributes);
  });
});
