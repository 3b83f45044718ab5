/** A stored value that differs from the rows that it summarizes. */
export interface CountDifference {
  /** `games.like_count`, `counters.n`, `search.games`. */
  field: string;
  /** The id of the wrong row. */
  id: string;
  stored: number | string;
  actual: number | string;
}

/** The differences of a kind. */
export interface ReconcileFinding {
  field: string;
  /** The number of differences. */
  total: number;
  /** The first differences. */
  samples: CountDifference[];
}

const SAMPLES = 20;

/** Collects differences. */
export class ReconcileFindings {
  readonly #findings = new Map<string, ReconcileFinding>();

  note(differences: readonly CountDifference[]): void {
    for (const difference of differences) {
      const { field } = difference;
      const finding = this.#findings.get(field) ?? { field, total: 0, samples: [] };
      this.#findings.set(field, finding);
      finding.total += 1;
      if (finding.samples.length < SAMPLES) finding.samples.push(difference);
    }
  }

  get all(): ReconcileFinding[] {
    return [...this.#findings.values()];
  }
}
