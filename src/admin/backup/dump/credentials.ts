import { rootCertificates } from 'node:tls';
import { writeFileSync } from 'node:fs';
import type { ServerAddress } from '../../../db/address.ts';
import { withPartial } from '../partial.ts';

// The dump tools take passwords from option files: all users of a machine may see the command line of a process.

/** The kind of a dump tool, or of a server. */
export type Kind = 'mariadb' | 'mysql';

/** Quotes a value for option files of MySQL and MariaDB. */
const quoted = (value: string | number): string =>
  `"${String(value)
    .replaceAll('\\', '\\\\')
    .replaceAll('"', String.raw`\"`)
    .replaceAll('\n', String.raw`\n`)
    .replaceAll('\r', String.raw`\r`)}"`;

/** The texts of the PEM files that the TLS options name. */
const pemOf = ({ ssl }: ServerAddress): Record<string, string> => {
  if (!ssl) return {};
  const { ca = ssl.rejectUnauthorized ? rootCertificates.join('\n') : undefined, cert, key } = ssl;
  const texts = { ca, cert, key };
  return Object.fromEntries(Object.entries(texts).filter((entry): entry is [string, string] => entry[1] !== undefined));
};

/** MariaDB's tools compare the host name whenever they check a certificate. */
const tlsOptions = ({ ssl }: ServerAddress, kind: Kind): Record<string, string | number> => {
  if (kind === 'mariadb')
    return ssl ? { ssl: 1, 'ssl-verify-server-cert': Number(ssl.rejectUnauthorized) } : { ssl: 0 };
  // Without TLS, an account of MySQL 8 and later encrypts its password by a key that the server sends.
  if (!ssl) return { 'ssl-mode': 'DISABLED', 'get-server-public-key': 1 };
  if (!ssl.rejectUnauthorized) return { 'ssl-mode': 'REQUIRED' };
  return { 'ssl-mode': ssl.verifyIdentity ? 'VERIFY_IDENTITY' : 'VERIFY_CA' };
};

/** Writes texts into files beside `place` that only their owner can read, and deletes them when `work` ends. */
const withPrivateFiles = async <T>(
  place: string,
  [next, ...others]: readonly [name: string, text: string][],
  work: (paths: Record<string, string>) => Promise<T>,
): Promise<T> => {
  if (!next) return work({});
  const [name, text] = next;
  return withPartial(`${place}.${name}`, async ({ path }) => {
    writeFileSync(path, text);
    return withPrivateFiles(place, others, (paths) => work({ ...paths, [name]: path }));
  });
};

/** The text of an option file for tools of one kind. */
export const optionFile = (address: ServerAddress, kind: Kind, pemPaths: Record<string, string> = {}): string => {
  const { host, port, user, password } = address;
  const files = Object.entries(pemPaths).map(([name, path]) => [`ssl-${name}`, path] as const);
  const options = { host, port, user, password, protocol: 'tcp', ...tlsOptions(address, kind) };
  const lines = [...Object.entries(options), ...files].map(([name, value]) => `${name}=${quoted(value)}`);
  return ['[client]', ...lines, ''].join('\n');
};

/** Runs `work` with the path of a temporary option file beside `place`, which holds the login for a server. */
export const withCredentials = <T>(
  { address, kind, place }: { address: ServerAddress; kind: Kind; place: string },
  work: (optionFile: string) => Promise<T>,
): Promise<T> =>
  withPrivateFiles(place, Object.entries(pemOf(address)), (pemPaths) =>
    withPrivateFiles(place, [['options', optionFile(address, kind, pemPaths)]], ({ options = '' }) => work(options)),
  );
