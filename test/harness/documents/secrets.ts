/** A word for values that must never get into a log: whatever test sends it, every log of the tests is searched for it. */
export const PLANTED = 'pl4nted';

/** What no line of a log may hold: planted values, keys, and what drivers note beside an error. */
const SECRET = new RegExp(
  `${PLANTED}|cgk_\\w{20}|bearer |"(?:sql|sqlMessage|query|parameters|driverError|authorization)":`,
  'i',
);

/** @throws Error with those lines of a log that hold what is nobody's business */
export const expectNoSecrets = (log: string): void => {
  const leaks = log.split('\n').filter((line) => SECRET.test(line));
  if (leaks.length > 0) throw new Error(`the log holds secrets:\n${leaks.join('\n')}`);
};
