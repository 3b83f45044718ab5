import { Gauge, type Registry } from 'prom-client';
import { catalogue, type NameOf, PREFIX } from './catalogue.ts';

/** Sets a gauge: its value, and the values of its labels in their order. */
export type Set = (value: number, ...labels: string[]) => void;

/** Registers a gauge; `read` sets its values at each scrape. */
export const gauge = (registry: Registry, name: NameOf<'gauge'>, read: (set: Set) => void): void => {
  const { help, labels } = catalogue[name];
  const names: readonly string[] = labels;
  const made = new Gauge({
    name: PREFIX + name,
    help,
    labelNames: names,
    registers: [registry],
    collect: () => {
      // Where `read` sets nothing there is no value, not 0.
      made.reset();
      if (names.length === 0) made.remove();
      read((value, ...values) => {
        if (names.length === 0) made.set(value);
        else made.set(Object.fromEntries(names.map((label, index) => [label, values[index] ?? ''])), value);
      });
    },
  });
};
