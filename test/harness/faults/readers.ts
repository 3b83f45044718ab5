import { setTimeout as sleep } from 'node:timers/promises';
import type { ProcedureId } from '../app/app.ts';
import { openClient, reasonIn } from '../app/client.ts';
import { stopAfterTest } from './running.ts';
import type { Attempt } from './writers.ts';

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
  let isStopped = false;
  const run = async ({ procedure, input, key }: Reader, caller: number): Promise<void> => {
    const client = openClient(base, key, { patienceMs });
    while (!isStopped) {
      const at = performance.now();
      const ending = await client.call(procedure, input);
      attempts.push({ procedure, caller, at, ms: performance.now() - at, outcome: reasonIn(ending), ending });
      await sleep(restMs);
    }
    client.close();
  };
  stopAfterTest(() => (isStopped = true));
  const done = Promise.all(readers.map(run));
  return {
    attempts,
    stop: async () => {
      isStopped = true;
      await done;
    },
  };
};
