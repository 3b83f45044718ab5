import { partsOf } from './parts.ts';
import type { AnyRoute } from './procedure.ts';

/** A place of the input, with the numbers of its parts. */
interface Place {
  /** The number of the member itself; undefined for the whole input and for elements. */
  member?: number;
  words: Map<unknown, number>;
  members: Map<string, Place>;
  element: Place | undefined;
}

/** The numbered parts that an operation's input may have. */
export interface InputParts {
  /** By number: `/sortBy`, `/sortBy=latest`. */
  names: readonly string[];
  root: Place;
}

const newPlace = (): Place => ({ words: new Map(), members: new Map(), element: undefined });

const within = (place: Place, step: string): Place => {
  if (step === '*') return (place.element ??= newPlace());
  const known = place.members.get(step) ?? newPlace();
  place.members.set(step, known);
  return known;
};

/** The parts of the value of `json` in the request body of an operation. */
export const inputPartsOf = ({ body }: AnyRoute): InputParts => {
  const root = newPlace();
  const parts = partsOf(body, 'input').filter(({ path }) => path[0] === 'json' && path.length > 1);
  for (const [number, { path, word }] of parts.entries()) {
    const place = path.slice(1).reduce(within, root);
    if (word === undefined) place.member = number;
    else place.words.set(word, number);
  }
  return { names: parts.map(({ name }) => name.replace('/json', '')), root };
};

/** Marks a part. Returns whether it was not marked before. */
const marked = (number: number | undefined, seen: Uint8Array): boolean => {
  if (number === undefined || seen[number] === 1) return false;
  seen[number] = 1;
  return true;
};

/** Marks in `seen` the numbers of the parts that a value has. Returns whether one was not marked before. */
export const markParts = (place: Place, value: unknown, seen: Uint8Array): boolean => {
  let isNew = marked(place.member, seen);
  if (typeof value === 'string') {
    if (place.words.size > 0) isNew = marked(place.words.get(value), seen) || isNew;
  } else if (typeof value === 'object' && value !== null && (place.element || place.members.size > 0)) {
    for (const name of Object.keys(value)) {
      const inner = place.members.get(name) ?? place.element;
      if (inner) isNew = markParts(inner, (value as Record<string, unknown>)[name], seen) || isNew;
    }
  }
  return isNew;
};
