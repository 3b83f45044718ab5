import type { Span } from '@opentelemetry/api';
import { type AppError, CallerLeft } from '../../base/errors.ts';
import { type CallObserver, type CallObservation, unobserved } from '../hooks.ts';
import { end, fail, type SpanScope } from './scope.ts';

/** Stands for procedures that do not exist. */
const UNKNOWN = 'unknown';
/** The protocol that all calls keep to. */
const SYSTEM = 'trpc';
/** The error type of a call whose caller left. */
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

/** Makes a span for each call. A failed call has the reason as its error type. */
export const callTraces = (scope: SpanScope): CallObserver => ({
  begin: (procedure) => {
    const attributes = { 'rpc.system.name': SYSTEM, ...(procedure !== undefined && { 'rpc.method': procedure }) };
    const span = scope.begin({ name: procedure ?? UNKNOWN, attributes });
    return span ? new TracedCall(scope, span) : unobserved;
  },
  replayed: () => {
    scope.current?.setAttribute('content_gateway.replayed', true);
  },
  shared: (outcome) => {
    // Otherwise nothing would explain why the call has no statements.
    if (outcome === 'joined') scope.current?.setAttribute('content_gateway.shared', true);
  },
});
