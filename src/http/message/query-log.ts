import type { QueryRecorder } from '../../base/deadline.ts';

/** The statements in a line of the log, slowest first, and the length of each. */
const MOST_SHOWN = 10;
const SHOWN_LENGTH = 300;
/** The statements that are recorded of one request; further ones are only counted. */
const MOST_KEPT = 1000;

interface LoggedQuery {
  sql: string;
  ms: number;
}

const round = (ms: number): number => Math.round(ms * 10) / 10;

/** The statements of a request: their texts, which hold no values, and the milliseconds of each. */
export class QueryLog implements QueryRecorder {
  readonly #runs: LoggedQuery[] = [];
  #count = 0;
  #ms = 0;

  add(sql: string, ms: number): void {
    this.#count += 1;
    this.#ms += ms;
    if (this.#runs.length < MOST_KEPT) this.#runs.push({ sql, ms });
  }

  /** Members for the log. Statements may run concurrently, so that their sum may exceed the time of the request. */
  describe(): object {
    const slowest = this.#runs.toSorted((a, b) => b.ms - a.ms).slice(0, MOST_SHOWN);
    return {
      sqlCount: this.#count,
      sqlMs: round(this.#ms),
      statements: slowest.map(({ sql, ms }) => ({
        ms: round(ms),
        text: sql.replaceAll(/\s+/g, ' ').trim().slice(0, SHOWN_LENGTH),
      })),
    };
  }
}
