import type { IncomingMessage } from 'node:http';
import { hostname } from 'node:os';
import { type Attributes, type Context, createTraceState, ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api';
import { holdsKey, withoutKeys } from '../../../contract/index.ts';
import { CallerLeft } from '../../base/errors.ts';
import { type CallObserver, type RequestObservation, type RequestObserver, unobserved } from '../../base/observer.ts';
import { traceParentOf } from '../../base/trace-context.ts';
import { end, fail, type SpanScope } from './scope.ts';

/** The most characters of a path in a span, more than the API's own paths have. */
const PATH_LENGTH = 200;
/** The methods that spans name; Node.js accepts thirty more. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']);
/** The error type of a request, or a call, without an answer. */
const LEFT = 'caller_left';

interface ServedAt {
  publicUrl: string | undefined;
  port: number;
}

/** The caller's span context, with its trace state. */
const parentOf = ({ headers }: IncomingMessage): Context => {
  const parent = traceParentOf(headers);
  if (!parent) return ROOT_CONTEXT;
  const { traceId, spanId, flags: traceFlags } = parent;
  const { tracestate } = headers;
  const isUsable = typeof tracestate === 'string' && !holdsKey(tracestate);
  const traceState = isUsable ? createTraceState(tracestate) : undefined;
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags,
    isRemote: true,
    ...(traceState && { traceState }),
  });
};

/** The configured public address of the service, else the name of its machine: a caller may name any other. */
const placeOf = ({ publicUrl, port: own }: ServedAt): Attributes => {
  // Port 0 means any free port.
  if (publicUrl === undefined)
    return { 'url.scheme': 'http', 'server.address': hostname(), ...(own > 0 && { 'server.port': own }) };
  const { protocol, hostname: host, port } = new URL(publicUrl);
  const scheme = protocol.slice(0, -1);
  const usual = scheme === 'https' ? 443 : 80;
  return { 'url.scheme': scheme, 'server.address': host, 'server.port': port === '' ? usual : Number(port) };
};

const untraced: RequestObservation = { within: (work) => work(), end: () => undefined };

/**
 * Makes a span for each request, by the semantic conventions for HTTP servers. It holds the method and the path, but
 * neither the query, which holds inputs, nor the caller: the log has both, with the trace's id.
 */
export const requestTraces = (scope: SpanScope, served: ServedAt): RequestObserver => {
  const place = placeOf(served);

  return {
    begin: (request, { group, pattern: route }) => {
      const { method = '', url = '', httpVersion } = request;
      // Most spans would be health checks.
      if (group === 'health') return untraced;
      const [path = ''] = url.split('?', 1);
      const isNamed = METHODS.has(method);
      const span = scope.beginIn(parentOf(request), {
        name: `${isNamed ? method : 'HTTP'}${route === undefined ? '' : ` ${route}`}`,
        kind: SpanKind.SERVER,
        attributes: {
          ...place,
          'http.request.method': isNamed ? method : '_OTHER',
          ...(!isNamed && { 'http.request.method_original': method }),
          ...(route !== undefined && { 'http.route': route }),
          'url.path': withoutKeys(path.slice(0, PATH_LENGTH)),
          'network.protocol.version': httpVersion,
        },
      });
      if (!span) return untraced;
      return {
        within: (work) => scope.within(span, work),
        end: (status) => {
          if (status === undefined) fail(span, LEFT);
          else {
            span.setAttribute('http.response.status_code', status);
            // A client error is not an error of the server.
            if (status >= 500) fail(span, String(status));
          }
          end(span);
        },
      };
    },
    unreadable: () => undefined,
  };
};

/** Replaces the names of procedures that do not exist. */
const UNKNOWN = 'unknown';
/** The protocol of all calls. */
const SYSTEM = 'trpc';

/** Makes a span for each call. The error type of a failed call is its reason. */
export const callTraces = (scope: SpanScope): CallObserver => ({
  begin: (procedure) => {
    const attributes = { 'rpc.system.name': SYSTEM, ...(procedure !== undefined && { 'rpc.method': procedure }) };
    const span = scope.begin({ name: procedure ?? UNKNOWN, attributes });
    if (!span) return unobserved;
    return {
      within: (work) => scope.within(span, work),
      // Only metrics count sizes.
      sent: () => undefined,
      answered: () => end(span),
      failed: (error) => {
        fail(span, error instanceof CallerLeft ? LEFT : error.reason);
        end(span);
      },
    };
  },
  replayed: () => {
    scope.current?.setAttribute('content_gateway.replayed', true);
  },
  shared: (outcome) => {
    // Otherwise nothing would explain why the call has no statements.
    if (outcome === 'joined') scope.current?.setAttribute('content_gateway.shared', true);
  },
});
