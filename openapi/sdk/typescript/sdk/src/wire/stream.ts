import { onAbort } from '../abort.js';
import type { FetchReply } from '../options.js';
import { readerOf } from './body.js';
import { MessageParser } from './messages.js';
import type { Message } from './messages.js';

/** No message is nearly as large. */
const MAX_HELD = 64 * 1024 * 1024;

/** A stream ended before it began. */
export class NoMessageError extends Error {}

/** The messages of a reply, until it ends, is silent for too long, or is closed. */
export class MessageStream {
  readonly #parser = new MessageParser();
  readonly #messages: Message[] = [];
  readonly #chunks: AsyncIterator<string>;
  readonly #ending: AbortController;
  readonly #signal: AbortSignal | undefined;
  readonly #silenceMs: number;
  readonly #ignore: () => void;
  #isLeft = false;

  /** `ending` ends the request, and `signal` is the caller's. */
  constructor(
    response: FetchReply,
    { silenceMs, signal, ending }: { silenceMs: number; signal: AbortSignal | undefined; ending: AbortController },
  ) {
    this.#chunks = chunksOf(response);
    this.#silenceMs = silenceMs;
    this.#signal = signal;
    this.#ending = ending;
    this.#ignore = onAbort(signal, () => this.close());
  }

  /** Whether the caller wants no more of it for now. */
  get isLeft(): boolean {
    return this.#isLeft;
  }

  /** How long to wait before connecting again, as the stream told, in milliseconds. */
  get retryMs(): number | undefined {
    return this.#parser.retryMs;
  }

  /** Resolves with the first message, which `next` resolves with again. @throws Error if there is none */
  async begin(): Promise<Message> {
    const first = await this.#read();
    if (!first) throw new NoMessageError('the stream ended before its first message');
    this.#messages.unshift(first);
    return first;
  }

  /** Resolves with the next message; with undefined at the end. Rejects with the signal's reason once that is aborted. */
  async next(): Promise<Message | undefined> {
    const patience = setTimeout(() => this.close(), this.#silenceMs);
    try {
      return await this.#read();
    } catch {
      // The connection broke.
      return undefined;
    } finally {
      clearTimeout(patience);
      this.#signal?.throwIfAborted();
    }
  }

  /** Ends it, and its connection. */
  close(): void {
    this.#ignore();
    this.#ending.abort();
  }

  /** The same; there is no need to wait before the next. */
  leave(): void {
    this.#isLeft = true;
    this.close();
  }

  async #read(): Promise<Message | undefined> {
    while (this.#messages.length === 0) {
      const { done, value } = await this.#chunk();
      if (done) {
        this.close();
        return undefined;
      }
      this.#messages.push(...this.#parser.take(value));
      if (this.#parser.held > MAX_HELD) throw new Error('a message is too long');
    }
    return this.#messages.shift();
  }

  /** A `fetch` of the caller's may not know signals. */
  #chunk(): Promise<IteratorResult<string>> {
    const { signal } = this.#ending;
    return new Promise((resolve, reject) => {
      if (signal.aborted) reject(signal.reason as Error);
      const ignore = onAbort(signal, () => reject(signal.reason as Error));
      this.#chunks.next().then(resolve, reject).finally(ignore);
    });
  }
}

async function* chunksOf(response: FetchReply): AsyncGenerator<string> {
  const reader = readerOf(response);
  if (!reader) {
    yield await response.text();
    return;
  }
  const decoder = new TextDecoder();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield decoder.decode(value, { stream: true });
  }
}
