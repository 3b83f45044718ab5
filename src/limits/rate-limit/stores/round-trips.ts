import { ErrorReply } from '@redis/client';
import { AppError } from '../../../base/errors.ts';

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

/** The first word of an error that Redis answers with. */
const refusalOf = ({ message }: ErrorReply): string => message.split(' ', 1)[0] as string;

/** The round trips of one operation, one after the other, each observed if there is an observer. */
export class RoundTrips {
  readonly #observer: RedisObserver | undefined;
  #watch: RoundTripObservation | undefined;

  constructor(observer: RedisObserver | undefined) {
    this.#observer = observer;
  }

  /** Sends a command, and returns its answer. */
  async send<T>(command: string, send: () => Promise<T>): Promise<T> {
    this.#watch = this.#observer?.sent(command);
    try {
      const answer = await send();
      this.#end((watch) => watch.answered());
      return answer;
    } catch (error) {
      this.#end((watch) => (error instanceof ErrorReply ? watch.answered(refusalOf(error)) : watch.failed(error)));
      throw error;
    }
  }

  /** Ends the observations as failed when the caller stops waiting. */
  giveUp(): void {
    this.#end((watch) => watch.failed(new AppError('TIMEOUT')));
  }

  /** Ends each observation once. */
  #end(tell: (watch: RoundTripObservation) => void): void {
    const watch = this.#watch;
    this.#watch = undefined;
    if (watch) tell(watch);
  }
}
