import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from '@opentelemetry/api';
import { AppError } from '../../base/errors.ts';
import { currentTime, performance } from '../../base/runtime.ts';

/** The largest difference from the system's clock, in milliseconds; beyond, this clock is reset to it. */
const MOST_OFF_MS = 20;

let offset = performance.timeOrigin;

/**
 * Milliseconds since 1970, with microseconds: OpenTelemetry's own spans begin at whole milliseconds, each long enough
 * for a dozen statements. The clock is monotonic except after a change of the system's clock.
 */
export const preciseNow = (): number => {
  const now = performance.now();
  const off = currentTime() - (offset + now);
  if (Math.abs(off) > MOST_OFF_MS) offset += off;
  return offset + now;
};

/** The name, kind and attributes of a span. */
export interface SpanOptions {
  name: string;
  kind?: SpanKind;
  attributes?: Attributes;
}

/** The error type: a reason of the catalogue, or the code of a driver. */
export const typeOf = (error: unknown): string => {
  if (error instanceof AppError) return error.reason;
  const { code, constructor } = error as { code?: unknown; constructor: { name: string } };
  return typeof code === 'string' ? code : constructor.name;
};

/** Marks a span as failed, with an error type. A message is never used, since it may hold values of callers. */
export const fail = (span: Span, type: string): void => {
  span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR });
};

/** Ends a span. Called once. */
export const end = (span: Span): void => span.end(preciseNow());

/** Begins spans, and tracks the current one. It uses no global state, in contrast to OpenTelemetry's API. */
export class SpanScope {
  readonly #tracer: Tracer;
  readonly #current = new AsyncLocalStorage<Span>();

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  /** The current span, if it is recorded and has not ended. */
  get current(): Span | undefined {
    const span = this.#current.getStore();
    return span?.isRecording() ? span : undefined;
  }

  /**
   * Begins a child of the current span, if it exists. Background work has no span, nor does work that a call did not
   * wait for.
   */
  begin(about: SpanOptions): Span | undefined {
    const { current } = this;
    return current && this.beginIn(trace.setSpan(ROOT_CONTEXT, current), about);
  }

  /** Begins a child of the span in a context, if it is sampled. */
  beginIn(parent: Context, { name, kind = SpanKind.INTERNAL, attributes = {} }: SpanOptions): Span | undefined {
    const span = this.#tracer.startSpan(name, { kind, attributes, startTime: preciseNow() }, parent);
    return span.isRecording() ? span : undefined;
  }

  /** Runs work within a span. */
  within<T>(span: Span, work: () => T): T {
    return this.#current.run(span, work);
  }
}
