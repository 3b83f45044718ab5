import { createHash, randomInt } from 'node:crypto';

/** One more than the greatest seed. */
export const SEEDS = 2 ** 32;

const RUN_DIGITS = 12;
const UUID = /^(.{8})(.{4}).(.{3}).(.{3})(.{12})/;

/** A random seed for a run without a given one. */
export const anySeed = (): number => randomInt(SEEDS);

/** All values of a run that would otherwise be random, derived from a seed: the same for the same name. */
export class SeededRandom {
  readonly seed: number;

  constructor(seed: number) {
    this.seed = seed;
  }

  /** The name of the run: twelve hexadecimal digits. */
  get run(): string {
    return this.hex('run').slice(0, RUN_DIGITS);
  }

  /** 64 hexadecimal digits. */
  hex(name: string): string {
    return createHash('sha256').update(`${this.seed} ${name}`).digest('hex');
  }

  /** A UUID of version 4. */
  uuid(name: string): string {
    return this.hex(name).replace(UUID, '$1-$2-4$3-8$4-$5').slice(0, 36);
  }
}
