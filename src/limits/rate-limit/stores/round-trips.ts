import { ErrorReply } from '@redis/client';
import { AppError } from '../../../base/errors.ts';
import type { RedisObserver, RoundTripObservation } from '../../../base/observer.ts';

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
