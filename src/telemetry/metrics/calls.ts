import type { Registry } from 'prom-client';
import { performance } from '../../base/runtime.ts';
import { errorOf, procedures, type Reason } from '../../../contract/index.ts';
import { type AppError, CallerLeft } from '../../base/errors.ts';
import type { CallObserver, CallObservation } from '../../base/observer.ts';
import { fromZero } from './catalogue.ts';
import { type Count, Numbers, type Distribution, Histograms, register } from './cells.ts';

/** Replaces the names of procedures that do not exist. */
const UNKNOWN = 'unknown';
/** The reasons whose counts are exposed from 0 on. */
const FROM_ZERO = fromZero.calls_total?.['reason'] ?? [];

/** The counts of one procedure. */
interface CallCells {
  id: string;
  succeeded: Count;
  failed: Map<Reason, Count>;
  abandoned: Count;
  replayed: Count;
  duration: Distribution;
  input: Distribution;
  answer: Distribution;
}

class MeasuredCall implements CallObservation {
  readonly #cells: CallCells;
  readonly #countOf: (id: string, reason: Reason) => Count;
  readonly #began = performance.now();

  constructor(cells: CallCells, countOf: (id: string, reason: Reason) => Count) {
    this.#cells = cells;
    this.#countOf = countOf;
  }

  within<T>(work: () => T): T {
    return work();
  }

  sent(bytes: number): void {
    this.#cells.input.observe(bytes);
  }

  answered(bytes: number): void {
    this.#cells.succeeded.n += 1;
    this.#cells.answer.observe(bytes);
    this.#end();
  }

  failed(error: AppError): void {
    if (error instanceof CallerLeft) {
      this.#cells.abandoned.n += 1;
      return;
    }
    const { id, failed } = this.#cells;
    let count = failed.get(error.reason);
    if (!count) failed.set(error.reason, (count = this.#countOf(id, error.reason)));
    count.n += 1;
    this.#end();
  }

  #end(): void {
    this.#cells.duration.observe((performance.now() - this.#began) / 1000);
  }
}

export const callMetrics = (registry: Registry): CallObserver => {
  const calls = register(registry, new Numbers('calls_total'));
  const abandoned = register(registry, new Numbers('calls_abandoned_total'));
  const durations = register(registry, new Histograms('call_duration_seconds'));
  const inputs = register(registry, new Histograms('call_input_bytes'));
  const answers = register(registry, new Histograms('call_answer_bytes'));
  const replays = register(registry, new Numbers('idempotent_replays_total'));
  const shared = register(registry, new Numbers('shared_reads_total'));
  const outcomes = { made: shared.at('made'), joined: shared.at('joined') };

  const countOf = (id: string, reason: Reason): Count => calls.at(id, String(errorOf(reason).status), reason);
  const cellsOf = (id: string, possible: readonly Reason[]): CallCells => ({
    id,
    succeeded: calls.at(id, '200', ''),
    failed: new Map(
      possible.filter((reason) => FROM_ZERO.includes(reason)).map((reason) => [reason, countOf(id, reason)]),
    ),
    abandoned: abandoned.at(id),
    replayed: replays.at(id),
    duration: durations.at(id),
    input: inputs.at(id),
    answer: answers.at(id),
  });
  const cells = new Map(procedures.map((one) => [one.id, cellsOf(one.id, one.reasons)]));
  const unknown = cellsOf(UNKNOWN, []);

  return {
    begin: (procedure = UNKNOWN) => {
      const found = cells.get(procedure) ?? unknown;
      return new MeasuredCall(found, countOf);
    },
    replayed: (procedure) => {
      (cells.get(procedure) ?? unknown).replayed.n += 1;
    },
    shared: (outcome) => {
      outcomes[outcome].n += 1;
    },
  };
};
