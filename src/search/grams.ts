import type { Document, SearchKind } from './document.ts';

/** Begins every text of a kind without terms, so that a term can be bound to the beginning. No text or term holds it. */
export const START = '\0';

/** What a label is called among the grams, none of which begins like this. */
export const labelGram = (label: string): string => `\0\0${label}`;

const SPACE = /\s/;

/** The end of the character that begins at `index`. */
const nextIndex = (text: string, index: number): number => {
  const unit = text.charCodeAt(index);
  return unit >= 0xd800 && unit < 0xdc00 ? index + 2 : index + 1;
};

/** Collects the grams of documents. */
export interface GramSink {
  /** A gram that occurs, as often as it occurs. */
  add(gram: string, position: number | undefined): void;
}

/**
 * The grams of a document: each character, each pair of adjacent ones with its position, each label. Of a kind with terms
 * those with white space are left out, since no term holds any.
 */
export const addGrams = (
  sink: GramSink,
  { text: own, labels }: Omit<Document, 'key'>,
  { hasTerms }: SearchKind,
): void => {
  const text = hasTerms ? own : START + own;
  let last: string | undefined;
  let lastIndex = 0;
  for (let index = 0; index < text.length;) {
    const end = nextIndex(text, index);
    const character = text.slice(index, end);
    if (hasTerms && SPACE.test(character)) last = undefined;
    else {
      sink.add(character, undefined);
      if (last !== undefined) sink.add(last + character, lastIndex);
      last = character;
      lastIndex = index;
    }
    index = end;
  }
  for (const label of labels) sink.add(labelGram(label), undefined);
};

/** A gram of a term and where it stands in it. */
export interface TermGram {
  gram: string;
  offset: number;
}

/** Where the characters of a term begin. */
const indicesOf = (term: string): number[] => {
  const indices: number[] = [];
  for (let index = 0; index < term.length; index = nextIndex(term, index)) indices.push(index);
  return indices;
};

/** All pairs of adjacent characters of a term: few texts hold all of them and not the term. */
export const pairsOf = (term: string): string[] => {
  const indices = indicesOf(term);
  return indices.slice(1).map((_, index) => term.slice(indices[index], indices[index + 2]));
};

/** The fewest grams that cover a term: a text that holds all of them at their offsets holds the term. */
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
