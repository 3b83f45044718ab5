import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base';
import type { Logger } from 'pino';

type Report = Parameters<SpanExporter['export']>[1];

/** How often the log hears of a collector that takes nothing. */
const LOGGED_EVERY_MS = 60_000;
/** OpenTelemetry's word for success. */
const SUCCESS: Parameters<Report>[0]['code'] = 0;

/** Sends spans to a collector, as the standard variables say, and tells the log, now and then, of those that it did not take. */
export class Exporter implements SpanExporter {
  readonly #log: Logger;
  readonly #sender = new OTLPTraceExporter();
  #lost = 0;
  #quietUntil = 0;

  constructor(log: Logger) {
    this.#log = log;
  }

  export(spans: ReadableSpan[], report: Report): void {
    this.#sender.export(spans, (result) => {
      if (result.code !== SUCCESS) this.#noteLost(spans.length, result.error);
      // Whoever asked would only tell it the log again.
      report({ code: SUCCESS });
    });
  }

  forceFlush(): Promise<void> {
    return this.#sender.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.#sender.shutdown();
  }

  #noteLost(spans: number, error: Error | undefined): void {
    this.#lost += spans;
    const now = performance.now();
    if (now < this.#quietUntil) return;
    this.#quietUntil = now + LOGGED_EVERY_MS;
    this.#log.warn({ err: error, spans: this.#lost }, 'traces could not be sent, and are lost');
    this.#lost = 0;
  }
}
