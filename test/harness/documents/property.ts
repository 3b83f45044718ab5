import * as fc from 'fast-check';

/** Any code point, lone surrogates among them. fast-check's own `unit: 'binary'` takes a second to make. */
export const anyCharacter = fc.integer({ min: 0, max: 0x10_ff_ff }).map((code) => String.fromCodePoint(code));

const { FUZZ_SEED = '1' } = process.env;

/** Holds a property against so many cases: the same each time, or those of `FUZZ_SEED`, a number or `random`. */
export const assertProperty = <T>(property: fc.IProperty<T>, numRuns = 100): void => {
  const seed = FUZZ_SEED === 'random' ? undefined : Number(FUZZ_SEED);
  fc.assert(property, { numRuns, ...(seed !== undefined && { seed }) });
};
