import type { Entry } from './history.ts';

// How checks take a history apart.

export const grouped = <T>(items: readonly T[], nameOf: (item: T) => string | undefined): Map<string, T[]> => {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const name = nameOf(item);
    if (name === undefined) continue;
    const group = groups.get(name);
    if (group) group.push(item);
    else groups.set(name, [item]);
  }
  return groups;
};

export const isOf = (entry: Entry, ...names: string[]): boolean => names.includes(entry.operation.split('.')[1] ?? '');
export const isToggle = (entry: Entry): boolean =>
  isOf(entry, 'toggleFavorite', 'toggleReaction') && entry.repeats === undefined;
export const kindOf = ({ operation }: Entry): string => operation.split('.')[0] ?? '';

/** The reads at each moment at which no client wrote, in order. */
export const quietMoments = (history: readonly Entry[]): Entry[][] => [
  ...grouped(
    history.filter(({ quiet }) => quiet !== undefined),
    ({ quiet }) => String(quiet),
  ).values(),
];

/** The records that the lists showed at a quiet moment, one entry for each reader. */
export const listed = (moment: readonly Entry[]): Entry[] =>
  moment.filter((entry) => isOf(entry, 'list') && entry.record !== undefined && entry.output !== undefined);
