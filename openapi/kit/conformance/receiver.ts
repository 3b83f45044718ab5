import { createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

/** A received message, unchanged. */
export interface ReceivedMessage {
  /** The path of the request. */
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  /** The body as JSON. */
  json: { type?: string; timestamp?: string; data?: { challenge?: string; [member: string]: unknown } };
}

const HOST = '127.0.0.1';
const PREFIX = 'whsec_';
const PAUSE_MS = 50;

const parse = (body: string): ReceivedMessage['json'] => {
  try {
    return JSON.parse(body) as ReceivedMessage['json'];
  } catch {
    return {};
  }
};

/** The number of a message's signatures that match a secret, by the Standard Webhooks specification. */
export const signaturesBy = (secret: string, { headers, body }: ReceivedMessage): number => {
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
  const content = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`;
  const expected = createHmac('sha256', key).update(content).digest();
  return String(headers['webhook-signature'])
    .split(' ')
    .filter((signature) => signature.startsWith('v1,'))
    .map((signature) => Buffer.from(signature.slice('v1,'.length), 'base64'))
    .filter((came) => came.length === expected.length && timingSafeEqual(came, expected)).length;
};

/** An endpoint of webhooks on this machine, which answers challenges and keeps messages. */
export class WebhookReceiver {
  readonly #server: Server;
  readonly #messages: ReceivedMessage[] = [];
  #paths = 0;

  private constructor() {
    this.#server = createServer((request, response) => void this.#take(request, response));
  }

  /** @throws Error if the port is in use */
  static async listen(port: number): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver();
    receiver.#server.listen(port, HOST);
    await once(receiver.#server, 'listening');
    return receiver;
  }

  /** A URL that no webhook has used yet. */
  newUrl(): string {
    const { port } = this.#server.address() as { port: number };
    this.#paths += 1;
    return `http://${HOST}:${port}/${this.#paths}`;
  }

  /** The wanted messages to a URL, the oldest first. Waits for `count` of them, or until a timeout. */
  async messagesTo(
    url: string,
    isWanted: (message: ReceivedMessage) => boolean,
    count: number,
    patienceMs: number,
  ): Promise<ReceivedMessage[]> {
    const { pathname } = new URL(url);
    for (const deadline = Date.now() + patienceMs; ; await sleep(PAUSE_MS)) {
      const messages = this.#messages.filter((message) => message.path === pathname && isWanted(message));
      if (messages.length >= count || Date.now() > deadline) return messages;
    }
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request).catch(() => '');
    const json = parse(body);
    this.#messages.push({ path: request.url ?? '', headers: request.headers, body, json });
    const challenge = json.data?.challenge;
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ challenge }));
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
