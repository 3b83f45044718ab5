import { isIPv4, isIPv6 } from 'node:net';
import { UsageError } from '../usage-error.js';

/** A proxy, and what it is told of its user. */
export interface Proxy {
  /** Its address, such as `http://proxy.example.com:3128`. */
  readonly origin: string;
  /** The value of `Proxy-Authorization`, if it has a user. */
  readonly authorization: string | undefined;
}

type Environment = Record<string, string | undefined>;

const DEFAULT_PORTS: Record<string, string> = { 'http:': '80', 'https:': '443' };

/** Without the brackets of an IPv6 address. */
const bare = (host: string): string => host.replace(/^\[(.*)\]$/, '$1');

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));

/** Whether an entry of `NO_PROXY` names a host: itself, or a domain above it. */
const isNamed = (entry: string, host: string, port: string): boolean => {
  const [, name = entry, wantedPort] = (isIPv6(entry) ? undefined : /^(.+):(\d+)$/.exec(entry)) ?? [];
  const domain = bare(name).replace(/^\*?\./, '');
  if (wantedPort !== undefined && wantedPort !== port) return false;
  return domain === '*' || host === domain || host.endsWith(`.${domain}`);
};

const entriesOf = (list = ''): string[] =>
  list
    .toLowerCase()
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');

/** Reads the address of a proxy, of which the scheme may be left out. @throws Error if it is none */
const parse = (text: string): Proxy => {
  const { protocol, origin, username, password } = new URL(text.includes('://') ? text : `http://${text}`);
  if (!(protocol in DEFAULT_PORTS)) throw new Error(`neither http nor https, but ${protocol}`);
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { origin, authorization: user === ':' ? undefined : `Basic ${Buffer.from(user).toString('base64')}` };
};

/**
 * The proxy for a base URL by `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`, of which names in lower case prevail. undici's own
 * reader of these knows no loopback, and takes `HTTP_PROXY` for https.
 *
 * @throws UsageError if its address is wrong
 */
export const proxyFor = (baseUrl: string, environment: Environment): Proxy | undefined => {
  const { protocol, hostname, port } = new URL(baseUrl);
  const host = bare(hostname);
  const name = `${protocol.slice(0, -1)}_proxy`;
  const variable = environment[name] === undefined ? name.toUpperCase() : name;
  const text = environment[variable];
  if (!text || isLoopback(host)) return undefined;
  const without = entriesOf(environment['no_proxy'] ?? environment['NO_PROXY']);
  const reached = port || (DEFAULT_PORTS[protocol] ?? '');
  if (without.some((entry) => isNamed(entry, host, reached))) return undefined;
  try {
    return parse(text);
  } catch {
    // What is wrong with it may hold its password.
    throw new UsageError(`${variable} must be an http or https URL, such as http://proxy.example.com:3128`);
  }
};
