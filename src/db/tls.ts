/** TLS to a database server, set by parameters named as in MySQL's own clients. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { AddressError } from '../base/errors.ts';

/** The TLS options of the driver. */
export interface Tls {
  /** Certificates of the trusted authorities, in PEM (default: the authorities that Node.js trusts). */
  ca?: string;
  /** The client's own certificate and key, in PEM. */
  cert?: string;
  key?: string;
  rejectUnauthorized: boolean;
  verifyIdentity: boolean;
}

/**
 * PREFERRED is excluded: it falls back to an unencrypted connection, which an attacker in between can always force. It
 * is the default of MySQL's clients; the default here is DISABLED.
 */
const MODES = ['DISABLED', 'REQUIRED', 'VERIFY_CA', 'VERIFY_IDENTITY'];
const VERIFYING = ['VERIFY_CA', 'VERIFY_IDENTITY'];
const FILES = ['ssl-ca', 'ssl-cert', 'ssl-key'];

/** The address parameters that configure TLS. */
export const TLS_PARAMETERS: readonly string[] = ['ssl-mode', ...FILES];

const listed = (words: readonly string[]): string => `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;

/** The text of the file that a parameter names, once `check` accepts it. */
const read = (
  parameters: ReadonlyMap<string, string>,
  name: string,
  content: string,
  check: (pem: string) => unknown,
): string | undefined => {
  const path = parameters.get(name);
  if (path === undefined) return undefined;
  let pem: string;
  try {
    pem = readFileSync(path, 'utf8');
  } catch (error) {
    throw new AddressError(
      `names a file by ${name}, "${path}", that cannot be read: ${(error as NodeJS.ErrnoException).code}`,
    );
  }
  try {
    check(pem);
  } catch {
    throw new AddressError(`names a file by ${name}, "${path}", that holds no ${content} in PEM`);
  }
  return pem;
};

const certificate = (pem: string): X509Certificate => new X509Certificate(pem);

const readFiles = (parameters: ReadonlyMap<string, string>): Pick<Tls, 'ca' | 'cert' | 'key'> => {
  const ca = read(parameters, 'ssl-ca', 'certificate', certificate);
  const cert = read(parameters, 'ssl-cert', 'certificate', certificate);
  const key = read(parameters, 'ssl-key', 'private key without a passphrase', createPrivateKey);
  if (cert !== undefined && key !== undefined && !certificate(cert).checkPrivateKey(createPrivateKey(key))) {
    throw new AddressError('has an ssl-key that is not the key of its ssl-cert');
  }
  return { ...(ca !== undefined && { ca }), ...(cert !== undefined && { cert, key }) };
};

const modeOf = (parameters: ReadonlyMap<string, string>, isIpAddress: boolean): string => {
  const given = parameters.get('ssl-mode') ?? 'DISABLED';
  const mode = given.toUpperCase();
  if (!MODES.includes(mode)) throw new AddressError(`has ssl-mode "${given}", which must be ${listed(MODES)}`);
  const needs = (name: string, modes: readonly string[]): void => {
    if (!parameters.has(name) || modes.includes(mode)) return;
    throw new AddressError(`has ${name}, which needs ssl-mode ${listed(modes)}`);
  };
  needs('ssl-ca', VERIFYING);
  needs('ssl-cert', MODES.slice(1));
  needs('ssl-key', MODES.slice(1));
  if (parameters.has('ssl-cert') !== parameters.has('ssl-key')) {
    throw new AddressError('has only one of ssl-cert and ssl-key, which belong together');
  }
  // Otherwise any certificate of any public authority would pass.
  if (mode === 'VERIFY_CA' && !parameters.has('ssl-ca')) {
    throw new AddressError('has ssl-mode VERIFY_CA, which needs ssl-ca');
  }
  // For an IP address, the driver would compare the certificate with `localhost`.
  if (mode === 'VERIFY_IDENTITY' && isIpAddress) {
    throw new AddressError('has ssl-mode VERIFY_IDENTITY, which needs a host name; use VERIFY_CA for an IP address');
  }
  return mode;
};

/** The TLS options of an address's parameters; undefined without TLS. @throws AddressError */
export const readTls = (parameters: ReadonlyMap<string, string>, isIpAddress: boolean): Tls | undefined => {
  const mode = modeOf(parameters, isIpAddress);
  if (mode === 'DISABLED') return undefined;
  return {
    ...readFiles(parameters),
    rejectUnauthorized: VERIFYING.includes(mode),
    verifyIdentity: mode === 'VERIFY_IDENTITY',
  };
};
