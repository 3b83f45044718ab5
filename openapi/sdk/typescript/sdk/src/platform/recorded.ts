import type { Call, EventStream, Operation, StreamOptions } from '../call.js';
import type { WriteOptions } from '../options.js';
import type { GatewayReply } from '../wire/reply.js';

/** Where Vitest keeps its `expect`, also if tests import that. */
const VITEST = Symbol.for('expect-global');

interface Expect {
  readonly getState?: () => { readonly currentTestName?: string };
}

/** The test that runs, by Jest's or Vitest's `expect`. */
const currentTest = (): string | undefined => {
  const { expect, [VITEST]: vitest = expect } = globalThis as { expect?: Expect; [VITEST]?: Expect };
  return vitest?.getState?.().currentTestName;
};

/** Has calls recorded in a consumer contract, if the environment names its file. What records is loaded with the first call. */
export const recorded = (call: Call): Call => {
  const file = process.env['{{environment}}_CONTRACT'];
  if (!file) return call;
  const load = async () => (await import('../record/recorder.js')).recorderOf(file);

  /** Makes a call by `make`, and records it if it fails. */
  const noted = async <T>(operation: Operation, input: object, make: () => Promise<T>) => {
    const about = { operation, test: currentTest(), input: JSON.stringify(input) };
    try {
      const made = await make();
      return { about, made, recorder: await load() };
    } catch (error) {
      (await load()).fail(about, error);
      throw error;
    }
  };

  const recordedCall = async <T>(
    operation: Operation,
    input: object,
    options?: WriteOptions,
  ): Promise<GatewayReply<T>> => {
    const { about, made, recorder } = await noted(operation, input, () => call<T>(operation, input, options));
    const data = recorder.answer(about, made.data);
    return {
      ...made,
      data,
      get body() {
        // It holds all members.
        JSON.stringify(data);
        return made.body;
      },
    };
  };

  const open = async (operation: Operation, input: object, options: StreamOptions): Promise<EventStream> => {
    const { about, made, recorder } = await noted(operation, input, () => call.open(operation, input, options));
    recorder.begin(about);
    return {
      ...made,
      read: (data) => {
        const event = made.read(data);
        return event && recorder.answer(about, event);
      },
      failureIn: (message) => {
        const failure = made.failureIn(message);
        recorder.fail(about, failure.error);
        return failure;
      },
    };
  };

  return Object.assign(recordedCall, { open, wait: call.wait });
};
