import { type Span, SpanKind } from '@opentelemetry/api';
import type { RedisObserver, RoundTripObservation } from '../../limits/rate-limit/stores/round-trips.ts';
import { end, fail, type SpanScope, typeOf } from './scope.ts';

/** The defaults of an address without a port or a database. */
const PORT = 6379;
const DATABASE = '0';

class TracedRoundTrip implements RoundTripObservation {
  readonly #span: Span;

  constructor(span: Span) {
    this.#span = span;
  }

  answered(refusal?: string): void {
    if (refusal !== undefined) {
      this.#span.setAttribute('db.response.status_code', refusal);
      fail(this.#span, refusal);
    }
    end(this.#span);
  }

  failed(error: unknown): void {
    fail(this.#span, typeOf(error));
    end(this.#span);
  }
}

const untraced: RoundTripObservation = { answered: () => undefined, failed: () => undefined };

/**
 * Makes a span for each round trip of a call to Redis, by the semantic conventions for its clients, without keys and
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
      return span ? new TracedRoundTrip(span) : untraced;
    },
  };
};
