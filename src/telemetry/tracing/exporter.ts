import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base';
import type { Logger } from 'pino';
import { performance } from '../../base/runtime.ts';

type Report = Parameters<SpanExporter['export']>[1];

/** The interval of log lines about a collector that does not accept spans. */
const LOGGED_EVERY_MS = 60_000;
/** OpenTelemetry's success code. */
const SUCCESS: Parameters<Report>[0]['code'] = 0;

/** Sends spans to a collector, by the standard variables, and periodically logs the number of rejected spans. */
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
      // The SDK would log the failure a second time.
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
