import { resolve } from 'node:path';
// Not those that a test replaces.
import { setImmediate } from 'node:timers';
import type { Operation } from '../call.js';
import { ApiError } from '../errors.js';
import { parts } from '../generated/parts.js';
import { addNeeds, type Extremes, keyOf, readContract, widened } from './contract-file.js';
import { haveProxiesCloned, pointerTo, watched } from './watched.js';

/** A call: its operation, the test that made it, and what it sent, as JSON. */
export interface About {
  readonly operation: Operation;
  readonly test: string | undefined;
  readonly input: string;
}

interface Need {
  readonly operation: string;
  readonly test: string | undefined;
  readonly sends: readonly string[];
  extremes: Extremes;
  readonly reads: Set<string>;
  readonly requires: Set<string>;
  readonly reasons: Set<string>;
}

/** The number that counts of a value: itself, the length of a text in code points, or the number of elements. */
const measureOf = (value: unknown): number | undefined => {
  if (typeof value === 'number') return value;
  if (typeof value === 'string') return Array.from(value).length;
  return Array.isArray(value) ? value.length : undefined;
};

/** What a value has of the known parts, and the extremes of its places. What the contract doesn't know has none. */
const noteParts = (value: unknown, path: string, known: ReadonlySet<string>, seen: Set<string>): Extremes[] => {
  const measure = measureOf(value);
  const own = measure === undefined ? [] : [{ [path]: [measure] }];
  if (typeof value === 'string') seen.add(`${path}=${value}`);
  if (typeof value !== 'object' || value === null) return own;
  const inner = Object.entries(value).flatMap(([name, member]) => {
    const named = path + pointerTo(name);
    const place = known.has(named) && !Array.isArray(value) ? named : `${path}/*`;
    seen.add(place);
    return noteParts(member, place, known, seen);
  });
  return [...own, ...inner];
};

/** The members of an input that are sent, and the words of the contract among their values, in the contract's order; and their extremes. */
const partsOf = (id: string, input: string): { sends: string[]; extremes: Extremes } => {
  const { sends = [], measured = [] } = parts[id] ?? {};
  const seen = new Set<string>();
  const extremes = noteParts(JSON.parse(input), '', new Set(sends), seen);
  const ofMeasured = Object.entries(widened(extremes)).filter(([place]) => measured.includes(place));
  return { sends: sends.filter((name) => seen.has(name)), extremes: Object.fromEntries(ofMeasured) };
};

/** Records what calls need, and writes it to a file when something is new. */
class Recorder {
  readonly #file: string;
  readonly #needs = new Map<string, Need>();
  #isWritten = true;

  /** @throws Error if the file is no consumer contract */
  constructor(file: string) {
    this.#file = file;
    readContract(file);
    // Jest's workers have no `exit`, and Vitest's may be ended: so what is new is written soon, too.
    process.on('exit', () => this.#write());
  }

  /** Records a call, or stream, that the service took. */
  begin(about: About): void {
    this.#needOf(about);
  }

  /** Records an output, or an event of a stream. Returns it as one that records what is read of it. */
  answer<T>(about: About, output: T): T {
    const { id, members } = about.operation;
    const need = this.#needOf(about);
    if (!need) return output;
    const note = (pointer: string): void => this.#add(need.reads, pointer);
    // The SDK refuses an output without these.
    for (const member of members) this.#add(need.requires, pointerTo(member));
    return watched(output, { maps: parts[id]?.maps ?? [], note });
  }

  /** Records a failure, if it is the service's. */
  fail(about: About, error: unknown): void {
    if (!(error instanceof ApiError) || error.reason === null) return;
    const need = this.#needOf(about);
    if (need) this.#add(need.reasons, error.reason);
  }

  /** What a call needs; undefined of an operation that is newer than this SDK. */
  #needOf({ operation: { id }, test, input }: About): Need | undefined {
    if (!(id in parts)) return undefined;
    const call = { operation: id, test, ...partsOf(id, input) };
    const key = keyOf(call);
    const known = this.#needs.get(key);
    if (known) {
      const extremes = widened([known.extremes, call.extremes]);
      if (JSON.stringify(extremes) !== JSON.stringify(known.extremes)) this.#writeSoon();
      known.extremes = extremes;
      return known;
    }
    const need = { ...call, reads: new Set<string>(), requires: new Set<string>(), reasons: new Set<string>() };
    this.#needs.set(key, need);
    this.#writeSoon();
    return need;
  }

  #add(names: Set<string>, name: string): void {
    if (names.has(name)) return;
    names.add(name);
    this.#writeSoon();
  }

  #writeSoon(): void {
    if (!this.#isWritten) return;
    this.#isWritten = false;
    setImmediate(() => this.#write());
  }

  #write(): void {
    if (this.#isWritten) return;
    this.#isWritten = true;
    const needs = Array.from(this.#needs.values(), (need) => ({
      ...need,
      reads: [...need.reads],
      requires: [...need.requires],
      reasons: [...need.reasons],
    }));
    addNeeds(this.#file, needs);
  }
}

const recorders = new Map<string, Recorder>();
haveProxiesCloned();

/** What records in a file. @throws Error if that is no consumer contract */
export const recorderOf = (name: string): Recorder => {
  const file = resolve(name);
  const recorder = recorders.get(file) ?? new Recorder(file);
  recorders.set(file, recorder);
  return recorder;
};
