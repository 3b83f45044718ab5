import { once } from 'node:events';
import { createServer } from 'node:http';
import { measureCost } from './cost.mjs';
import { figure } from './report.mjs';

/** Takes whatever is sent, and counts it. */
const startSink = async () => {
  const sink = { bytes: 0 };
  const server = createServer((request, response) => {
    request.on('data', (chunk) => (sink.bytes += chunk.length));
    request.on('end', () => response.writeHead(200, { 'Content-Type': 'application/x-protobuf' }).end());
  });
  server.listen(0, '127.0.0.1').unref();
  await once(server, 'listening');
  return Object.assign(sink, { url: `http://127.0.0.1:${server.address().port}` });
};

/**
 * What traces cost: CPU time per request while they are off, beside the version in the folder `before` if one is named; when
 * one request of a hundred is recorded; and when all are, of which many are dropped then.
 */
export const measureTraces = async (options) => {
  const sink = await startSink();
  const on = { OTEL_EXPORTER_OTLP_ENDPOINT: sink.url };
  const sampled = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.01' };
  const text = await measureCost(options, {
    kindsOf: () => [
      ...(options.before ?? []).slice(0, 1).map((root) => ({ name: 'before', root })),
      { name: 'off' },
      { name: '1 %', env: { ...on, ...sampled } },
      { name: 'all', env: on },
    ],
  });
  return `${text}

The collector got ${figure(sink.bytes / 1e6)} MB.`;
};
