import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The paths of a certificate and its key, both in PEM. */
export interface Certificate {
  cert: string;
  key: string;
}

/** Certificates of authorities of our own, in a folder. */
export interface Certificates {
  folder: string;
  /** A new authority, in whom nobody trusts yet. */
  authority(name: string): Certificate;
  /** A certificate that an authority issues to a host. */
  issue(authority: Certificate, host: string): Promise<Certificate>;
  remove(): Promise<void>;
}

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
const DAYS = ['-days', '2'];

/** @throws Error when this machine has no openssl */
export const makeCertificates = async (): Promise<Certificates> => {
  const folder = await mkdtemp(join(tmpdir(), 'content-gateway-tls-'));
  const openssl = (...args: string[]): void => {
    execFileSync('openssl', args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  };
  const pathsOf = (name: string): Certificate => ({
    cert: join(folder, `${name}.pem`),
    key: join(folder, `${name}-key.pem`),
  });
  return {
    folder,
    authority: (name) => {
      const { cert, key } = pathsOf(name);
      openssl('req', '-x509', ...KEY, '-keyout', key, '-out', cert, ...DAYS, '-subj', `/CN=${name}`);
      return { cert, key };
    },
    issue: async (authority, host) => {
      const { cert, key } = pathsOf(host);
      const [request, extensions] = [`${cert}.csr`, `${cert}.ext`];
      await writeFile(extensions, `subjectAltName=DNS:${host}\n`);
      openssl('req', ...KEY, '-keyout', key, '-out', request, '-subj', `/CN=${host}`);
      const by = ['-CA', authority.cert, '-CAkey', authority.key, '-CAcreateserial'];
      openssl('x509', '-req', '-in', request, '-out', cert, ...by, ...DAYS, '-extfile', extensions);
      return { cert, key };
    },
    remove: () => rm(folder, { recursive: true }),
  };
};
