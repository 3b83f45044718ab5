/**
 * Counters, gauges and histograms with one cell for each set of labels, which is looked up once. prom-client builds a
 * text from the labels at each observation, which takes a microsecond, and a call has a dozen observations.
 */
import type { Registry } from 'prom-client';
import { catalogue, fromZero, type MetricDefinition, type NameOf, PREFIX } from './catalogue.ts';

const powers = (base: number, from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => base ** (from + index));

/** From a quarter of a millisecond to 16 seconds, each twice the last: the bounds of a native histogram of schema 0. */
const TIMES = powers(2, -12, 4);
/** From 64 bytes to 16 MiB, each four times the last. */
const SIZES = powers(4, 3, 12);

/** The upper bounds of a histogram, by the unit at the end of its name. */
const boundsOf = (name: NameOf<'histogram'>): readonly number[] => (name.endsWith('_bytes') ? SIZES : TIMES);

/** A line of the exposition, for prom-client. */
interface Sample {
  metricName?: string;
  labels: Record<string, string | number>;
  value: number;
}

/** Cells by the values of their labels. */
abstract class Family<Cell> {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly aggregator = 'sum';
  /** Called before the cells are read, to update counts that other parts keep. */
  before: (() => void) | undefined;
  readonly #labels: readonly string[];
  /** The values of labels whose cells are exposed at 0; undefined if none are. */
  readonly #fromZero: (typeof fromZero)[keyof typeof fromZero];
  readonly #cells = new Map<string, { labels: Record<string, string>; cell: Cell; isFromZero: boolean }>();

  constructor(name: keyof typeof catalogue) {
    const { help, type, labels }: MetricDefinition = catalogue[name];
    this.name = PREFIX + name;
    this.help = help;
    this.type = type;
    this.#labels = labels;
    this.#fromZero = type === 'gauge' ? {} : fromZero[name];
  }

  /** Returns the cell with these label values, in order. It is exposed at its first count, or by `fromZero` at once. */
  at(...values: string[]): Cell {
    const key = values.join('\n');
    const known = this.#cells.get(key);
    if (known) return known.cell;
    const labels = Object.fromEntries(this.#labels.map((label, index) => [label, values[index] ?? '']));
    const cell = this.make();
    const starts = this.#fromZero && Object.entries(this.#fromZero);
    const isFromZero = starts?.every(([label, some]) => some.includes(labels[label] ?? '')) ?? false;
    this.#cells.set(key, { labels, cell, isFromZero });
    return cell;
  }

  /** For prom-client's registry. */
  get() {
    this.before?.();
    const values = [...this.#cells.values()].flatMap(({ labels, cell, isFromZero }) => {
      const samples = this.samples(labels, cell);
      return isFromZero || samples.some(({ value }) => value !== 0) ? samples : [];
    });
    return Promise.resolve({ name: this.name, help: this.help, type: this.type, aggregator: this.aggregator, values });
  }

  /** Removes all cells from the exposition. */
  clear(): void {
    this.#cells.clear();
  }

  protected abstract make(): Cell;
  protected abstract samples(labels: Record<string, string>, cell: Cell): Sample[];
}

/** A count of events, or the value of a gauge. */
export interface Count {
  n: number;
}

/** A counter or a gauge. */
export class Numbers extends Family<Count> {
  protected make(): Count {
    return { n: 0 };
  }

  protected samples(labels: Record<string, string>, { n }: Count): Sample[] {
    return [{ labels, value: n }];
  }
}

/** A distribution of observed values. */
export class Distribution {
  readonly bounds: readonly number[];
  /** The counts between each bound and the previous one. The last count is for values above all bounds. */
  readonly counts: number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = [...bounds, 0].map(() => 0);
  }

  observe(value: number): void {
    const { bounds, counts } = this;
    let index = 0;
    while (index < bounds.length && value > (bounds[index] as number)) index += 1;
    (counts[index] as number) += 1;
    this.sum += value;
  }
}

export class Histograms extends Family<Distribution> {
  readonly #bounds: readonly number[];

  constructor(name: NameOf<'histogram'>) {
    super(name);
    this.#bounds = boundsOf(name);
  }

  protected make(): Distribution {
    return new Distribution(this.#bounds);
  }

  protected samples(labels: Record<string, string>, { bounds, counts, sum }: Distribution): Sample[] {
    let count = 0;
    const buckets = counts.map((n, index): Sample => {
      count += n;
      return { metricName: `${this.name}_bucket`, labels: { ...labels, le: bounds[index] ?? '+Inf' }, value: count };
    });
    return [
      ...buckets,
      { metricName: `${this.name}_sum`, labels, value: sum },
      { metricName: `${this.name}_count`, labels, value: count },
    ];
  }
}

/** Registers a family as a metric. */
export const register = <F extends Numbers | Histograms>(registry: Registry, family: F): F => {
  registry.registerMetric(family as unknown as Parameters<Registry['registerMetric']>[0]);
  return family;
};

/** Sets a number: its value, and the values of its labels in order. */
export type SetNumber = (value: number, ...labels: string[]) => void;
/** Sets the numbers of a metric, or none. */
export type ReadNumbers = (set: SetNumber) => void;

/** Registers a gauge, or a counter that another part counts. `read` sets its values at each scrape. */
export const expose = (registry: Registry, name: NameOf<'counter' | 'gauge'>, read: ReadNumbers): void => {
  const numbers = register(registry, new Numbers(name));
  numbers.before = () => {
    numbers.clear();
    read((value, ...labels) => {
      numbers.at(...labels).n = value;
    });
  };
};
