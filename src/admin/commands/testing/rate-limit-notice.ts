import { performance } from '../../../base/runtime.ts';
import { note } from '../shared/output.ts';

/** The seconds between two lines if no terminal shows a progress bar. */
const EVERY_S = 30;
const MINUTE_S = 60;

const HELP = 'A key (--key) has higher limits, and RATE_LIMIT=off on the deployment removes them.';

const inWords = (seconds: number): string =>
  seconds < MINUTE_S ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / MINUTE_S)} min`;

/** Reports from time to time that the deployment limits rates, the progress of the run, and how to make it faster. */
export class RateLimitNotice {
  readonly #hasTerminal: boolean;
  readonly #now: () => number;
  readonly #began: number;
  #told = -Infinity;
  #done = 0;
  #total = 0;

  constructor(hasTerminal = process.stderr.isTTY, now = () => performance.now() / 1000) {
    this.#hasTerminal = hasTerminal;
    this.#now = now;
    this.#began = now();
  }

  begin(total: number): void {
    this.#total = total;
  }

  advance(more: number): void {
    this.#done += more;
  }

  /** Called when the deployment asks the run to wait for some seconds. */
  onWait(seconds: number): void {
    const now = this.#now();
    // A progress bar shows the rest.
    if (now - this.#told < (this.#hasTerminal ? Infinity : EVERY_S)) return;
    this.#told = now;
    note(`Rate limited: waiting ${Number(seconds.toFixed(1))} s; ${this.#progress(now)}. ${HELP}`);
  }

  #progress(now: number): string {
    const done = `${this.#done.toLocaleString('en-US')} of ${this.#total.toLocaleString('en-US')} checks`;
    if (this.#done === 0) return done;
    const left = ((now - this.#began) / this.#done) * (this.#total - this.#done);
    return `${done}, about ${inWords(left)} left`;
  }
}
