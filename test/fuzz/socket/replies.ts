import { brotliDecompressSync, gunzipSync } from 'node:zlib';

/** A reply; the names of its headers are in lower case, and its body is decompressed. */
export interface WireReply {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: Buffer;
}

/** What came is not HTTP (RFC 9112). */
export class NoHttp extends Error {}

const END = Buffer.from('\r\n\r\n');
const LINE = Buffer.from('\r\n');
const STATUS_LINE = /^HTTP\/1\.1 ([1-5][0-9]{2}) [\t -~]*$/;
const HEADER = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+): ?([\t -~\u0080-\u00FF]*)$/;
const CHUNK = /^([0-9A-Fa-f]{1,8})$/;
const LONGEST_HEAD = 32 * 1024;

const decompressed = (coding: string | undefined, body: Buffer): Buffer => {
  if (coding === undefined || body.length === 0) return body;
  if (coding === 'br') return brotliDecompressSync(body);
  if (coding === 'gzip') return gunzipSync(body);
  throw new NoHttp(`a reply is encoded as ${coding}`);
};

const headOf = (text: string): { status: number; headers: Record<string, string> } => {
  const [first = '', ...lines] = text.split('\r\n');
  const status = STATUS_LINE.exec(first)?.[1];
  if (status === undefined) throw new NoHttp(`a reply begins with ${JSON.stringify(first.slice(0, 100))}`);
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const [, name, value] = HEADER.exec(line) ?? [];
    if (name === undefined || value === undefined) throw new NoHttp(`a header reads ${JSON.stringify(line)}`);
    const known = headers[name.toLowerCase()];
    if (known !== undefined && /^(content-length|content-type|transfer-encoding|x-request-id)$/i.test(name)) {
      throw new NoHttp(`${name} is there twice`);
    }
    headers[name.toLowerCase()] = known === undefined ? value : `${known}, ${value}`;
  }
  return { status: Number(status), headers };
};

/** Takes what a server sends apart into replies. */
export class ReplyReader {
  #pending: Buffer = Buffer.alloc(0);

  add(bytes: Buffer): void {
    this.#pending = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes]);
  }

  /** What has come of a reply that is not whole yet. */
  get rest(): Buffer {
    return this.#pending;
  }

  /**
   * The next reply, interim ones left out; undefined when it is not all there. `isHead`: whether it answers a HEAD.
   * @throws NoHttp
   */
  next(isHead: boolean): WireReply | undefined {
    const end = this.#pending.indexOf(END);
    if (end === -1) {
      if (this.#pending.length > LONGEST_HEAD) throw new NoHttp(`the head of a reply has no end`);
      if (this.#pending.length >= 5 && this.#pending.toString('latin1', 0, 5) !== 'HTTP/') {
        throw new NoHttp(`a reply begins with ${JSON.stringify(this.#pending.toString('latin1', 0, 100))}`);
      }
      return undefined;
    }
    const { status, headers } = headOf(this.#pending.toString('latin1', 0, end));
    const bodyAt = end + END.length;
    if (status < 200) {
      this.#pending = this.#pending.subarray(bodyAt);
      return this.next(isHead);
    }
    const found =
      isHead || status === 204 || status === 304 ? { body: Buffer.alloc(0), end: bodyAt } : this.#body(headers, bodyAt);
    if (!found) return undefined;
    this.#pending = this.#pending.subarray(found.end);
    return { status, headers, body: decompressed(headers['content-encoding'], found.body) };
  }

  #body(headers: Record<string, string>, at: number): { body: Buffer; end: number } | undefined {
    const { 'content-length': length, 'transfer-encoding': coding } = headers;
    if (coding !== undefined) {
      if (coding !== 'chunked' || length !== undefined) throw new NoHttp('a reply is framed in no or in two ways');
      return this.#chunks(at);
    }
    if (length === undefined || !/^[0-9]+$/.test(length)) throw new NoHttp(`a reply has the length ${length}`);
    const end = at + Number(length);
    return this.#pending.length < end ? undefined : { body: Buffer.from(this.#pending.subarray(at, end)), end };
  }

  #chunks(start: number): { body: Buffer; end: number } | undefined {
    const parts: Buffer[] = [];
    for (let at = start; ;) {
      const lineEnd = this.#pending.indexOf(LINE, at);
      if (lineEnd === -1) return undefined;
      const size = CHUNK.exec(this.#pending.toString('latin1', at, lineEnd))?.[1];
      if (size === undefined) throw new NoHttp('a chunk has no length');
      const begin = lineEnd + LINE.length;
      const length = Number.parseInt(size, 16);
      const end = begin + length;
      if (this.#pending.length < end + LINE.length) return undefined;
      if (this.#pending.toString('latin1', end, end + LINE.length) !== '\r\n') throw new NoHttp('a chunk has no end');
      parts.push(this.#pending.subarray(begin, end));
      at = end + LINE.length;
      if (length === 0) return { body: Buffer.concat(parts), end: at };
    }
  }
}
