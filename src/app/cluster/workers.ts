/** Several processes that share a port, by node:cluster. */
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { clearTimeout, setTimeout, sleep } from '../../base/runtime.ts';
import { Handovers } from './handovers.ts';

const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;
const STOP = 'stop';
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5000;
/** A worker that ran for this long had started well: its replacement starts at once. */
const SETTLED_MS = 10_000;
/** The time that a worker may take beyond its limit to end. */
const END_MS = 150;

/** Whether this process is one of several, which another one started. */
export const { isWorker } = cluster;

/** Resolves at the first signal to stop. A second one ends the process at once, as Node.js does without a handler. */
export const stopSignal = (): Promise<string> =>
  new Promise((resolve) => {
    const onSignal = (signal: NodeJS.Signals) => {
      for (const name of STOP_SIGNALS) process.off(name, onSignal);
      resolve(signal);
    };
    for (const name of STOP_SIGNALS) process.on(name, onSignal);
  });

/**
 * Resolves when this worker has to stop: by a signal, by a message of its supervisor, or when the supervisor has ended.
 * Ctrl-C causes both a signal and a message, which count once.
 */
export const workerStopped = (): Promise<string> => {
  // Otherwise Node.js ends the worker at once when the supervisor has ended.
  if (cluster.worker) cluster.worker.exitedAfterDisconnect = true;
  const told = new Promise<string>((resolve) => {
    process.on('message', (message) => {
      if (message === STOP) resolve('told to');
    });
    process.once('disconnect', () => resolve('the supervisor is gone'));
  });
  return Promise.race([stopSignal(), told]);
};

/** Disconnects a worker, so that it can end. */
export const leaveSupervisor = (): void => {
  if (process.connected) process.disconnect();
};

interface WorkerOptions {
  /** The environment variables of a worker, by its number from 1 on, which its replacement inherits. */
  variablesOf: (number: number) => Record<string, string>;
  /** Called when a worker ends without being told to. */
  onExit: () => void;
  log: Logger;
}

/**
 * Keeps a number of workers running. It replaces a worker that ends, after a pause that grows while workers fail soon
 * after their start.
 */
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

  /** Tells all workers to finish, waits until they have ended, and kills those that take longer. */
  async stop(timeoutMs: number): Promise<void> {
    this.#stopping = true;
    const known = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
    // A killed worker may still be listed, and does not end again.
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
    // Each line has the supervisor's own `pid`.
    const { pid: workerPid } = worker.process;
    const number = this.#numbers.get(worker) ?? 0;
    this.#numbers.delete(worker);
    if (this.#stopping) return;
    this.#options.onExit();
    this.#options.log.error({ workerPid, code, signal }, 'a worker has ended and is replaced');
    const pause = this.#pause;
    this.#pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
    await sleep(pause);
    if (!this.#stopping) this.#fork(number);
  }
}
