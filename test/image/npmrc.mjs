// What npm is told on this machine, for a build that knows nothing of it: where packages come from, and whose word is taken
// for that.
import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';

/** A setting of npm's, or undefined. */
const settingOf = (name) => {
  const text = execFileSync('npm', ['config', 'get', name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  return ['', 'null', 'undefined'].includes(text.trim()) ? undefined : text.trim();
};

const certificatesOf = (text) => text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
const fingerprintOf = (certificate) => new X509Certificate(certificate).fingerprint256;

/** The authorities of a file that Node.js does not know by itself: npm hands all of them on in one variable. */
const authoritiesOf = (file) => {
  const known = new Set(rootCertificates.map(fingerprintOf));
  return certificatesOf(readFileSync(file, 'utf8')).filter((one) => !known.has(fingerprintOf(one)));
};

/** The lines of an `.npmrc`. */
export const npmrc = () => {
  const given = ['registry', 'proxy', 'https-proxy', 'noproxy', 'strict-ssl'].flatMap((name) => {
    const value = settingOf(name);
    return value === undefined ? [] : [`${name}=${value}`];
  });
  const file = settingOf('cafile');
  const authorities = file === undefined ? [] : authoritiesOf(file);
  return [...given, ...authorities.map((one) => `ca[]=${JSON.stringify(one)}`), ''].join('\n');
};
