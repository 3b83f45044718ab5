import type { Document, SearchKind } from './document.ts';

/** Begins every text of a kind without terms, so that a term can be bound to it. No text or term contains it. */
export const START = '\0';

/** The gram of a label. No other gram has this prefix. */
export const labelGram = (label: string): string => `\0\0${label}`;

/** The white space that `\s` matches. */
const SPACES = new Set(
  '\t\n\v\f\r \u{a0}\u{1680}\u{2000}\u{2001}\u{2002}\u{2003}\u{2004}\u{2005}\u{2006}\u{2007}\u{2008}\u{2009}\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}\u{feff}'
    .split('')
    .map((space) => space.charCodeAt(0)),
);

/** The end of the character that begins at `index`. */
const nextIndex = (text: string, index: number): number => {
  const unit = text.charCodeAt(index);
  return unit >= 0xd800 && unit < 0xdc00 ? index + 2 : index + 1;
};

/** Replaces the second character of a gram with a single one. */
export const NONE = 0x11_0000;

/** A gram from the code points of its characters. */
export const gramOf = (first: number, second: number): string =>
  second === NONE ? String.fromCodePoint(first) : String.fromCodePoint(first, second);

/**
 * Collects the grams of documents, which have hundreds each. It takes code points, since most grams are known already
 * and do not need a string.
 */
export interface GramSink {
  /** Adds an occurrence of a gram; called for each one. For a pair, with its position. */
  add(first: number, second: number, position: number): void;
  addLabel(label: string): void;
}

/**
 * The grams of a document: each character, each pair of adjacent ones with its position, and each label. For a kind
 * with terms, grams with white space are omitted, since no term contains any.
 */
export const addGrams = (
  sink: GramSink,
  { text: own, labels }: Omit<Document, 'key'>,
  { hasTerms }: SearchKind,
): void => {
  const text = hasTerms ? own : START + own;
  let last = NONE;
  let lastIndex = 0;
  for (let index = 0; index < text.length;) {
    const point = text.codePointAt(index) as number;
    if (hasTerms && SPACES.has(point)) last = NONE;
    else {
      sink.add(point, NONE, index);
      if (last !== NONE) sink.add(last, point, lastIndex);
      last = point;
      lastIndex = index;
    }
    index += point > 0xffff ? 2 : 1;
  }
  for (const label of labels) sink.addLabel(label);
};

/** A gram of a term, and its offset in the term. */
export interface TermGram {
  gram: string;
  offset: number;
}

/** The indices where the characters of a term begin. */
const indicesOf = (term: string): number[] => {
  const indices: number[] = [];
  for (let index = 0; index < term.length; index = nextIndex(term, index)) indices.push(index);
  return indices;
};

/** All pairs of adjacent characters of a term: few texts contain all of them but not the term. */
export const pairsOf = (term: string): string[] => {
  const indices = indicesOf(term);
  return indices.slice(1).map((_, index) => term.slice(indices[index], indices[index + 2]));
};

/** The fewest grams that cover a term: a text that contains all of them at their offsets contains the term. */
export const termGrams = (term: string): TermGram[] => {
  const indices = indicesOf(term);
  const gram = (from: number, length: number): TermGram => ({
    gram: term.slice(indices[from], indices[from + length] ?? term.length),
    offset: indices[from] ?? 0,
  });
  if (indices.length < 2) return [gram(0, 1)];
  const grams: TermGram[] = [];
  for (let from = 0; from + 1 < indices.length; from += 2) grams.push(gram(from, 2));
  if (indices.length % 2 === 1) grams.push(gram(indices.length - 2, 2));
  return grams;
};
