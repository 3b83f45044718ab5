import { MAX_USE_DAYS } from '../../../contract/index.ts';

const DAY_MS = 86_400_000;
const DATE_LENGTH = '2026-04-01'.length;
/** The days for which uses are kept. */
export const KEPT_DAYS = MAX_USE_DAYS;

const dayOf = (time: number): string => new Date(time).toISOString().slice(0, DATE_LENGTH);

/** The day a number of days before a time, in UTC: `2026-04-01`. */
export const dayBefore = (time: Date, days: number): string => dayOf(time.getTime() - days * DAY_MS);

/** The day of a clock, in UTC. Formatting the day for each call would cost more than to count the call. */
export class Today {
  readonly #now: () => Date;
  #day = '';
  #end = 0;

  constructor(now: () => Date) {
    this.#now = now;
  }

  /** `2026-04-01` */
  get day(): string {
    const time = this.#now().getTime();
    if (time >= this.#end || time < this.#end - DAY_MS) {
      this.#day = dayOf(time);
      this.#end = (Math.floor(time / DAY_MS) + 1) * DAY_MS;
    }
    return this.#day;
  }
}
