/** How often each key occurs. */
export const tally = <K>(keys: Iterable<K>): Map<K, number> => {
  const counts = new Map<K, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
};

/** Groups the values by a common key. Node.js 20 has no `Map.groupBy`. */
export const grouped = <K, V>(values: readonly V[], keyOf: (value: V) => K): Map<K, V[]> => {
  const groups = new Map<K, V[]>();
  for (const value of values) {
    const key = keyOf(value);
    const group = groups.get(key);
    if (group) group.push(value);
    else groups.set(key, [value]);
  }
  return groups;
};
