import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse,
} from 'node:http';
import { isIP } from 'node:net';
import type { Logger } from 'pino';
import { ConfigError } from '../../config/config.ts';
import { defaultLimits } from './connections.ts';
import { RequestIntake } from './request-intake.ts';
import type { Metrics } from '../../telemetry/metrics/metrics.ts';

const PATH = '/metrics';
/** The time limit for a scraper's request. */
const TIMEOUT_MS = 5000;
/** The longest time that a connection may be idle during an answer. */
const IDLE_MS = 30_000;
/** The interval at which Node checks for late requests. */
const CHECK_MS = 1000;
/** The most concurrent connections: a few scrapers, and people who look. */
const MOST_CONNECTIONS = 200;

const plain = 'text/plain; charset=utf-8';

/** Whether a browser may ask for a document under this host name: another site may make its own name resolve here. */
const isLocalName = (host: string, own: string): boolean => {
  const name = host.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
  return name === 'localhost' || name === own || isIP(name) !== 0;
};

/** Whether the request is from a browser. Scrapers, which may use any name, do not send this header. */
const isBrowser = (headers: IncomingHttpHeaders): boolean => headers['accept-language'] !== undefined;

/** The headers of documents, which load no scripts and nothing from other origins. */
const DOCUMENT_HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; style-src 'self'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'",
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
};

/** A document that is served beside the metrics. */
export interface MetricsDocument {
  /** Its media type. */
  type: string;
  read: () => Promise<string | Buffer>;
}

/** The server of this process' metrics. */
export interface MetricsServer {
  close: () => Promise<void>;
}

/**
 * Serves `GET /metrics`, and documents by their paths, on this process' own port, even where processes share the
 * service's port.
 * @throws ConfigError for an address that is not available
 */
export const serveMetrics = async (
  metrics: Metrics,
  { host, port }: { host: string; port: number },
  log: Logger,
  documents: ReadonlyMap<string, MetricsDocument> = new Map(),
): Promise<MetricsServer> => {
  const server = createServer(
    {
      requestTimeout: TIMEOUT_MS,
      headersTimeout: TIMEOUT_MS,
      keepAliveTimeout: 2 * 60_000,
      connectionsCheckingInterval: CHECK_MS,
    },
    (request, response) => {
      response.once('close', () => intake.answered(request));
      intake.begin(request, response, () => serve(request, response));
    },
  );
  const serve = ({ method, url = '', headers }: IncomingMessage, response: ServerResponse): void => {
    const answer = (status: number, text: string | Buffer, type = plain, more: OutgoingHttpHeaders = {}): void => {
      response.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(text), ...more });
      response.end(method === 'HEAD' ? '' : text);
    };
    const path = url.split('?', 1)[0] ?? '';
    const document = documents.get(path);
    if (path !== PATH && !document) answer(404, `Metrics are at ${[PATH, ...documents.keys()].join(', ')}.\n`);
    else if (method !== 'GET' && method !== 'HEAD') answer(405, 'Ask by GET.\n', plain, { Allow: 'GET, HEAD' });
    else if ((document || isBrowser(headers)) && !isLocalName(headers.host ?? '', host)) {
      answer(403, 'Ask by an IP address or as localhost: other names may be led here by a page.\n');
    } else if (document) {
      document.read().then(
        (text) => answer(200, text, document.type, DOCUMENT_HEADERS),
        (error: unknown) => {
          log.warn({ err: error }, 'the state of the service could not be read');
          answer(503, 'The state could not be read; the log says why.\n');
        },
      );
    } else {
      metrics.text().then(
        (text) => answer(200, text, metrics.type),
        (error: unknown) => {
          log.error({ err: error }, 'the metrics could not be read');
          answer(500, 'The metrics could not be read; the log says why.\n');
        },
      );
    }
  };
  const intake = new RequestIntake(
    server,
    (_fault, socket) => {
      if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
      else socket.destroy();
    },
    defaultLimits.lingerMs,
  );
  server.maxConnections = MOST_CONNECTIONS;
  server.timeout = IDLE_MS;
  // A worker that asked its supervisor for the port would share it.
  server.listen({ host, port, exclusive: true });
  try {
    await once(server, 'listening');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const fault = code === 'EADDRINUSE' ? 'is in use' : `cannot be had (${message})`;
    throw new ConfigError(`METRICS_PORT "${port}" ${fault} on ${host}: choose another METRICS_PORT or METRICS_HOST`);
  }
  server.unref();
  log.info({ host, port }, 'metrics');
  return {
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
};
