import { Resolver } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { clearTimeout, setTimeout } from '../../../base/runtime.ts';

/** An IP address and its version. */
export interface Address {
  address: string;
  family: number;
}

/** Resolves a name to its addresses, until the signal aborts. Rejects if the name has none. */
export type LookUp = (name: string, signal: AbortSignal) => Promise<Address[]>;

/** The sources of names; the defaults are those of this machine. */
export interface NameSources {
  /** `address:port` of the name servers. */
  servers?: readonly string[];
  hostsFile?: string;
  resolverFile?: string;
  /** Whether to use the names of the local network: the hosts file and search domains of this machine. */
  hasLocalNames?: boolean;
}

/** A lookup returns the addresses found by then: some name servers answer for one IP version only. */
const LOOK_UP_MS = 5000;
const QUERY_MS = 1500;
const QUERIES = 2;

const textOf = (file: string): string => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
};

const linesOf = (file: string): string[][] =>
  textOf(file)
    .split('\n')
    .map((line) => line.replace(/[#;].*/, '').trim())
    .filter((line) => line !== '')
    .map((line) => line.split(/\s+/));

const addressOf = (address: string): Address => ({ address, family: isIP(address) });

const inHostsFile = (file: string, name: string): Address[] =>
  linesOf(file).flatMap(([address = '', ...names]) =>
    isIP(address) !== 0 && names.some((one) => one.toLowerCase() === name) ? [addressOf(address)] : [],
  );

/** The domains of the last line `search` or `domain`, which is the line that resolvers use. */
const searchDomains = (file: string): string[] =>
  linesOf(file)
    .findLast(([keyword]) => keyword === 'search' || keyword === 'domain')
    ?.slice(1) ?? [];

/**
 * Resolves names by its own queries. `dns.lookup` would block one of the few threads, which the lookups of the database
 * and of Redis need too, for as long as a name server is silent.
 */
export const nameLookUp = ({
  servers,
  hostsFile = '/etc/hosts',
  resolverFile = '/etc/resolv.conf',
  hasLocalNames = false,
}: NameSources): LookUp => {
  return async (host, signal) => {
    const name = host.toLowerCase().replace(/\.$/, '');
    const local = hasLocalNames ? inHostsFile(hostsFile, name) : [];
    if (local.length > 0) return local;
    const resolver = new Resolver({ timeout: QUERY_MS, tries: QUERIES });
    if (servers) resolver.setServers(servers);
    let isOver = false;
    const end = (): void => {
      isOver = true;
      resolver.cancel();
    };
    const timer = setTimeout(end, LOOK_UP_MS);
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
    const faults: string[] = [];
    try {
      const domains = hasLocalNames && !host.endsWith('.') ? searchDomains(resolverFile) : [];
      for (const full of [name, ...domains.map((domain) => `${name}.${domain}`)]) {
        if (isOver) break;
        const answers = await Promise.allSettled([resolver.resolve4(full), resolver.resolve6(full)]);
        const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
        if (found.length > 0) return found.map(addressOf);
        for (const answer of answers) if (answer.status === 'rejected') faults.push(String(answer.reason));
      }
      throw new Error(faults.join(', ') || 'the look-up was aborted');
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
    }
  };
};
