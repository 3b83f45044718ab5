import type { Caller } from '../key/verifier.ts';
import type { Standings } from './standings.ts';

declare global {
  // eslint-disable-next-line typescript/no-namespace -- Express is extended in no other way.
  namespace Express {
    interface Locals {
      requestId: string;
      /** Headers that every reply has besides the request id: names and values in turn. */
      headers: readonly string[];
      /** How the caller stands to its limits, where there are any. */
      standings?: Standings | undefined;
      /** The id of the procedure called, once it is known. */
      procedure?: string;
      caller?: Caller | undefined;
      /** Why the request failed, for the log. */
      reason?: string;
    }
  }
}
