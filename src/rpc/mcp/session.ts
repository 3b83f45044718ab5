import type { RequestState } from '../../http/message/request-state.ts';
import type { Caller } from '../../auth/verifier.ts';

/** The context of one tool call. */
export interface ToolCallContext {
  state: RequestState;
  /** Called with the reason of a failure. The answer waits for the promise. */
  onFailure: (reason: string) => Promise<void> | void;
  /** Called when the call is answered. */
  end: () => void;
}

/** A client of the Model Context Protocol, by HTTP or on the standard input and output. */
export interface McpSession {
  /** The request id of requests that are not tool calls. */
  requestId: string;
  /** The trace that it belongs to, where that is known. */
  traceId?: string | undefined;
  /** Authenticates the client; undefined for an anonymous one. @throws AppError KEY_… */
  authenticate: () => Promise<Caller | undefined>;
  /** Begins a tool call. `signal` is aborted when the client cancels it. */
  beginCall: (procedure: string, signal: AbortSignal) => ToolCallContext;
}
