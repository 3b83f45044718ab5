import { counted } from '../../../contract/text.ts';
import type { Config } from '../../config/config.ts';
import type { Database } from '../../db/database.ts';
import type { DatabaseObserver, PoolUsage } from '../../base/observer.ts';
import { reconcileSample } from '../reconcile/service.ts';
import { type Check, type Diagnosis, diagnose, failure, type Finding, ok, skipped } from './check.ts';
import { deploymentChecks } from './deployment.ts';
import { serverChecks } from './server.ts';

const consistency = async (db: Database): Promise<Finding> => {
  const { findings, rows } = await reconcileSample(db);
  if (findings.length === 0) return ok(`Stored copies agree in the ${counted(rows, 'newest row')}.`);
  const wrong = findings.map(({ field, total }) => `${total} of ${field}`);
  return failure(
    `Among the ${counted(rows, 'newest row')}, these are wrong: ${wrong.join(', ')}.`,
    'Run `reconcile --fix`.',
  );
};

interface ExamineOptions {
  /** The most connections that a process opens. */
  perProcess: number;
  /** Describes an error in words. */
  describe: (error: unknown) => string;
  /** Whether to check all pages of an SQLite file. */
  isDeep?: boolean;
}

const checksOf = (config: Config, db: Database, { perProcess, isDeep = false }: ExamineOptions): Check[] => [
  ...serverChecks(config, db, perProcess),
  ...deploymentChecks(config, db, isDeep),
  { name: 'consistency', needsTables: true, run: () => consistency(db) },
];

/** Records the limits of a database's pools when it is opened. */
export class PoolLimits {
  readonly #usages: (() => PoolUsage)[] = [];
  readonly observer: DatabaseObserver = {
    pool: (_name, usage) => {
      this.#usages.push(usage);
      return { waited: () => undefined, statement: () => ({ sent: () => undefined, end: () => undefined }) };
    },
    failed: () => undefined,
    retried: () => undefined,
    coalesced: () => () => undefined,
  };

  /** The most connections that all pools open together. */
  get total(): number {
    return this.#usages.reduce((sum, usage) => sum + usage().limit, 0);
  }
}

/**
 * Checks a deployment step by step: its settings, the database and this machine, Redis, and the running instances.
 * Changes nothing.
 */
export async function* examine(config: Config, db: Database, options: ExamineOptions): AsyncGenerator<Diagnosis> {
  let lacksTables = false;
  for (const check of checksOf(config, db, options)) {
    if (check.needsTables && lacksTables) {
      yield { check: check.name, ...skipped('The tables are not all there: run the command `migrate` first.') };
      continue;
    }
    const diagnosis = await diagnose(check, options.describe);
    lacksTables ||= check.name === 'migrations' && diagnosis.health === 'failure';
    yield diagnosis;
  }
}
