import type { RequestContext } from '../request-context.ts';
import type { Caller } from '../../auth/verifier.ts';

/** What comes with one call of a tool. */
export interface ToolCallContext {
  context: RequestContext;
  /** The name of the call in failures and in the log. */
  requestId: string;
  /** The trace that it belongs to, where that is known. */
  traceId?: string | undefined;
  /** Hears why the call failed. Has its caller wait for that where it must. */
  onFailure: (reason: string) => Promise<void> | void;
  /** To be called when the call is answered. */
  end: () => void;
}

/** Who speaks the Model Context Protocol to us, whichever way. */
export interface McpSession {
  /** The name of what else it asks. */
  requestId: string;
  /** The trace that it belongs to, where that is known. */
  traceId?: string | undefined;
  /** Who it is; undefined for nobody in particular. @throws AppError KEY_… */
  authenticate: () => Promise<Caller | undefined>;
  /** Begins a call of a procedure. `signal` is aborted when nobody waits for it any more. */
  beginCall: (procedure: string, signal: AbortSignal) => ToolCallContext;
}
