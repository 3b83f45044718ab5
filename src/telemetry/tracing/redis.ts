import { SpanKind } from '@opentelemetry/api';
import type { RedisObserver, RoundTripObservation } from '../../base/observer.ts';
import { end, fail, type SpanScope, typeOf } from './scope.ts';

/** The defaults of an address without a port or a database. */
const PORT = 6379;
const DATABASE = '0';

const untraced: RoundTripObservation = { answered: () => undefined, failed: () => undefined };

/**
 * Makes a span for each Redis round trip of a call, by the semantic conventions for Redis clients, without keys and
 * values.
 */
export const redisTraces = (scope: SpanScope, redisUrl: string): RedisObserver => {
  const { hostname, port, pathname } = new URL(redisUrl);
  const place = {
    'db.system.name': 'redis',
    'db.namespace': pathname.slice(1) || DATABASE,
    'server.address': hostname.replaceAll(/[[\]]/g, ''),
    'server.port': port === '' ? PORT : Number(port),
  };
  return {
    sent: (command) => {
      const span = scope.begin({
        name: command,
        kind: SpanKind.CLIENT,
        attributes: { ...place, 'db.operation.name': command },
      });
      if (!span) return untraced;
      return {
        answered: (refusal) => {
          if (refusal !== undefined) {
            span.setAttribute('db.response.status_code', refusal);
            fail(span, refusal);
          }
          end(span);
        },
        failed: (error) => {
          fail(span, typeOf(error));
          end(span);
        },
      };
    },
  };
};
