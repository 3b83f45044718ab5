import { Agent, Pool, ProxyAgent, fetch, getGlobalDispatcher } from 'undici';
import type { Dispatcher } from 'undici';
import type { Platform } from './platform.js';
import { proxyFor } from './proxy.js';
import type { Proxy } from './proxy.js';

/** The calls' own timeout is the only one but that on connecting. */
const LIMITS = { headersTimeout: 0, bodyTimeout: 0 };

const agents = new Map<string, Dispatcher>();

const agentWith = (proxy: Proxy | undefined, connectTimeoutMs: number): Dispatcher => {
  const connect = { timeout: connectTimeoutMs };
  if (!proxy) return new Agent({ ...LIMITS, connect });
  const pool = (origin: URL, options: object): Pool => new Pool(origin, { ...options, ...LIMITS });
  return new ProxyAgent({
    uri: proxy.origin,
    ...(proxy.authorization && { token: proxy.authorization }),
    // With http, the proxy is sent the request itself.
    proxyTunnel: false,
    proxyTls: connect,
    requestTls: connect,
    factory: pool,
    clientFactory: pool,
  });
};

/** Connections are shared by all clients with the same proxy and the same limit on connecting. */
const agentFor = (proxy: Proxy | undefined, connectTimeoutMs: number): Dispatcher => {
  const name = JSON.stringify([proxy, connectTimeoutMs]);
  const agent = agents.get(name) ?? agentWith(proxy, connectTimeoutMs);
  agents.set(name, agent);
  return agent;
};

const initial = getGlobalDispatcher();

/** undici 8 wraps its dispatcher for undici 7, and keeps it here. */
const unwrapped = (dispatcher: Dispatcher): object =>
  dispatcher.constructor.name === 'Dispatcher1Wrapper'
    ? ((globalThis as Record<symbol, object>)[Symbol.for('undici.globalDispatcher.2')] ?? dispatcher)
    : dispatcher;

/** Whether what was there first is the default of undici, or of Node.js, which has an undici of its own. */
const isDefault = [Agent.name, 'Agent'].includes(unwrapped(initial).constructor.name);

/** The global dispatcher, if the app has set one: a `MockAgent`, say. Its type is inferred, since undici is not installed where this is linted. */
const dispatcherOfApp = () => {
  const dispatcher = getGlobalDispatcher();
  return isDefault && dispatcher === initial ? undefined : dispatcher;
};

export const platform: Platform = {
  runtime: `node ${process.versions.node}`,
  environment: (name) => process.env[name],
  log: (line) => void process.stderr.write(`${line}\n`),
  senderTo: (baseUrl) => {
    const proxy = proxyFor(baseUrl, process.env);
    return (url, request, connectTimeoutMs) =>
      fetch(url, { ...request, dispatcher: dispatcherOfApp() ?? agentFor(proxy, connectTimeoutMs) });
  },
};
