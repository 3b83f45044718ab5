/** Watches one round trip to Redis. It ends once, answered or failed. */
export interface RoundTripObservation {
  /** It is answered; `refusal` is Redis' word for an error, such as NOSCRIPT. */
  answered: (refusal?: string) => void;
  /** It is not, or nobody waits any more. */
  failed: (error: unknown) => void;
}

/** Watches what Redis is asked for the sake of a call. */
export interface RedisObserver {
  /** A command is sent. */
  sent: (command: string) => RoundTripObservation;
}

/** Watches the limits at work. */
export interface RateLimitObserver {
  redis?: RedisObserver | undefined;
  /** A caller was refused by a limit. */
  limited: (policy: string) => void;
}
