import type { Call } from '../call.js';
import type { FetchReply, FetchRequest } from '../options.js';

/** Sends a request; where it can, with a limit in milliseconds on connecting. */
export type Send = (url: string, request: FetchRequest, connectTimeoutMs: number) => Promise<FetchReply>;

/** What differs between Node.js and browsers. */
export interface Platform {
  /** The runtime for the `User-Agent`, `node 20.20.2`; undefined where that header is not a page's to set. */
  readonly runtime: string | undefined;
  /** Reads a variable of the environment. */
  readonly environment: (name: string) => string | undefined;
  /** Writes a line of the log; undefined where there is none. */
  readonly log?: (line: string) => void;
  /** What sends requests to a base URL, over so many connections at most, or any number. @throws UsageError if its proxy's address is wrong */
  readonly senderTo: (baseUrl: string, maxConnections: number | null) => Send;
  /** Has calls recorded in a consumer contract, if the environment says so. */
  readonly recorded: (call: Call) => Call;
}
