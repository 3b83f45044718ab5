import { once } from 'node:events';
import { type ClientRequest, get, type IncomingMessage } from 'node:http';

/** A message of Server-Sent Events. */
export interface StreamMessage {
  event: string;
  data: string;
  id: string | undefined;
}

/** An open stream of Server-Sent Events, as it comes. */
export interface EventStream {
  response: IncomingMessage;
  /** The messages so far that came whole. */
  messages: StreamMessage[];
  /** The last value of `retry`, in milliseconds. */
  retry: () => number | undefined;
  /** The id that a client sends when it connects again. */
  lastId: () => string | undefined;
  /** Is called with each message. */
  onMessage: (listener: (message: StreamMessage) => void) => void;
  /** Resolves when the stream ends or breaks. */
  ended: Promise<void>;
  /** Breaks the connection. */
  close: () => void;
}

interface StreamOptions {
  input?: object;
  /** The query, where it is not the input. */
  query?: string;
  lastEventId?: string | undefined;
  headers?: Record<string, string>;
}

const PATH = '/api/trpc/event.tail';

const field = (line: string): readonly [name: string, value: string] => {
  const colon = line.indexOf(':');
  return colon === -1 ? [line, ''] : [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')];
};

/** Opens a tail of events as a browser does. Resolves with the head of the answer. */
export const openEventStream = async (
  base: string,
  { input, query: plain = '', lastEventId, headers }: StreamOptions = {},
): Promise<EventStream> => {
  const query = input === undefined ? `?${plain}` : `?input=${encodeURIComponent(JSON.stringify({ json: input }))}`;
  const request: ClientRequest = get(`${base}${PATH}${query}`, {
    agent: false,
    headers: {
      Accept: 'text/event-stream',
      ...(lastEventId !== undefined && { 'Last-Event-ID': lastEventId }),
      ...headers,
    },
  });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const messages: StreamMessage[] = [];
  const listeners: ((message: StreamMessage) => void)[] = [];
  let retry: number | undefined;
  let lastId: string | undefined;
  let rest = '';
  response.setEncoding('utf8').on('data', (text: string) => {
    const blocks = `${rest}${text}`.split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = new Map(block.split('\n').map(field));
      if (fields.has('retry')) retry = Number(fields.get('retry'));
      if (fields.has('id')) lastId = fields.get('id');
      if (!fields.has('data')) continue;
      const message = { event: fields.get('event') ?? 'message', data: fields.get('data') ?? '', id: fields.get('id') };
      messages.push(message);
      for (const listener of listeners) listener(message);
    }
  });
  request.on('error', () => undefined);
  response.on('error', () => undefined);
  return {
    response,
    messages,
    retry: () => retry,
    lastId: () => lastId,
    onMessage: (listener) => {
      for (const message of messages) listener(message);
      listeners.push(listener);
    },
    ended: new Promise((resolve) => response.once('close', () => resolve())),
    close: () => request.destroy(),
  };
};

/** The JSON in messages of events. */
export const eventsIn = <Event>(messages: readonly StreamMessage[]): Event[] =>
  messages.filter(({ event }) => event === 'message').map(({ data }) => (JSON.parse(data) as { json: Event }).json);
