/** A request to send. */
export interface Request {
  /** POST, unless given. */
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

/** A request as it was sent. */
export interface SentRequest {
  method: string;
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string | undefined;
}

/** A request and its subject. */
export interface Exchange {
  /** The id of an operation, or `service`. */
  subject: string;
  /** The `X-Request-Id` that was sent. */
  requestId: string;
  request: SentRequest;
}

export interface Reply extends Exchange {
  status: number;
  headers: Headers;
  text: string;
  /** The body; undefined if it is not JSON. */
  json: unknown;
}
