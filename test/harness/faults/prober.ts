import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../until.ts';
import { stopAfterTest } from './running.ts';

/** One look at a page, on a connection of its own. */
interface Sample {
  /** When it was asked, as `performance.now()` counts. */
  at: number;
  /** How long the answer took. */
  ms: number;
  /** 0 when there was no answer. */
  status: number;
}

/** A page that is looked at again and again. */
export interface Prober {
  samples: readonly Sample[];
  /** Resolves with when the page had answered so many looks with `status` that it was asked for after `since`. */
  answered(status: number, since: number, times?: number): Promise<number>;
  /** Asks no more, and waits for what was asked. */
  stop(): Promise<void>;
}

const PATIENCE_MS = 15_000;
const REST_MS = 20;

const look = (url: string): Promise<Sample> =>
  new Promise((resolve) => {
    const at = performance.now();
    let status = 0;
    const asked = request(url, { agent: false, headers: { Connection: 'close' }, timeout: PATIENCE_MS }, (answer) => {
      status = answer.statusCode ?? 0;
      answer.resume();
    });
    asked.on('timeout', () => asked.destroy());
    asked.on('error', () => (status = 0));
    asked.on('close', () => resolve({ at, ms: performance.now() - at, status }));
    asked.end();
  });

/** Looks at a page, rests, and looks again. */
export const startProber = (url: string): Prober => {
  const samples: Sample[] = [];
  let isStopped = false;
  stopAfterTest(() => (isStopped = true));
  const run = async (): Promise<void> => {
    while (!isStopped) {
      samples.push(await look(url));
      await sleep(REST_MS);
    }
  };
  const done = run();
  return {
    samples,
    answered: async (status, since, times = 1) => {
      const those = () => samples.filter((sample) => sample.status === status && sample.at >= since);
      await until(() => those().length >= times, { withinMs: Number.POSITIVE_INFINITY });
      const { at, ms } = those()[times - 1]!;
      return at + ms;
    },
    stop: async () => {
      isStopped = true;
      await done;
    },
  };
};
