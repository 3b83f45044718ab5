/** Observes one round trip to Redis. It ends once, answered or failed. */
export interface RoundTripObservation {
  /** Redis answered; `refusal` is the first word of its error, such as NOSCRIPT. */
  answered: (refusal?: string) => void;
  /** Redis did not answer in time. */
  failed: (error: unknown) => void;
}

/** Observes the commands that calls send to Redis. */
export interface RedisObserver {
  /** Called when a command is sent. */
  sent: (command: string) => RoundTripObservation;
}

/** Observes rate limits. */
export interface RateLimitObserver {
  redis?: RedisObserver | undefined;
  /** Called when a policy refuses a caller. */
  limited: (policy: string) => void;
}
