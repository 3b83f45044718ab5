import { createHmac } from 'node:crypto';
import { secretBytes } from '../secrets.ts';

const signatureBy = (secret: string, content: string): string =>
  `v1,${createHmac('sha256', secretBytes(secret)).update(content).digest('base64')}`;

/** The headers that prove a message: its id, its time, and a signature by each secret. */
export const signedHeaders = (
  id: string,
  now: Date,
  body: string,
  secrets: readonly string[],
): Record<string, string> => {
  const timestamp = Math.floor(now.getTime() / 1000);
  const content = `${id}.${timestamp}.${body}`;
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': secrets.map((secret) => signatureBy(secret, content)).join(' '),
  };
};
