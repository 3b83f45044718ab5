import { createHmac, randomBytes } from 'node:crypto';

/** The prefix of secrets by the Standard Webhooks specification. */
const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/** A new secret: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md */
export const newSecret = (): string => PREFIX + randomBytes(SECRET_BYTES).toString('base64');

const signatureBy = (secret: string, content: string): string => {
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
  return `v1,${createHmac('sha256', key).update(content).digest('base64')}`;
};

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
