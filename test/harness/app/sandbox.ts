import { expect } from '@jest/globals';
import { pino } from 'pino';
import { closeContext, openContext } from '../../../src/app/context.ts';
import { readConfig, sandboxOf } from '../../../src/config/config.ts';
import { HttpServer } from '../../../src/http/server/http-server.ts';
import type { Catalogue } from '../../../src/sandbox/catalogue.ts';
import { createSandboxApp } from '../../../src/sandbox/middleware.ts';
import { SandboxWorkspaces } from '../../../src/sandbox/workspaces.ts';
import { checkReply } from './published.ts';

/** The time of each sandbox at its start. */
export const NOW = new Date('2026-11-20T10:20:30.000Z');

/** The sandbox, in this process, at `time.now`. */
export const startSandbox = async (kept?: Parameters<typeof SandboxWorkspaces.open>[1], seed?: number) => {
  const time = { now: NOW };
  const main = await openContext(sandboxOf(readConfig({}), seed), pino({ level: 'silent' }), () => time.now);
  const spaces = await SandboxWorkspaces.open(main, kept);
  const listener = new HttpServer(createSandboxApp(main, spaces));
  const url = `http://127.0.0.1:${await listener.listen(0, '127.0.0.1')}`;
  const send = (id: string, json: unknown, headers: Record<string, string> = {}) =>
    fetch(`${url}/api/trpc/${id}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify({ json }),
    });
  return {
    url,
    time,
    stopping: main.lifecycle.stopping.signal,
    send,
    call: async (id: string, json: unknown, headers: Record<string, string> = {}) => {
      const response = await send(id, json, headers);
      const body: unknown = await response.json();
      checkReply(id, { status: response.status, headers: Object.fromEntries(response.headers), body });
      return { status: response.status, headers: response.headers, body };
    },
    reset: async (headers: Record<string, string> = {}) => {
      const { status } = await fetch(`${url}/sandbox/reset`, { method: 'POST', headers });
      expect(status).toBe(204);
    },
    catalogue: async () => (await (await fetch(`${url}/sandbox`)).json()) as Catalogue,
    stop: async () => {
      await listener.stop(1000);
      await spaces.close();
      await closeContext(main);
    },
  };
};

export type Sandbox = Awaited<ReturnType<typeof startSandbox>>;
