import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CONTRACT_VERSION } from '../version.js';

/** The least and the greatest of what is sent at places: numbers, lengths of texts, numbers of elements. */
export type Extremes = Readonly<Record<string, readonly number[]>>;

/** What calls of one test that send the same need. */
export interface Need {
  readonly operation: string;
  readonly test?: string | undefined;
  readonly sends: readonly string[];
  readonly extremes?: Extremes;
  readonly reads?: readonly string[];
  readonly requires?: readonly string[];
  /** Only other SDKs write it. */
  readonly decodes?: true;
  readonly reasons: readonly string[];
}

/** A consumer contract, as its file has it. */
interface ConsumerContract {
  readonly consumer: string;
  readonly contract: string;
  readonly needs: readonly Need[];
}

const KEYS = new RegExp('{{key.prefix}}[0-9a-z]+', 'gi');

/** A need without API keys in the name of its test, which a file would keep. */
const masked = (need: Need): Need => ({ ...need, test: need.test?.replace(KEYS, '{{key.prefix}}…') });

/** Needs with the same are one. */
export const keyOf = ({ test, operation, sends }: Pick<Need, 'test' | 'operation' | 'sends'>): string =>
  JSON.stringify([test, operation, sends]);

const parsed = (file: string): unknown => {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
};

/** The contract in a file; undefined if there is none. @throws Error if the file is another */
export const readContract = (file: string): ConsumerContract | undefined => {
  if (!existsSync(file)) return undefined;
  const found = parsed(file) as ConsumerContract | undefined;
  if (Array.isArray(found?.needs)) return found;
  throw new Error(`{{environment}}_CONTRACT: ${file} is no consumer contract`);
};

/** The name in the nearest package.json. */
const packageNameFrom = (folder: string): string | undefined => {
  const { name } = (parsed(join(folder, 'package.json')) ?? {}) as { name?: string };
  if (name) return name;
  const above = dirname(folder);
  return above === folder ? undefined : packageNameFrom(above);
};

/** A member says more than what holds it. */
const withoutHolders = (pointers: readonly string[]): string[] =>
  pointers.filter((pointer) => !pointers.some((other) => other.startsWith(`${pointer}/`)));

const united = (...lists: (readonly string[])[]): string[] => [...new Set(lists.flat())].toSorted();

/** The extremes of several together, by their places. */
export const widened = (all: readonly Extremes[]): Extremes => {
  const found = new Map<string, readonly number[]>();
  for (const [place, some] of all.flatMap((one) => Object.entries(one))) {
    const values = [...(found.get(place) ?? []), ...some];
    found.set(place, [Math.min(...values), Math.max(...values)]);
  }
  return Object.fromEntries([...found].toSorted(([a], [b]) => (a < b ? -1 : 1)));
};

const merged = (needs: readonly Need[]): Need[] => {
  const byKey = new Map<string, Need>();
  for (const need of needs) {
    const earlier = byKey.get(keyOf(need));
    const { operation, test, sends } = need;
    // Where none says what is read, any member may be.
    const reads = [earlier?.reads, need.reads].filter((read) => read !== undefined);
    const extremes = widened([earlier?.extremes ?? {}, need.extremes ?? {}]);
    const requires = united(earlier?.requires ?? [], need.requires ?? []);
    byKey.set(keyOf(need), {
      operation,
      ...(test !== undefined && { test }),
      sends,
      ...(Object.keys(extremes).length > 0 && { extremes }),
      ...(reads.length > 0 && { reads: withoutHolders(united(...reads)) }),
      ...(requires.length > 0 && { requires }),
      ...((earlier?.decodes ?? need.decodes) && { decodes: true }),
      reasons: united(earlier?.reasons ?? [], need.reasons),
    });
  }
  return [...byKey].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, need]) => need);
};

const WAIT_MS = 5;
const MAX_WAITS = 1000;

/** Does something while no other process does: test runners have several. */
const alone = (file: string, act: () => void): void => {
  const lock = `${file}.lock`;
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (let waits = 0; ; waits += 1) {
    try {
      mkdirSync(lock);
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      // It is held for a moment: a process that was killed left it.
      if (waits % MAX_WAITS === MAX_WAITS - 1) rmSync(lock, { recursive: true, force: true });
      Atomics.wait(pause, 0, 0, WAIT_MS);
    }
  }
  try {
    act();
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
};

/** Adds needs to a file, which is made if it is not there. */
export const addNeeds = (file: string, needs: readonly Need[]): void =>
  alone(file, () => {
    const earlier = readContract(file);
    const contract: ConsumerContract = {
      ...earlier,
      consumer: process.env['{{environment}}_CONSUMER'] || (packageNameFrom(process.cwd()) ?? 'consumer'),
      contract: CONTRACT_VERSION,
      needs: merged([...(earlier?.needs ?? []), ...needs].map(masked)),
    };
    writeFileSync(`${file}.new`, `${JSON.stringify(contract, null, 2)}\n`);
    renameSync(`${file}.new`, file);
  });
