/** Longer ones are rare, and cost what they hold. */
const MAX_SIZE = 256;

/**
 * A text that depends on a number only, built once for each up to 256. That saves building it and, since sessions look
 * statements up by their text, reading it through again: a string that is the same object is found at once.
 */
export const memoizeBySize = (build: (n: number) => string): ((n: number) => string) => {
  const texts = new Map<number, string>();
  return (n) => {
    const known = texts.get(n);
    if (known !== undefined) return known;
    const text = build(n);
    if (n <= MAX_SIZE) texts.set(n, text);
    return text;
  };
};

/** A function that computes its value once for each object, for as long as the object lives. */
export const memoize = <K extends object, V>(make: (key: K) => V): ((key: K) => V) => {
  const made = new WeakMap<K, { value: V }>();
  return (key) => {
    const known = made.get(key);
    if (known) return known.value;
    const value = make(key);
    made.set(key, { value });
    return value;
  };
};
