export const quantile: (values: readonly number[], share: number) => number;
