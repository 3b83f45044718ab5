/** A message of a stream of Server-Sent Events. */
export interface Message {
  /** Its type; empty if it has none. */
  readonly event: string;
  readonly data: string;
  /** The last id that was told; undefined before there is one. */
  readonly id: string | undefined;
  /** How long to wait before connecting again, as the stream told last, in milliseconds. */
  readonly retryMs: number | undefined;
}

/** Reads messages from a stream, as HTML says it in section 9.2.6. */
export class MessageParser {
  #rest = '';
  #endsInCr = false;
  #event = '';
  #data: string[] = [];
  #id: string | undefined;
  #retryMs: number | undefined;

  /** How long to wait before connecting again, as the stream told last, in milliseconds. */
  get retryMs(): number | undefined {
    return this.#retryMs;
  }

  /** How much of a line has come that has no end yet. */
  get held(): number {
    return this.#rest.length + this.#data.reduce((sum, { length }) => sum + length, 0);
  }

  /** Takes what comes next. Returns the messages that end in it. */
  take(text: string): Message[] {
    if (text === '') return [];
    // A line that ended with CR may have ended with CRLF.
    const more = this.#endsInCr && text.startsWith('\n') ? text.slice(1) : text;
    this.#endsInCr = text.endsWith('\r');
    const lines = (this.#rest + more).split(/\r\n|\n|\r/);
    this.#rest = lines.pop() ?? '';
    return lines.flatMap((line) => this.#takeLine(line));
  }

  #takeLine(line: string): Message[] {
    if (line === '') return this.#end();
    const [, name = line, value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (name === 'data') this.#data.push(value);
    else if (name === 'event') this.#event = value;
    else if (name === 'id' && value !== '' && !value.includes('\0')) this.#id = value;
    else if (name === 'retry' && /^\d{1,9}$/.test(value)) this.#retryMs = Number(value);
    return [];
  }

  #end(): Message[] {
    const [event, data] = [this.#event, this.#data];
    this.#event = '';
    this.#data = [];
    return data.length === 0 ? [] : [{ event, data: data.join('\n'), id: this.#id, retryMs: this.#retryMs }];
  }
}
