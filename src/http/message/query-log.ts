import type { QueryRecorder } from '../../deadline.ts';

/** Statements that a line shows, the slowest first, and how much of each. */
const MOST_SHOWN = 10;
const SHOWN_LENGTH = 300;
/** Statements that are remembered of one request; those beyond are only counted. */
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

  /** For the log. Statements may run side by side, so that all of them together take longer than the request. */
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
