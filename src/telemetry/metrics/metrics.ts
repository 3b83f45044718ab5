import { collectDefaultMetrics, Registry } from 'prom-client';
import type { Context } from '../../context.ts';
import type { Observer } from '../hooks.ts';
import { version } from '../../version.ts';
import { overloadMetrics } from './overload.ts';
import { callMetrics } from './calls.ts';
import type { NameOf } from './catalogue.ts';
import { Counters, register } from './cells.ts';
import { databaseMetrics } from './database.ts';
import { gauge } from './gauges.ts';
import { requestMetrics } from './requests.ts';

/** Of prom-client's own, those that ask Node for what it does not publish; half of them have names of counters. */
const LEFT_OUT = ['resources', 'handles', 'requests'].flatMap((kind) => [
  `nodejs_active_${kind}`,
  `nodejs_active_${kind}_total`,
]);

/** The metrics of this process. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #limited = register(this.#registry, new Counters('rate_limit_refusals_total'));
  readonly #workerExits = register(this.#registry, new Counters('worker_exits_total')).at();
  /** Hears of all that is counted. */
  readonly observer: Observer = {
    requests: requestMetrics(this.#registry),
    calls: callMetrics(this.#registry),
    overload: overloadMetrics(this.#registry),
    database: databaseMetrics(this.#registry),
    limited: (policy) => {
      this.#limited.at(policy).n += 1;
    },
  };

  constructor() {
    collectDefaultMetrics({ register: this.#registry });
    for (const name of LEFT_OUT) this.#registry.removeSingleMetric(name);
  }

  /** Exposes what a service knows by itself, from now on. */
  watch({ db, keys, keyUses, tags, gameViews, imageViews, limits }: Context): void {
    const registry = this.#registry;
    gauge(registry, 'build_info', (set) => set(1, version, process.version, db.dialect.engine));
    for (const { name } of limits?.rates.allPolicies ?? []) this.#limited.at(name);

    const buffers = Object.entries({
      game_views: gameViews,
      image_views: imageViews,
      key_last_uses: keys.uses,
      key_uses: keyUses.buffer,
    });
    gauge(registry, 'buffered_changes', (set) => {
      for (const [name, { size }] of buffers) set(size, name);
    });
    this.#read('buffered_changes_lost_total', (set) => {
      for (const [name, { lost }] of buffers) set(lost, name);
    });
    this.#read('buffer_failures_total', (set) => {
      for (const [name, { failures }] of buffers) set(failures, name);
    });
    this.#read('cache_lookups_total', (set) => {
      for (const [name, { hits, misses }] of Object.entries({ keys: keys.lookUps, tags: tags.lookUps })) {
        set(hits, name, 'hit');
        set(misses, name, 'miss');
      }
    });
  }

  /** A worker ended that nobody had told to. */
  noteWorkerExit(): void {
    this.#workerExits.n += 1;
  }

  /** All metrics, in Prometheus' text format. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }

  /** The media type of `text`. */
  get type(): string {
    return this.#registry.contentType;
  }

  /** Exposes counters that somebody else counts. */
  #read(name: NameOf<'counter'>, read: (set: (n: number, ...labels: string[]) => void) => void) {
    const counters = new Counters(name);
    const set = (n: number, ...labels: string[]): void => {
      counters.at(...labels).n = n;
    };
    register(this.#registry, counters).before = () => read(set);
  }
}
