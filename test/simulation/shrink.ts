/**
 * The items that a failure needs: leaves out parts, from halves down to single items, while the rest still fails (ddmin, Zeller
 * and Hildebrandt, 2002).
 */
export const shrink = async <T>(
  items: readonly T[],
  fails: (items: readonly T[]) => Promise<boolean>,
): Promise<T[]> => {
  let left = [...items];
  for (let size = Math.ceil(left.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let start = 0; start < left.length;) {
      const rest = left.toSpliced(start, size);
      if (await fails(rest)) left = rest;
      else start += size;
    }
  }
  return left;
};
