import type { Span } from '@opentelemetry/api';
import { type AppError, CallerLeft } from '../../errors.ts';
import { type CallObserver, type CallObservation, unobserved } from '../hooks.ts';
import { end, fail, type SpanScope } from './scope.ts';

/** In place of a procedure that does not exist. */
const UNKNOWN = 'unknown';
/** Why a call ended that nobody waits for any more. */
const LEFT = 'caller_left';

class TracedCall implements CallObservation {
  readonly #scope: SpanScope;
  readonly #span: Span;

  constructor(scope: SpanScope, span: Span) {
    this.#scope = scope;
    this.#span = span;
  }

  within<T>(work: () => T): T {
    return this.#scope.within(this.#span, work);
  }

  sent(): void {
    // Sizes are for metrics.
  }

  answered(): void {
    end(this.#span);
  }

  failed(error: AppError): void {
    fail(this.#span, error instanceof CallerLeft ? LEFT : error.reason);
    end(this.#span);
  }
}

/** A span for each call, which fails with the reason that its caller is told. */
export const callTraces = (scope: SpanScope): CallObserver => ({
  begin: (procedure) => {
    const attributes = procedure === undefined ? {} : { 'rpc.method': procedure };
    const span = scope.begin({ name: procedure ?? UNKNOWN, attributes });
    return span ? new TracedCall(scope, span) : unobserved;
  },
  replayed: () => {
    scope.current?.setAttribute('content_gateway.replayed', true);
  },
  shared: (outcome) => {
    // Else nothing would tell why it asks the database nothing.
    if (outcome === 'joined') scope.current?.setAttribute('content_gateway.shared', true);
  },
});
