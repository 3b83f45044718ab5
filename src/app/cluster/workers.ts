/** Several processes that share a port, by node:cluster. */
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { Handovers } from './handovers.ts';

const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;
const STOP = 'stop';
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5000;
/** A worker that lived so long had started well: the next one starts at once. */
const SETTLED_MS = 10_000;
/** What a worker may take beyond its time, to end. */
const END_MS = 150;

/** Whether this process is one of several, which another one started. */
export const { isWorker } = cluster;

/** Resolves at the first signal that asks to stop. A second one ends the process at once, as it does without us. */
export const stopSignal = (): Promise<string> =>
  new Promise((resolve) => {
    const onSignal = (signal: NodeJS.Signals) => {
      for (const name of STOP_SIGNALS) process.off(name, onSignal);
      resolve(signal);
    };
    for (const name of STOP_SIGNALS) process.on(name, onSignal);
  });

/**
 * Resolves when this worker is to stop: by a signal, at the word of its supervisor, or when that is gone. Ctrl-C reaches
 * it by a signal and by a word, which counts as one.
 */
export const workerStopped = (): Promise<string> => {
  // Or else Node ends it at once when the supervisor is gone.
  if (cluster.worker) cluster.worker.exitedAfterDisconnect = true;
  const told = new Promise<string>((resolve) => {
    process.on('message', (message) => {
      if (message === STOP) resolve('told to');
    });
    process.once('disconnect', () => resolve('the supervisor is gone'));
  });
  return Promise.race([stopSignal(), told]);
};

/** Lets a worker that has nothing left to do end. */
export const leaveSupervisor = (): void => {
  if (process.connected) process.disconnect();
};

interface WorkerOptions {
  /** The variables of the environment that are a worker's own, by its number, from 1 on, which it hands to who replaces it. */
  variablesOf: (number: number) => Record<string, string>;
  /** Hears of each that ended although nobody had told it to. */
  onExit: () => void;
  log: Logger;
}

/** Keeps so many workers running: one that ends is replaced, after a pause that grows while they fail at once. */
export class Workers {
  readonly #count: number;
  readonly #options: WorkerOptions;
  readonly #numbers = new Map<Worker, number>();
  readonly #handovers = new Handovers();
  #pause = FIRST_PAUSE_MS;
  #stopping = false;

  constructor(count: number, options: WorkerOptions) {
    this.#count = count;
    this.#options = options;
  }

  /**
   * Starts the first worker and, when it listens, the others.
   * @returns the port
   * @throws Error when the first one fails to start; it has said why
   */
  async start(): Promise<number> {
    const first = this.#fork(1);
    const ended = once(first, 'exit').then(() => {
      throw new Error('No worker could start.');
    });
    const [address] = (await Promise.race([once(first, 'listening'), ended])) as [AddressInfo];
    ended.catch(() => undefined);
    for (let number = 2; number <= this.#count; number += 1) this.#fork(number);
    cluster.on('exit', (worker, code, signal) => void this.#replace(worker, code, signal));
    return address.port;
  }

  /** Has all workers finish what they do, and waits until they have ended: one that takes longer is killed. */
  async stop(timeoutMs: number): Promise<void> {
    this.#stopping = true;
    const known = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
    // One that was killed may still be among them, and does not end again.
    const running = known.filter((worker) => !worker.isDead());
    const ended = running.map((worker) => once(worker, 'exit'));
    for (const worker of running) worker.send(STOP);
    const late = setTimeout(() => {
      for (const worker of running) worker.process.kill('SIGKILL');
    }, timeoutMs + END_MS);
    await Promise.all(ended);
    clearTimeout(late);
  }

  #fork(number: number): Worker {
    const worker = cluster.fork(this.#options.variablesOf(number));
    this.#numbers.set(worker, number);
    this.#handovers.watch(worker);
    const settled = setTimeout(() => (this.#pause = FIRST_PAUSE_MS), SETTLED_MS).unref();
    worker.once('exit', () => clearTimeout(settled));
    return worker;
  }

  async #replace(worker: Worker, code: number | null, signal: string | null): Promise<void> {
    const { pid } = worker.process;
    const number = this.#numbers.get(worker) ?? 0;
    this.#numbers.delete(worker);
    if (this.#stopping) return;
    this.#options.onExit();
    this.#options.log.error({ pid, code, signal }, 'a worker has ended and is replaced');
    const pause = this.#pause;
    this.#pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
    await sleep(pause);
    if (!this.#stopping) this.#fork(number);
  }
}
