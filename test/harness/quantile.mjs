/** The smallest of some values that is at least as large as the given share of them, such as 0.99; 0 for none. */
export const quantile = (values, share) =>
  values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(values.length * share) - 1)] ?? 0;
