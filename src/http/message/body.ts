import { isUtf8 } from 'node:buffer';
import type { Request } from 'express';
import type { BodyCoding } from '../../../contract/index.ts';
import { AppError } from '../../base/errors.ts';
import { stateOf } from './request-state.ts';
import { gunzip, inflate, type ZlibOptions } from 'node:zlib';

/** The number of bodies inflated at once: half of the threads that Node.js has for inflating and for files. */
const RUNNING = 2;
/** The received bytes of bodies that are inflated or wait for it: some dozens of the largest bodies. */
const PENDING_BYTES = 32 * 1024 * 1024;
/** The smallest size that a body counts as, for its connection and its request. */
const LEAST_BYTES = 64 * 1024;

/** The bytes that zlib decompresses at a time: each step switches to another thread and back. */
const CHUNK_BYTES = 64 * 1024;

/** The result of zlib with the option `info`. */
interface Inflated {
  buffer: Buffer;
  /** `bytesWritten` is the number of compressed bytes used. */
  engine: { bytesWritten: number };
}

type Unpack = (
  packed: Buffer,
  options: ZlibOptions,
  done: (error: NodeJS.ErrnoException | null, inflated: Inflated) => void,
) => void;

/** RFC 9110, section 8.4.1. `deflate` is zlib's format there, not the raw one. */
const unpackers = { gzip: gunzip as unknown as Unpack, deflate: inflate as unknown as Unpack } satisfies Record<
  BodyCoding,
  Unpack
>;

const unpack = (packed: Buffer, coding: BodyCoding, limit: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const malformed = (cause?: Error): void =>
      reject(new AppError('MALFORMED_JSON', { hint: `The body is not well-formed ${coding}.`, cause }));
    unpackers[coding](packed, { maxOutputLength: limit, chunkSize: CHUNK_BYTES, info: true }, (error, inflated) => {
      if (error?.code === 'ERR_BUFFER_TOO_LARGE') reject(new AppError('PAYLOAD_TOO_LARGE'));
      else if (error) malformed(error);
      // zlib ignores bytes after the end.
      else if (inflated.engine.bytesWritten !== packed.length) malformed();
      else resolve(inflated.buffer);
    });
  });

/** Inflates a few bodies at a time: each may become a thousand times larger. */
export class Inflater {
  #running = 0;
  #pendingBytes = 0;
  readonly #waiting: (() => void)[] = [];

  /**
   * Returns the decompressed body, at most `limit` bytes long.
   * @throws AppError PAYLOAD_TOO_LARGE, MALFORMED_JSON, OVERLOADED when too many bodies already wait
   */
  async inflate(packed: Buffer, coding: BodyCoding, limit: number): Promise<Buffer> {
    // Empty content stays empty in every encoding.
    if (packed.length === 0) return packed;
    const weight = Math.max(packed.length, LEAST_BYTES);
    if (this.#pendingBytes + weight > PENDING_BYTES) throw new AppError('OVERLOADED');
    this.#pendingBytes += weight;
    if (this.#running < RUNNING) this.#running += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await unpack(packed, coding, limit);
    } finally {
      this.#pendingBytes -= weight;
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running -= 1;
    }
  }
}

/** The bytes of all partially received bodies: sixteen of the largest, or thousands of usual ones. */
const PARTIAL_BYTES = 64 * 1024 * 1024;
/** Shorter pieces of a body are joined, since each takes many times its size. */
const SHORT_PIECE = 16 * 1024;
const LEAST_BLOCK = 1024;
const NOTHING = Buffer.alloc(0);

/** The pieces of a body. */
class Pieces {
  length = 0;
  /** The allocated bytes. */
  size = 0;
  readonly #blocks: Buffer[] = [];
  /** The block of short pieces, and its used length. */
  #open = NOTHING;
  #filled = 0;

  add(piece: Buffer): void {
    const isFirst = this.length === 0;
    this.length += piece.length;
    if (isFirst || piece.length >= SHORT_PIECE) {
      this.#close();
      this.#blocks.push(piece);
      this.size += piece.length;
      return;
    }
    if (this.#filled + piece.length > this.#open.length) {
      this.#close();
      this.#open = Buffer.allocUnsafeSlow(Math.min(Math.max(this.length, LEAST_BLOCK), SHORT_PIECE));
      this.size += this.#open.length;
    }
    this.#filled += piece.copy(this.#open, this.#filled);
  }

  /** Joins all pieces, and releases them. */
  take(): Buffer {
    this.#close();
    const blocks = this.#blocks.splice(0);
    return blocks.length === 1 ? (blocks[0] as Buffer) : Buffer.concat(blocks);
  }

  #close(): void {
    if (this.#filled > 0) this.#blocks.push(this.#open.subarray(0, this.#filled));
    this.#open = NOTHING;
    this.#filled = 0;
  }
}

/** A hint on a body that is not UTF-8. */
const encodingHint = (body: Buffer): string => {
  const start = body.subarray(0, 2).toString('hex');
  if (start === 'fffe' || start === 'feff') return 'The body is UTF-16. Send it in UTF-8.';
  if (start === '1f8b') return 'The body is compressed. Send `Content-Encoding: gzip` with it.';
  return 'The body is not UTF-8. Send the text in UTF-8.';
};

/** A partially received body. */
interface PartialBody {
  /** Its size in bytes. */
  size: number;
  fail: (error: AppError) => void;
}

/**
 * Reads the bodies of requests. Partial bodies share a limit: when it is reached, the bodies that have waited longest
 * for their next piece are refused.
 */
export class BodyReader {
  readonly #inflater = new Inflater();
  /** The partial bodies by their requests, longest waiting first. */
  readonly #partials = new Map<Request, PartialBody>();
  #partialBytes = 0;

  /**
   * Returns the text of a body, at most `limit` bytes when decompressed; empty for no body. `assertJson` has checked
   * the media type and the coding.
   * @throws AppError PAYLOAD_TOO_LARGE, BAD_HTTP_REQUEST for too many chunks, MALFORMED_JSON for an incomplete body or
   * one that is not UTF-8, OVERLOADED, and the failure of the request if it is an AppError
   */
  async read(request: Request, limit: number): Promise<string> {
    const coding = request.headers['content-encoding']?.toLowerCase() ?? 'identity';
    const sent = await this.#receive(request, limit);
    const body = coding === 'identity' ? sent : await this.#inflater.inflate(sent, coding as BodyCoding, limit);
    // A decoder would replace invalid UTF-8 by replacement characters.
    if (!isUtf8(body)) throw new AppError('MALFORMED_JSON', { hint: encodingHint(body) });
    return body.toString();
  }

  /** Reads the body of a call, and restarts its time then. The caller is charged even for an unreadable body. */
  async readForCall(request: Request, limit: number): Promise<string> {
    const state = stateOf(request);
    let length = 0;
    try {
      const text = await this.read(request, limit);
      length = text.length;
      return text;
    } finally {
      state.chargeBody(length);
      state.deadline.restart();
    }
  }

  /** Reads the raw body. Express' reader costs as much as all other work on the request. */
  #receive(request: Request, limit: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const { 'content-length': announced } = request.headers;
      const whole = announced === undefined ? undefined : Number(announced);
      if (whole !== undefined && whole > limit) {
        reject(new AppError('PAYLOAD_TOO_LARGE'));
        return;
      }
      const fault = stateOf(request).chunks?.fault;
      if (fault) {
        reject(fault);
        return;
      }
      const pieces = new Pieces();
      const fail = (error: AppError): void => {
        // The rest of the body is discarded, without storing any of it.
        request.off('data', onData).off('end', onEnd).off('error', onError);
        this.#release(request);
        reject(error);
      };
      const onData = (piece: Buffer): void => {
        pieces.add(piece);
        if (pieces.length > limit) fail(new AppError('PAYLOAD_TOO_LARGE'));
        // Nearly every body arrives in one piece.
        else if (pieces.length !== whole) this.#hold(request, pieces.size, fail);
      };
      const onEnd = (): void => {
        this.#release(request);
        resolve(pieces.take());
      };
      // The connection broke by itself, so no one can read the answer.
      const onError = (cause: Error): void => {
        fail(cause instanceof AppError ? cause : new AppError('MALFORMED_JSON', { cause }));
      };
      request.on('data', onData).on('end', onEnd).on('error', onError);
    });
  }

  /** Updates the size of a partial body. */
  #hold(request: Request, size: number, fail: (error: AppError) => void): void {
    this.#release(request);
    this.#partials.set(request, { size, fail });
    this.#partialBytes += size;
    for (const longest of this.#partials.values()) {
      if (this.#partialBytes <= PARTIAL_BYTES) break;
      longest.fail(new AppError('OVERLOADED'));
    }
  }

  #release(request: Request): void {
    const partial = this.#partials.get(request);
    if (!partial) return;
    this.#partials.delete(request);
    this.#partialBytes -= partial.size;
  }
}

/** Returns the input of a GET, `?input=<JSON>`; empty for no input. @throws AppError MALFORMED_JSON */
export const queryText = ({ query: { input = '' } }: Request): string => {
  if (typeof input !== 'string') throw new AppError('MALFORMED_JSON', { hint: 'Send `input` once.' });
  return input;
};
