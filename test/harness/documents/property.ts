import * as fc from 'fast-check';

/** Any code point, lone surrogates among them. fast-check's own `unit: 'binary'` takes a second to make. */
export const anyCharacter = fc.integer({ min: 0, max: 0x10_ff_ff }).map((code) => String.fromCodePoint(code));

const { FUZZ_SEED } = process.env;
/** Of the cases that are the same each time, the first third; of those of `FUZZ_SEED`, all. */
const SHARE = FUZZ_SEED === undefined ? 0.3 : 1;

/** Holds a property against so many cases: the same each time, or those of `FUZZ_SEED`, a number or `random`. */
export const assertProperty = <T>(property: fc.IProperty<T>, numRuns = 100): void => {
  const seed = FUZZ_SEED === 'random' ? undefined : Number(FUZZ_SEED ?? 1);
  fc.assert(property, { numRuns: Math.ceil(numRuns * SHARE), ...(seed !== undefined && { seed }) });
};
