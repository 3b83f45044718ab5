import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { AddressError } from '../base/errors.ts';
import { readTls, type Tls, TLS_PARAMETERS } from './tls.ts';

/** The address of a database server, its login, and its TLS. */
export interface ServerAddress {
  /** A name or an IP address, IPv6 without brackets. */
  host: string;
  port: number;
  user: string;
  password: string;
  database: string;
  /** Undefined without TLS. */
  ssl: Tls | undefined;
}

/** The database without `DATABASE_URL`. */
export const DEFAULT_DATABASE_URL = 'sqlite:data/content.db';

/** The file name of a database in memory. */
export const IN_MEMORY = ':memory:';

const SQLITE = 'sqlite:';
const FORMS = 'must be sqlite:<path>, mysql://user:password@host:port/database or mariadb://…';
/** The message for an ambiguous address. */
export const ILL_FORMED =
  'is not a well-formed URL; percent-encode special characters of the password: %40 for @, %23 for #, %2F for /, ' +
  '%3F for ?, %25 for %';
const DEFAULT_PORT = 3306;

/** The file of an `sqlite:` address, or `:memory:`, which is not a file. @throws AddressError */
export const sqliteFile = (url: string): string => {
  const file = url.slice(SQLITE.length);
  if (file === '') throw new AddressError(FORMS);
  if (file.includes('?')) throw new AddressError('takes no parameters: remove what follows the path from "?" on');
  return file;
};

/** Whether the URL has one `@`, after the user, and no unencoded character that ends the user or password early. */
const isUnambiguous = (rest: string): boolean =>
  /^[^/?#@]*@[^#@]*$/.test(rest) && !/[\s\\]|%(?![\da-f]{2})/i.test(rest);

/**
 * Whether the user or password of an address holds an unencoded character that would end it early. Without a user there
 * is nothing to encode.
 */
export const hasUnencoded = (url: string): boolean => {
  const rest = url.slice(url.indexOf('://') + '://'.length);
  return rest.includes('@') && !isUnambiguous(rest);
};

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new AddressError(ILL_FORMED);
  }
};

/** The parameters by name. URLSearchParams would read a `+` in a path as a space. */
const parametersOf = (url: URL): Map<string, string> => {
  const parameters = new Map<string, string>();
  for (const pair of url.search.slice(1).split('&')) {
    if (pair === '') continue;
    const [name = '', ...value] = pair.split('=');
    if (!TLS_PARAMETERS.includes(name)) {
      throw new AddressError(`has the unknown parameter "${name}"; allowed are ${TLS_PARAMETERS.join(', ')}`);
    }
    if (parameters.has(name)) throw new AddressError(`has the parameter "${name}" twice`);
    parameters.set(name, decode(value.join('=')));
  }
  return parameters;
};

/** A URL for each host of an address: `h1:3306,h2,h3`. IPv6 hosts are in brackets. */
const urlsOf = (address: string): URL[] => {
  const [, before = '', hosts = '', after = ''] = /^([^:]*:\/\/(?:[^@/]*@)?)([^/]*)(.*)$/s.exec(address) ?? [];
  return hosts.split(',').map((host) => {
    if (host === '') throw new AddressError('names no host');
    if (!URL.canParse(`${before}${host}${after}`)) throw new AddressError(ILL_FORMED);
    return new URL(`${before}${host}${after}`);
  });
};

/**
 * Reads a `mysql:` or `mariadb:` address, and the files that it names. Returns one server for each host; several hosts
 * are alternatives.
 * @throws AddressError
 */
export const serverAddresses = (address: string): ServerAddress[] => {
  const [, rest] = /^(?:mysql|mariadb):\/\/(.*)$/s.exec(address) ?? [];
  if (rest === undefined) throw new AddressError(FORMS);
  if (hasUnencoded(address)) throw new AddressError(ILL_FORMED);
  const servers = urlsOf(address).map((url) => {
    if (url.hostname === '') throw new AddressError('names no host');
    if (url.username === '') throw new AddressError('names no user');
    if (!/^\/[^/]+$/.test(url.pathname)) throw new AddressError('names no database: it ends in /<database>');
    const host = decode(url.hostname.replace(/^\[(.*)\]$/, '$1'));
    return {
      host,
      port: Number(url.port || DEFAULT_PORT),
      user: decode(url.username),
      password: decode(url.password),
      database: decode(url.pathname.slice(1)),
      ssl: readTls(parametersOf(url), isIP(host) !== 0),
    };
  });
  const places = servers.map(({ host, port }) => `${host}:${port}`);
  if (new Set(places).size < places.length) throw new AddressError('names a host twice');
  return servers;
};

/** `host:port` */
export const placeOf = ({ host, port }: ServerAddress): string => `${host.includes(':') ? `[${host}]` : host}:${port}`;

/**
 * Describes the database of an address for the operator, without the password: the whole path of its file, or its
 * servers.
 * @throws AddressError
 */
export const describeAddress = (url: string): string => {
  if (url.startsWith(SQLITE)) {
    const file = sqliteFile(url);
    return file === IN_MEMORY ? url : `${SQLITE}${resolve(file)}`;
  }
  const servers = serverAddresses(url);
  const [{ user, database } = { user: '', database: '' }] = servers;
  const [, parameters = ''] = url.split('?');
  const scheme = url.slice(0, url.indexOf(':'));
  const who = encodeURIComponent(user);
  return `${scheme}://${who}@${servers.map(placeOf).join(',')}/${database}${parameters && `?${parameters}`}`;
};

/** The database of an address, on whichever server: its name, or the whole path of its file. @throws AddressError */
export const databaseOf = (url: string): string =>
  url.startsWith(SQLITE) ? describeAddress(url) : `the database ${serverAddresses(url)[0]?.database}`;

/** Checks that a database address is valid, and that the files it names can be used. @throws AddressError */
export const checkAddress = (url: string): void => {
  if (url.startsWith(SQLITE)) sqliteFile(url);
  else serverAddresses(url);
};
