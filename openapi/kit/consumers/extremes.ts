import type { Need } from '../../../contract/consumer-contract.ts';
import { type AnyRoute, measuredIn } from '../../../contract/index.ts';
import { pointerOf } from '../../../contract/issues.ts';
import type { Change } from '../conformance/document/change.ts';

/** The least and the greatest measure of the values sent at places. */
type Extremes = NonNullable<Need['extremes']>;

/** The measure of a value: a number, the length of a text in code points, the number of elements; never a text. */
const measureOf = (value: unknown): number | undefined => {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  if (typeof value === 'string') return Array.from(value).length;
  return Array.isArray(value) ? value.length : undefined;
};

/** Widens extremes by the input of a call. `parts` are its parts with names from the contract. */
export const widened = (before: Extremes, { body }: AnyRoute, parts: readonly string[], input: unknown): Extremes => {
  const [measured, known] = [new Set(measuredIn(body, 'input')), new Set(parts)];
  const found = new Map(Object.entries(before));
  const note = (value: unknown, path: string): void => {
    const measure = measured.has(`/json${path}`) ? measureOf(value) : undefined;
    if (measure !== undefined) {
      const all = [...(found.get(path) ?? []), measure];
      found.set(path, [Math.min(...all), Math.max(...all)]);
    }
    if (typeof value !== 'object' || value === null) return;
    for (const [name, member] of Object.entries(value)) {
      const named = path + pointerOf([name]);
      note(member, known.has(named) && !Array.isArray(value) ? named : `${path}/*`);
    }
  };
  note(input, '');
  return Object.fromEntries([...found].toSorted(([a], [b]) => (a < b ? -1 : 1)));
};

/** Whether all values sent at a place satisfy a limit. */
export const satisfies = ([least = NaN, greatest = NaN]: readonly number[], limit: Change['limit']): boolean => {
  if (!limit) return false;
  const { name, value } = limit;
  if (name === 'exclusiveMinimum') return least > value;
  if (name === 'exclusiveMaximum') return greatest < value;
  return name.startsWith('min') ? least >= value : greatest <= value;
};
