import type { Registry } from 'prom-client';
import { performance } from '../../base/runtime.ts';
import type { DatabaseObserver, PoolUsage, StatementObservation } from '../../base/observer.ts';
import { DATABASE_FAULTS } from '../../base/errors.ts';
import { type Count, Numbers, type Distribution, expose, Histograms, register } from './cells.ts';

/** The counts of one pool. */
interface PoolCells {
  duration: Distribution;
  ended: Count;
  failures: Count;
}

class MeasuredStatement implements StatementObservation {
  readonly #cells: PoolCells;
  #sentAt: number | undefined;

  constructor(cells: PoolCells) {
    this.#cells = cells;
  }

  sent(): void {
    this.#sentAt = performance.now();
  }

  end(error?: unknown): void {
    const { duration, ended, failures } = this.#cells;
    ended.n += 1;
    if (this.#sentAt !== undefined) duration.observe((performance.now() - this.#sentAt) / 1000);
    // Drivers return null for a missing value.
    if (error !== undefined && error !== null) failures.n += 1;
  }
}

/** Counts statements and waits for connections. */
export const databaseMetrics = (registry: Registry): DatabaseObserver => {
  const durations = register(registry, new Histograms('database_statement_duration_seconds'));
  const ended = register(registry, new Numbers('database_statements_total'));
  const failures = register(registry, new Numbers('database_statement_failures_total'));
  const waits = register(registry, new Histograms('database_wait_seconds'));
  const retries = register(registry, new Numbers('database_retries_total'));
  const reads = register(registry, new Numbers('coalesced_reads_total'));
  const batches = register(registry, new Numbers('coalesced_batches_total'));
  const faults = register(registry, new Numbers('database_faults_total'));
  for (const fault of Object.keys(DATABASE_FAULTS)) faults.at(fault);
  const pools = new Map<string, () => PoolUsage>();
  expose(registry, 'database_connections', (set) => {
    for (const [pool, usage] of pools) {
      const { used, idle } = usage();
      set(used, pool, 'used');
      set(idle, pool, 'idle');
    }
  });
  const read = (member: keyof PoolUsage) => (set: (value: number, pool: string) => void) => {
    for (const [pool, usage] of pools) set(usage()[member], pool);
  };
  expose(registry, 'database_connections_max', read('limit'));
  expose(registry, 'database_waiting', read('waiting'));

  return {
    pool: (name, usage) => {
      pools.set(name, usage);
      const wait = waits.at(name);
      const cells = { duration: durations.at(name), ended: ended.at(name), failures: failures.at(name) };
      return {
        waited: (ms) => wait.observe(ms / 1000),
        statement: () => new MeasuredStatement(cells),
      };
    },
    failed: (fault) => {
      faults.at(fault).n += 1;
    },
    retried: (cause) => {
      retries.at(cause).n += 1;
    },
    coalesced: (name) => {
      const [asked, made] = [reads.at(name), batches.at(name)];
      return (requests) => {
        asked.n += requests;
        made.n += 1;
      };
    },
  };
};
