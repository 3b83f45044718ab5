import type { Call, Operation } from './call.js';
import type { WriteOptions } from './options.js';
import type { GatewayReply } from './wire/reply.js';

/** What a method returns: a promise of the output, which can also be asked for all that came along. */
export interface GatewayPromise<T> extends Promise<T> {
  /** Resolves with the output, the status, the headers and what they say. */
  withResponse: () => Promise<GatewayReply<T>>;
}

/** Makes the promise of a method. Whoever asks for the reply alone handles the failure there. */
export const gatewayPromise = <T>(replied: Promise<GatewayReply<T>>): GatewayPromise<T> => {
  const promise = replied.then(({ data }) => data);
  const withResponse = (): Promise<GatewayReply<T>> => {
    promise.catch(() => {});
    return replied;
  };
  return Object.assign(promise, { withResponse });
};

/** Makes a call of an operation that answers once. */
export const callOnce = <T>(
  call: Call,
  operation: Operation,
  input: object,
  options?: WriteOptions,
): GatewayPromise<T> => gatewayPromise(call<T>(operation, input, options));

/** The input of an operation with one required parameter, which may be given alone. */
export const inputOf = (parameter: string, input: unknown): object =>
  typeof input === 'object' && input !== null && !Array.isArray(input) ? input : { [parameter]: input };
