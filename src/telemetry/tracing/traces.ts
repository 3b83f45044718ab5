import { hostname } from 'node:os';
import { type Attributes, diag, DiagLogLevel } from '@opentelemetry/api';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { Logger } from 'pino';
import { randomUUID, sleep } from '../../base/runtime.ts';
import type { Config } from '../../config/config.ts';
import { serverAddresses } from '../../db/address.ts';
import type { Observer, OverloadObserver } from '../../base/observer.ts';
import { release } from '../../base/version.ts';
import { databaseTraces, type TracedDatabase } from './database.ts';
import { Exporter } from './exporter.ts';
import { redisTraces } from './redis.ts';
import { callTraces, requestTraces } from './requests.ts';
import { preciseNow, SpanScope } from './scope.ts';

/** Records the queue times of calls. */
export const overloadTraces = (scope: SpanScope): OverloadObserver => ({
  limiter: () => ({
    began: (waitedMs) => {
      if (waitedMs > 0) scope.current?.setAttribute('content_gateway.waited_ms', Math.round(waitedMs * 10) / 10);
    },
    refused: () => undefined,
  }),
  shed: () => undefined,
});

const NAME = 'content-gateway';
/** The time limit for the last spans when the service stops, in milliseconds. */
const FLUSH_MS = 2000;

/** The resource of this process. Its host and process number match the log lines. */
const identity = (): Attributes => ({
  'service.name': NAME,
  'service.version': release,
  'service.instance.id': randomUUID(),
  'host.name': hostname(),
  'process.pid': process.pid,
});

const ignore = (): void => undefined;

/** The traces of this process, by OpenTelemetry, which reads its standard variables itself. */
export class Traces {
  /** The observer that records traces. */
  readonly observer: Observer;
  readonly #provider: BasicTracerProvider;
  readonly #target: TracedDatabase;

  constructor(
    { publicUrl, port, databaseUrl, redisUrl }: Pick<Config, 'publicUrl' | 'port' | 'databaseUrl' | 'redisUrl'>,
    log: Logger,
  ) {
    const warn = (message: string): void => log.warn({ openTelemetry: message }, 'OpenTelemetry');
    diag.setLogger(
      { error: warn, warn, info: ignore, debug: ignore, verbose: ignore },
      { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
    );
    this.#provider = new BasicTracerProvider({
      resource: defaultResource()
        .merge(resourceFromAttributes(identity()))
        .merge(detectResources({ detectors: [envDetector] })),
      spanProcessors: [new BatchSpanProcessor(new Exporter(log))],
    });
    const scope = new SpanScope(this.#provider.getTracer(NAME, release));
    const [server] = databaseUrl.startsWith('sqlite:') ? [] : serverAddresses(databaseUrl);
    this.#target = { attributes: server ? { 'db.namespace': server.database } : {} };
    this.observer = {
      requests: requestTraces(scope, { publicUrl, port }),
      calls: callTraces(scope),
      overload: overloadTraces(scope),
      database: databaseTraces(scope, this.#target),
      redis: redisUrl === undefined ? undefined : redisTraces(scope, redisUrl),
      limited: (policy) => {
        scope.current?.addEvent('limited', { 'content_gateway.policy': policy }, preciseNow());
      },
      identified: (requestId) => {
        scope.current?.setAttribute('content_gateway.request_id', requestId);
      },
      traceId: () => scope.current?.spanContext().traceId,
    };
  }

  /** Sets the database engine of all further statement spans. */
  setEngine(engine: string): void {
    this.#target.attributes['db.system.name'] = engine;
  }

  /**
   * Sends the last spans, within two seconds or `ms`. Returns whether the collector accepted them; if not, pending
   * requests keep the process alive.
   */
  async close(ms: number): Promise<boolean> {
    const late = new AbortController();
    const sent = this.#provider.shutdown().then(
      () => true,
      () => true,
    );
    const isSent = await Promise.race([
      sent,
      sleep(Math.min(FLUSH_MS, ms), false, { signal: late.signal }).catch(() => false),
    ]);
    late.abort();
    return isSent;
  }
}
