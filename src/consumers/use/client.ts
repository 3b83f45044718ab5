import { LRUCache } from 'lru-cache';
import { holdsKey } from '../../../contract/index.ts';

/** The first product of a `User-Agent` (RFC 9110, section 10.1.5), and the contract that one of our SDKs names after it. */
const AGENT = /^([!#$%&'*+.^_`|~\w-]{1,40}(?:\/[!#$%&'*+.^_`|~\w-]{1,20})?)(?: \(contract ([\d.]{1,12}))?/;
const UNNAMED = 'unnamed';
const REMEMBERED = 1000;

const parsed = (agent: string): string => {
  const [, product = UNNAMED, contract] = AGENT.exec(agent) ?? [];
  if (holdsKey(product)) return UNNAMED;
  return contract === undefined ? product : `${product} contract/${contract}`;
};

const clients = new LRUCache<string, string>({ max: REMEMBERED });

/** The client that a `User-Agent` names: `content-gateway-python/1.1.0 contract/1.1.0`, `curl/8.5.0`. At most 83 characters. */
export const clientOf = (agent: string | undefined): string => {
  if (agent === undefined) return UNNAMED;
  const known = clients.get(agent);
  if (known !== undefined) return known;
  const client = parsed(agent);
  clients.set(agent, client);
  return client;
};
