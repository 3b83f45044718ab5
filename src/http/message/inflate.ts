import { gunzip, inflate, type ZlibOptions } from 'node:zlib';
import type { BodyCoding } from '../../../contract/index.ts';
import { AppError } from '../../base/errors.ts';

/** The bodies that are inflated at once: half of the threads that Node.js has for this and for files. */
const RUNNING = 2;
/** The bytes of bodies that are inflated or wait for it, as they came: some dozens of the largest. */
const PENDING_BYTES = 32 * 1024 * 1024;
/** The least that a body counts, for its connection and its request. */
const LEAST_BYTES = 64 * 1024;

/** The bytes that zlib decompresses at a time: each step takes a trip to another thread. */
const CHUNK_BYTES = 64 * 1024;

/** The result of zlib with the option `info`. */
interface Inflated {
  buffer: Buffer;
  /** `bytesWritten` counts the compressed bytes that were used. */
  engine: { bytesWritten: number };
}

type Unpack = (
  packed: Buffer,
  options: ZlibOptions,
  done: (error: NodeJS.ErrnoException | null, inflated: Inflated) => void,
) => void;

/** RFC 9110, section 8.4.1. `deflate` is zlib's format there, not the bare one. */
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

/** Inflates a few bodies at a time: each may grow a thousandfold. */
export class Inflater {
  #running = 0;
  #pendingBytes = 0;
  readonly #waiting: (() => void)[] = [];

  /**
   * The decompressed body, at most `limit` bytes long.
   * @throws AppError PAYLOAD_TOO_LARGE, MALFORMED_JSON, OVERLOADED when too many wait already
   */
  async inflate(packed: Buffer, coding: BodyCoding, limit: number): Promise<Buffer> {
    // No content is no content, however encoded.
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
