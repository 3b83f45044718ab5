import { Agent, fetch } from 'undici';
import type { Platform } from './platform.js';

/** No reply of the service is nearly as large. */
const MAX_REPLY_BYTES = 64 * 1024 * 1024;

const agents = new Map<number, Agent>();

/** Connections are shared by all clients with the same limit on connecting; the calls' own timeout is the only other one. */
const agentFor = (connectTimeoutMs: number): Agent => {
  const known = agents.get(connectTimeoutMs);
  if (known) return known;
  const agent = new Agent({
    connect: { timeout: connectTimeoutMs },
    headersTimeout: 0,
    bodyTimeout: 0,
    maxResponseSize: MAX_REPLY_BYTES,
  });
  agents.set(connectTimeoutMs, agent);
  return agent;
};

export const platform: Platform = {
  runtime: `node ${process.versions.node}`,
  environment: (name) => process.env[name],
  send: (url, request, connectTimeoutMs) => fetch(url, { ...request, dispatcher: agentFor(connectTimeoutMs) }),
};
