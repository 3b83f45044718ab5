import { createHash } from 'node:crypto';

/** A strong validator (RFC 9110, section 8.8.3) of a text. */
export const etagOf = (text: string): string => `"${createHash('sha256').update(text).digest('base64url')}"`;
