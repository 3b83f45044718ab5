import type { ProcedureId } from '../app/app.ts';
import { openClient, reasonIn } from '../app/client.ts';
import { type Attempt, untilStopped } from './writers.ts';

/** Callers that read, each one procedure again and again. */
export interface Readers {
  attempts: readonly Attempt[];
  stop(): Promise<void>;
}

interface Reader {
  procedure: ProcedureId;
  input: unknown;
  /** None: anonymously. */
  key?: string;
}

/** Starts one caller for each of these, that rests between two calls. */
export const startReaders = (
  base: string,
  readers: readonly Reader[],
  { restMs = 20, patienceMs = 20_000 } = {},
): Readers => {
  const attempts: Attempt[] = [];
  const callers = readers.map(({ procedure, input, key }, caller) => {
    const client = openClient(base, key, { patienceMs });
    const turn = async (): Promise<void> => {
      const at = performance.now();
      const ending = await client.call(procedure, input);
      attempts.push({ procedure, caller, at, ms: performance.now() - at, outcome: reasonIn(ending), ending });
    };
    return { turn, close: () => client.close() };
  });
  return { attempts, stop: untilStopped(callers, restMs) };
};
