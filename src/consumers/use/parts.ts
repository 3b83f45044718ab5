import { type AnyRoute, partsOf } from '../../../contract/index.ts';

/** A place of the input, with the numbers of its parts. */
interface Place {
  /** The number of the member itself; undefined for the whole input and for elements. */
  member?: number;
  words: Map<unknown, number>;
  members: Map<string, Place>;
  element: Place | undefined;
}

/** The parts that an operation's input may have, by numbers. */
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

/** The parts of what is sent as `json` in the body of an operation. */
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

/** Marks in `seen`, by their numbers, the parts that a value has. Returns whether one was not marked before. */
export const markParts = (place: Place, value: unknown, seen: Uint8Array): boolean => {
  let isNew = false;
  const mark = (number: number | undefined): void => {
    if (number === undefined || seen[number] === 1) return;
    seen[number] = 1;
    isNew = true;
  };
  mark(place.member);
  if (typeof value === 'string') mark(place.words.get(value));
  if (typeof value !== 'object' || value === null) return isNew;
  if (place.element) {
    for (const one of Object.values(value)) isNew = markParts(place.element, one, seen) || isNew;
  }
  if (place.members.size === 0) return isNew;
  for (const [name, one] of Object.entries(value)) {
    const inner = place.members.get(name);
    if (inner) isNew = markParts(inner, one, seen) || isNew;
  }
  return isNew;
};
