import { request } from 'node:http';
import { quantile } from '../quantile.mjs';
import { controlUrl } from './control.ts';
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
  /** Resolves with how long after `since` the page first answered with `status`; Infinity when it did not within `ms`. */
  until(status: number, since: number, ms: number): Promise<number>;
  /** Asks no more, waits for what was asked, and returns all. */
  stop(): Promise<readonly Sample[]>;
}

const PATIENCE_MS = 15_000;

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

/** Looks at a page every so many milliseconds, whether or not the last answer is there. */
export const startProber = (url: string, everyMs = 50): Prober => {
  const samples: Sample[] = [];
  const pending = new Set<Promise<void>>();
  const waiting = new Set<(sample: Sample) => void>();
  const take = async (): Promise<void> => {
    const sample = await look(url);
    samples.push(sample);
    for (const heard of waiting) heard(sample);
  };
  const timer = setInterval(() => {
    const one = take();
    pending.add(one);
    void one.finally(() => pending.delete(one));
  }, everyMs);
  stopAfterTest(() => clearInterval(timer));
  return {
    samples,
    until: (status, since, ms) =>
      new Promise((resolve) => {
        const finish = (after: number): void => {
          clearTimeout(late);
          waiting.delete(heard);
          resolve(after);
        };
        const heard = (sample: Sample): void => {
          if (sample.status === status && sample.at >= since) finish(sample.at + sample.ms - since);
        };
        const late = setTimeout(finish, since + ms - performance.now(), Number.POSITIVE_INFINITY);
        waiting.add(heard);
        samples.forEach(heard);
      }),
    stop: async () => {
      clearInterval(timer);
      await Promise.all(pending);
      return samples;
    },
  };
};

/** How a page was answered, beside what the machine had to do. */
export interface Liveness {
  /** How much later 90 and 99 of 100 looks were answered than those at a server that does nothing but answer, milliseconds. */
  p90: number;
  p99: number;
  failed: number;
  /** What a bound has to allow for on a machine as busy as this was, milliseconds: a few on an idle one. */
  slackMs: number;
}

/** Who does work needs several turns of the processor where the control needs one. */
const TURNS = 4;

/** Looks at a page, and at the same moments at a server that does nothing but answer. */
export const startLiveness = async (url: string): Promise<{ stop(): Promise<Liveness> }> => {
  const [page, control] = [startProber(url), startProber(await controlUrl())];
  const quantileOf = (samples: readonly Sample[], share: number) =>
    quantile(
      samples.map(({ ms }) => ms),
      share,
    );
  return {
    stop: async () => {
      const samples = await page.stop();
      const usual = await control.stop();
      const laterThanUsual = (share: number) => Math.max(0, quantileOf(samples, share) - quantileOf(usual, share));
      return {
        p90: laterThanUsual(0.9),
        p99: laterThanUsual(0.99),
        failed: samples.filter(({ status }) => status !== 200).length,
        slackMs: TURNS * quantileOf(usual, 0.99),
      };
    },
  };
};
