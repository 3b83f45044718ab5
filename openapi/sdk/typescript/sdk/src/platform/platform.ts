import type { FetchReply, FetchRequest } from '../options.js';

/** What differs between Node.js and browsers. */
export interface Platform {
  /** The runtime for the `User-Agent`, `node 20.20.2`; undefined where that header is not a page's to set. */
  readonly runtime: string | undefined;
  /** Reads a variable of the environment. */
  readonly environment: (name: string) => string | undefined;
  /** Sends a request; where it can, with a limit in milliseconds on connecting. */
  readonly send: (url: string, request: FetchRequest, connectTimeoutMs: number) => Promise<FetchReply>;
}
