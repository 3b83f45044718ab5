import { createHash } from 'node:crypto';

/** A strong validator (RFC 9110, section 8.8.3) of a reply. */
export const etagOf = (reply: string | Buffer): string => `"${createHash('sha256').update(reply).digest('base64url')}"`;
