/** Something stored that differs from the rows it stands for. */
export interface Difference {
  /** `games.like_count`, `counters.n`, `search.games`. */
  what: string;
  /** The id of the row that is wrong. */
  id: string;
  stored: number | string;
  actual: number | string;
}

/** The differences of a kind. */
export interface Finding {
  what: string;
  /** How many there are. */
  total: number;
  /** The first of them. */
  samples: Difference[];
}

const SAMPLES = 20;

/** Collects differences. */
export class Findings {
  readonly #findings = new Map<string, Finding>();

  note(differences: readonly Difference[]): void {
    for (const difference of differences) {
      const { what } = difference;
      const finding = this.#findings.get(what) ?? { what, total: 0, samples: [] };
      this.#findings.set(what, finding);
      finding.total += 1;
      if (finding.samples.length < SAMPLES) finding.samples.push(difference);
    }
  }

  get all(): Finding[] {
    return [...this.#findings.values()];
  }
}
