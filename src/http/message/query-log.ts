import type { Deadline } from '../../deadline.ts';

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

/** What a request asked the database: texts of ours, without the values, and how long each answer took. */
export class QueryLog {
  readonly #runs: LoggedQuery[] = [];
  #count = 0;
  #ms = 0;

  /** Has it hear of all statements of a piece of work. */
  watch(deadline: Deadline): void {
    deadline.observe = (sql, ms) => {
      this.#count += 1;
      this.#ms += ms;
      if (this.#runs.length < MOST_KEPT) this.#runs.push({ sql, ms });
    };
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
