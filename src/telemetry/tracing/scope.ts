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
import { AppError } from '../../errors.ts';
import { preciseNow } from './clock.ts';

/** What a span is about, from its beginning on. */
export interface SpanOptions {
  name: string;
  kind?: SpanKind;
  attributes?: Attributes;
}

/** Why something that we asked for failed: a reason of ours, or the code of what we asked. */
export const typeOf = (error: unknown): string => {
  if (error instanceof AppError) return error.reason;
  const { code, constructor } = error as { code?: unknown; constructor: { name: string } };
  return typeof code === 'string' ? code : constructor.name;
};

/** Says of a span why it failed. Never in words: they may hold what a caller sent. */
export const fail = (span: Span, type: string): void => {
  span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR });
};

/** To be called once for each span. */
export const end = (span: Span): void => span.end(preciseNow());

/** Begins spans, and knows to which one belongs what is done now. Nothing of it is global, as it would be by OpenTelemetry's API. */
export class SpanScope {
  readonly #tracer: Tracer;
  readonly #current = new AsyncLocalStorage<Span>();

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  /** The span that what is done now belongs to: one that is recorded, and has not ended. */
  get current(): Span | undefined {
    const span = this.#current.getStore();
    return span?.isRecording() ? span : undefined;
  }

  /**
   * Begins a span below the current one; none where there is none. What is done in the background belongs to nobody, and
   * what a call began and did not wait for, no longer to it.
   */
  begin(about: SpanOptions): Span | undefined {
    const { current } = this;
    return current && this.beginIn(trace.setSpan(ROOT_CONTEXT, current), about);
  }

  /** Begins a span below what a context holds, if it is to be recorded. */
  beginIn(parent: Context, { name, kind = SpanKind.INTERNAL, attributes = {} }: SpanOptions): Span | undefined {
    const span = this.#tracer.startSpan(name, { kind, attributes, startTime: preciseNow() }, parent);
    return span.isRecording() ? span : undefined;
  }

  /** Does a piece of work that belongs to a span. */
  within<T>(span: Span, work: () => T): T {
    return this.#current.run(span, work);
  }
}
