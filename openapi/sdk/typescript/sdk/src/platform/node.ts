import { Agent, Pool, ProxyAgent, fetch, getGlobalDispatcher } from 'undici';
import type { Dispatcher } from 'undici';
import type { Platform } from './platform.js';
import { proxyFor } from './proxy.js';
import type { Proxy } from './proxy.js';
import { recorded } from './recorded.js';

/** The calls' own timeout is the only one but that on connecting. */
const LIMITS = { headersTimeout: 0, bodyTimeout: 0 };

const agents = new Map<string, Dispatcher>();

/** What connections have in common that can be used for each other's requests. */
interface Sharing {
  readonly proxy: Proxy | undefined;
  readonly connectTimeoutMs: number;
  readonly maxConnections: number | null;
}

const agentWith = ({ proxy, connectTimeoutMs, maxConnections: connections }: Sharing): Dispatcher => {
  const connect = { timeout: connectTimeoutMs };
  if (!proxy) return new Agent({ ...LIMITS, connect, connections });
  const pool = (origin: URL, options: object): Pool => new Pool(origin, { ...options, ...LIMITS, connections });
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

/** Connections are shared by all clients with the same proxy and the same limits. */
const agentFor = (sharing: Sharing): Dispatcher => {
  const name = JSON.stringify(sharing);
  const agent = agents.get(name) ?? agentWith(sharing);
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
  senderTo: (baseUrl, maxConnections) => {
    const proxy = proxyFor(baseUrl, process.env);
    return (url, request, connectTimeoutMs) =>
      fetch(url, {
        ...request,
        dispatcher: dispatcherOfApp() ?? agentFor({ proxy, connectTimeoutMs, maxConnections }),
      });
  },
  recorded,
};
