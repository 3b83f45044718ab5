// {{#events}}
import type { Event } from './generated/types.js';
import type { FetchReply } from './options.js';
import { UsageError } from './usage-error.js';

/**
 * Why a message was refused: a header lacks, its time can't be read, it was sent too long ago, or later than now, no signature is right,
 * or the body is no message.
 */
export type WebhookFault = 'header' | 'timestamp' | 'old' | 'ahead' | 'signature' | 'body';

/** A message that is not to be trusted, or that can't be read. Answer it with 400. It holds neither the secret nor a signature. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
  /** Why it was refused. */
  readonly fault: WebhookFault;

  /** For tests; else the SDK makes it. */
  constructor(fault: WebhookFault, message: string) {
    super(message);
    this.fault = fault;
  }
}

/** A message of a webhook, which the service sent. */
export interface WebhookMessage {
  /** The id of the delivery, the same each time that it is attempted: skip a message whose id you have seen. */
  readonly id: string;
  /** The type: that of the event, `webhook.challenge`, `webhook.test`, or one that is newer than this SDK. */
  readonly type: string;
  /** When that happened, in ISO 8601. */
  readonly timestamp: string;
  /** The event; null if the message has none, or one of a form that this SDK doesn't know. */
  // oxlint-disable-next-line typescript/no-redundant-type-constituents -- the types are generated after this is linted
  readonly event: Event | null;
  /** Of a `webhook.challenge`, the text to answer as `{"challenge": "…"}`; else null. */
  readonly challenge: string | null;
}

/** The headers of a request: those of `fetch`, a `Map`, or an object such as Node.js has. Names may be in any case. */
export type WebhookHeaders = FetchReply['headers'] | Record<string, string | readonly string[] | undefined>;

/** How a message is verified. */
export interface WebhookOptions {
  /** How long ago a message may have been sent, and how far ahead its time may be, in milliseconds from 0. Default: 300 000. */
  toleranceMs?: number | undefined;
  /** The time, in milliseconds since 1970. For tests. Default: the machine's. */
  now?: number | undefined;
}

const TOLERANCE_MS = 300_000;
const SECRET = /^whsec_((?:[A-Za-z0-9+/]{4})+|(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==))$/;
const SCHEME = 'v1,';

const bytesOf = (binary: string): Uint8Array<ArrayBuffer> => Uint8Array.from(binary, (char) => char.charCodeAt(0));

/** The key in a secret. @throws UsageError that doesn't show it */
const keyOf = (secret: unknown): Uint8Array<ArrayBuffer> => {
  const [, key] = (typeof secret === 'string' && SECRET.exec(secret)) || [];
  if (key === undefined) throw new UsageError('secret must be whsec_ followed by base64');
  return bytesOf(atob(key));
};

/** The keys in secrets. @throws UsageError if there is none, or one has not the form */
const keysOf = (secret: string | readonly string[]): Uint8Array<ArrayBuffer>[] => {
  const secrets = typeof secret === 'string' ? [secret] : secret;
  if (!Array.isArray(secrets) || secrets.length === 0) throw new UsageError('secret must be a text or a list of texts');
  return secrets.map(keyOf);
};

/** Headers by their names in lower case. */
const namedHeaders = (headers: WebhookHeaders): Map<string, string> => {
  const named = new Map<string, string>();
  if (typeof headers.forEach === 'function') {
    // oxlint-disable-next-line unicorn/no-array-for-each -- the one way that every kind of headers has
    headers.forEach((value: string, name: string) => named.set(name.toLowerCase(), value));
    return named;
  }
  for (const [name, value] of Object.entries(headers as Record<string, string | readonly string[] | undefined>)) {
    if (value !== undefined) named.set(name.toLowerCase(), typeof value === 'string' ? value : value.join(' '));
  }
  return named;
};

/** The value of a header. @throws WebhookVerificationError if it lacks */
const valueIn = (headers: Map<string, string>, name: string): string => {
  const value = headers.get(name);
  if (!value) throw new WebhookVerificationError('header', `The message has no header ${name}.`);
  return value;
};

/** @throws WebhookVerificationError if a message was not sent just now */
const checkTime = (timestamp: string, now: number, toleranceMs: number): void => {
  if (!/^\d+$/.test(timestamp)) {
    throw new WebhookVerificationError('timestamp', 'webhook-timestamp is no number of seconds.');
  }
  const age = Math.floor(now / 1000) - Number(timestamp);
  if (Math.abs(age) * 1000 <= toleranceMs) return;
  const text = `The message is more than ${toleranceMs / 1000} s`;
  if (age > 0) throw new WebhookVerificationError('old', `${text} old.`);
  throw new WebhookVerificationError('ahead', `${text} ahead of the clock.`);
};

/** Whether two texts are equal, told in a time that depends on their length alone. */
const isEqual = (one: string, other: string): boolean => {
  if (one.length !== other.length) return false;
  let difference = 0;
  for (let index = 0; index < one.length; index += 1) difference |= one.charCodeAt(index) ^ other.charCodeAt(index);
  return difference === 0;
};

/** The signature of some content by a key, in base64. */
const signatureBy = async (key: Uint8Array<ArrayBuffer>, content: Uint8Array<ArrayBuffer>): Promise<string> => {
  const imported = await crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  const signature = new Uint8Array(await crypto.subtle.sign('HMAC', imported, content));
  return btoa(String.fromCharCode(...signature));
};

/** @throws WebhookVerificationError if none of the signatures is one of the content by one of the keys */
const checkSignature = async (
  signatures: string,
  content: Uint8Array<ArrayBuffer>,
  keys: readonly Uint8Array<ArrayBuffer>[],
): Promise<void> => {
  const given = signatures.split(' ').filter((signature) => signature.startsWith(SCHEME));
  const right = await Promise.all(keys.map(async (key) => SCHEME + (await signatureBy(key, content))));
  if (right.some((one) => given.some((other) => isEqual(one, other)))) return;
  throw new WebhookVerificationError(
    'signature',
    'No signature is right: see whether the secret is that of the webhook, and the body is as it came.',
  );
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const areTexts = (...values: unknown[]): boolean => values.every((value) => typeof value === 'string');

const isEvent = (data: unknown): boolean => {
  if (!isObject(data) || !isObject(data['record'])) return false;
  const { id, position, type, record, actorId, at } = data;
  return areTexts(id, type, at, record['kind'], record['id'], actorId ?? '') && Number.isInteger(position);
};

/** The object in a body; undefined if there is none. */
const objectIn = (body: Uint8Array): Record<string, unknown> | undefined => {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
};

/** Reads a message. @throws WebhookVerificationError if the body is none */
const readMessage = (id: string, body: Uint8Array): WebhookMessage => {
  const { type, timestamp, data } = objectIn(body) ?? {};
  if (typeof type !== 'string' || typeof timestamp !== 'string' || Number.isNaN(Date.parse(timestamp))) {
    throw new WebhookVerificationError(
      'body',
      'The body is no message: it lacks a type or a timestamp, or is not JSON.',
    );
  }
  const challenge = type === 'webhook.challenge' && isObject(data) ? data['challenge'] : null;
  return {
    id,
    type,
    timestamp,
    event: isEvent(data) ? (data as Event) : null,
    challenge: typeof challenge === 'string' ? challenge : null,
  };
};

/** A body as bytes. @throws UsageError if it was parsed already */
const encoded = (body: string | Uint8Array | ArrayBuffer): Uint8Array => {
  if (typeof body === 'string') return new TextEncoder().encode(body);
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  if (ArrayBuffer.isView(body)) return body;
  throw new UsageError('body must be the text or the bytes that came, not what was made of them');
};

/** What is signed of a message. */
const contentOf = (id: string, timestamp: string, body: Uint8Array): Uint8Array<ArrayBuffer> => {
  const head = new TextEncoder().encode(`${id}.${timestamp}.`);
  const content = new Uint8Array(head.length + body.length);
  content.set(head);
  content.set(body, head.length);
  return content;
};

/**
 * Verifies a message that came to the endpoint of a webhook, by the Standard Webhooks specification, and reads it. A message is
 * refused that is more than five minutes old, or that many ahead, unless `toleranceMs` says otherwise.
 *
 * Messages come at least once: skip one whose `id` you have seen. Answer the `challenge` of one that has it.
 *
 * @param body the body as it came, before anything parses it
 * @param headers the headers of the request
 * @param secret the secret of the webhook; a list of them while they are changed, or if the endpoint has several webhooks
 * @throws WebhookVerificationError if the message is not to be trusted, or can't be read
 * @throws UsageError if the secret has not the form, `toleranceMs` is no number from 0, or the body is neither text nor bytes
 */
export const unwrapWebhook = async (
  body: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  secret: string | readonly string[],
  { now = Date.now(), toleranceMs = TOLERANCE_MS }: WebhookOptions = {},
): Promise<WebhookMessage> => {
  if (!(toleranceMs >= 0)) throw new UsageError(`toleranceMs must be a number from 0, and is ${toleranceMs}`);
  const keys = keysOf(secret);
  const bytes = encoded(body);
  const named = namedHeaders(headers);
  const id = valueIn(named, 'webhook-id');
  const timestamp = valueIn(named, 'webhook-timestamp');
  const signatures = valueIn(named, 'webhook-signature');
  checkTime(timestamp, now, toleranceMs);
  await checkSignature(signatures, contentOf(id, timestamp, bytes), keys);
  return readMessage(id, bytes);
};
// {{/events}}
