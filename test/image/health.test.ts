/**
 * @engines none
 * @tier fast
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { freePort } from '../harness/free-ports.mjs';

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  server = undefined;
});

const serve = async (answer: RequestListener): Promise<number> => {
  server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
};

/** The outcome of the image's check of its own service. */
const check = (port: number, host = '127.0.0.1'): Promise<{ code: number; stderr: string }> =>
  new Promise((resolve) => {
    const env = { PATH: process.env['PATH'], PORT: String(port), HOST: host };
    execFile('bash', ['deploy/image/health'], { env }, (error, _stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), stderr }),
    );
  });

describe('the health check of the image', () => {
  test.each(['127.0.0.1', '0.0.0.0'])('passes a service that listens on %s', async (host) => {
    const asked: string[] = [];
    const port = await serve(({ method, url }, response) => {
      asked.push(`${method} ${url}`);
      response.end('{}');
    });
    expect(await check(port, host)).toEqual({ code: 0, stderr: '' });
    expect(asked).toEqual(['GET /healthz']);
  });

  test('fails one that answers something else', async () => {
    const port = await serve((_request, response) => response.writeHead(404).end());
    expect(await check(port)).toEqual({ code: 1, stderr: '/healthz answers 404\n' });
  });

  test('fails one that does not answer, or is not there', async () => {
    const port = await serve(() => undefined);
    expect(await check(port)).toEqual({ code: 1, stderr: '/healthz does not answer within 3 seconds\n' });
    const free = await freePort();
    expect(await check(free)).toEqual({
      code: 1,
      stderr: `/healthz: 127.0.0.1 refuses connections on port ${free}\n`,
    });
  });
});
