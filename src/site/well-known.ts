import express, { type Router } from 'express';
import type { Config } from '../config/config.ts';
import { readOnly } from '../http/middleware/preconditions.ts';
import { revalidated } from './serve.ts';
import { build, version } from '../base/version.ts';

const DAY_MS = 86_400_000;
/** Days until `security.txt` expires; less than a year, as RFC 9116 recommends. */
const VALID_DAYS = 90;

/** `security.txt` (RFC 9116). It names the day on which to read it again. */
const securityText = (contact: string, publicUrl: string | undefined, now: Date): string => {
  const expires = new Date(now.getTime() + VALID_DAYS * DAY_MS).toISOString().slice(0, 10);
  return [
    `Contact: ${contact}`,
    `Expires: ${expires}T00:00:00Z`,
    'Preferred-Languages: en',
    ...(publicUrl === undefined ? [] : [`Canonical: ${publicUrl}/.well-known/security.txt`]),
    '',
  ].join('\n');
};

/** `/version`, and `/.well-known/security.txt` where a security contact is configured. */
export const wellKnown = ({ brand, publicUrl, securityContact }: Config, now: () => Date): Router => {
  const router = express.Router({ caseSensitive: true, strict: true });
  router.all('/version', readOnly, revalidated('json', JSON.stringify({ name: brand.name, version, build })));
  if (securityContact !== undefined) {
    router.all('/.well-known/security.txt', readOnly, (_request, response) => {
      response.type('text/plain').send(securityText(securityContact, publicUrl, now()));
    });
  }
  return router;
};
