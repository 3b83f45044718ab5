import { type Attributes, SpanKind } from '@opentelemetry/api';
import { LRUCache } from 'lru-cache';
import { performance } from '../../base/runtime.ts';
import type { DatabaseObserver, PoolObserver, StatementObservation } from '../../base/observer.ts';
import { end, fail, preciseNow, type SpanOptions, type SpanScope, typeOf } from './scope.ts';

/** The number of statements whose descriptions are cached, and the most characters of a statement in a span. */
const MOST_TEXTS = 1000;
const TEXT_LENGTH = 2000;
/** The shortest wait for a connection that is recorded, in milliseconds. */
const LEAST_WAIT_MS = 1;

/** An innermost pair of brackets. */
const INNERMOST = /\([^()]*\)/g;
/** Replaces the content of brackets, so that the alias of a subquery is not taken for a table. */
const BRACKETS = '\u0000';
/** The first table of a statement. */
const TABLE = /\b(?:FROM|INTO|UPDATE|JOIN)\s+[`"]?(\w+)/i;
/** Lists of parameters, which differ only in length. */
const LISTS = /\?(?:\s*,\s*\?)+/g;

const untraced: StatementObservation = { sent: () => undefined, end: () => undefined };

/** The first table outside of brackets, else the first table. */
const tableOf = (sql: string): string | undefined => {
  let [outer, before] = [sql, ''];
  while (outer !== before) [outer, before] = [outer.replaceAll(INNERMOST, BRACKETS), outer];
  return (TABLE.exec(outer) ?? TABLE.exec(sql))?.[1];
};

/** The attributes of all statements, which describe the database. */
export interface TracedDatabase {
  attributes: Attributes;
}

/**
 * Makes a span for each statement of a call, from its request on, by the semantic conventions for database clients. The
 * texts hold no values: all values are parameters.
 */
export const databaseTraces = (scope: SpanScope, target: TracedDatabase): DatabaseObserver => {
  const known = new LRUCache<string, SpanOptions>({ max: MOST_TEXTS });

  const describe = (sql: string): SpanOptions => {
    const text = sql.replaceAll(/\s+/g, ' ').trim();
    const operation = (/^\w+/.exec(text)?.[0] ?? '').toUpperCase();
    const table = tableOf(text);
    const name = table === undefined ? operation : `${operation} ${table}`;
    return {
      name,
      kind: SpanKind.CLIENT,
      attributes: {
        ...target.attributes,
        'db.operation.name': operation,
        'db.query.summary': name,
        'db.query.text': text.replaceAll(LISTS, '?, …').slice(0, TEXT_LENGTH),
      },
    };
  };

  const statement = (sql: string): StatementObservation => {
    if (!scope.current) return untraced;
    let about = known.get(sql);
    if (!about) known.set(sql, (about = describe(sql)));
    const span = scope.begin(about);
    if (!span) return untraced;
    const asked = performance.now();
    return {
      sent: (server) => {
        if (server) span.setAttributes({ 'server.address': server.host, 'server.port': server.port });
        if (performance.now() - asked > LEAST_WAIT_MS) span.addEvent('sent', preciseNow());
      },
      end: (error) => {
        // Drivers return null for a missing value.
        if (error !== undefined && error !== null) fail(span, typeOf(error));
        end(span);
      },
    };
  };
  const pool: PoolObserver = { waited: () => undefined, statement };

  return {
    pool: () => pool,
    // The attempt's failed statement or the event of its retry records this.
    failed: () => undefined,
    retried: (cause) => {
      scope.current?.addEvent('retry', { 'content_gateway.cause': cause }, preciseNow());
    },
    coalesced: () => () => undefined,
  };
};
