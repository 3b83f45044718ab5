import { type Block, BlockReader, docsOfWords } from './block.ts';
import type { SearchKind } from './document.ts';
import { labelGram, pairsOf, START, type TermGram, termGrams } from './grams.ts';
import type { StoredText, Texts } from './segment.ts';

/** The conditions of a search on a document. */
export interface Sought {
  /** The texts that a document must contain, all of them; `START` binds one to the beginning. */
  terms: readonly string[];
  /** The labels that a document must have, all of them. */
  labels: readonly string[];
}

/** The grams for a search. */
export interface GramPlan {
  /** The grams that a document must contain, all of them. */
  grams: readonly string[];
  /** The terms that need more than one gram. */
  phrases: readonly (readonly TermGram[])[];
}

export const planGrams = ({ terms, labels }: Sought): GramPlan => {
  const all = terms.map(termGrams);
  return {
    grams: [...new Set([...terms.flatMap(pairsOf), ...all.flat().map(({ gram }) => gram), ...labels.map(labelGram)])],
    phrases: all.filter((grams) => grams.length > 1),
  };
};

const NOTHING = new Uint32Array();

/** The documents of a segment, in rising order, that contain the terms. */
export const matchBlocks = (
  { grams, phrases }: GramPlan,
  blockOf: (gram: string) => Block | undefined,
): Uint32Array => {
  const blocks = grams.map(blockOf);
  if (!blocks.every((block) => block !== undefined)) return NOTHING;
  let found = intersect(blocks.toSorted((a, b) => a.n - b.n));
  for (const phrase of phrases) {
    if (found.length === 0) return found;
    found = keepPhrase(
      found,
      phrase.flatMap(({ gram, offset }) => {
        const block = blockOf(gram);
        return block ? [new Occurrences(block, offset)] : [];
      }),
    );
  }
  return found;
};

/** The documents that all blocks contain; the first block has the fewest. */
const intersect = ([rarest, ...others]: readonly Block[]): Uint32Array => {
  if (!rarest) return NOTHING;
  let rest = others;
  let found: Uint32Array;
  if (rarest.isBitmap) {
    const words = rarest.words();
    for (const block of others) {
      if (block.isBitmap) for (let at = 0; at < words.length; at += 1) words[at] = (words[at] ?? 0) & block.word(at);
    }
    found = docsOfWords(words, rarest.n);
    rest = others.filter((block) => !block.isBitmap);
  } else found = rarest.docs();
  for (const block of rest) {
    if (found.length === 0) return found;
    found = block.intersect(found);
  }
  return found;
};

/** The occurrences of one gram of a phrase, document by document. */
class Occurrences {
  readonly #reader: BlockReader;
  readonly offset: number;
  readonly positions: number[] = [];

  constructor(block: Block, offset: number) {
    this.#reader = new BlockReader(block);
    this.offset = offset;
  }

  /** Moves forward to a later document that contains the gram. */
  seek(doc: number): void {
    this.#reader.read(doc, this.positions);
  }
}

/** The candidates where all grams of a phrase occur at their offsets from one position. */
const keepPhrase = (candidates: Uint32Array, grams: readonly Occurrences[]): Uint32Array => {
  const [first, ...others] = grams;
  if (!first) return candidates;
  const kept = new Uint32Array(candidates.length);
  let n = 0;
  for (const doc of candidates) {
    for (const gram of grams) gram.seek(doc);
    const isHere = first.positions.some((position) =>
      others.every((gram) => gram.positions.includes(position - first.offset + gram.offset)),
    );
    if (isHere) kept[n++] = doc;
  }
  return kept.subarray(0, n);
};

/** Whether a document matches. */
export const matchesText = ({ hasTerms }: SearchKind, { text, labels }: StoredText, sought: Sought): boolean => {
  const whole = hasTerms ? text : START + text;
  return sought.terms.every((term) => whole.includes(term)) && sought.labels.every((label) => labels.includes(label));
};

/** The indexes of the matching texts, in rising order. */
export const matchTexts = (kind: SearchKind, { documents, joined, starts }: Texts, sought: Sought): Uint32Array => {
  const found: number[] = [];
  // The longest term is likely the rarest. The joined text lacks the markers of text starts.
  const [longest = ''] = sought.terms.map((term) => term.replace(START, '')).toSorted((a, b) => b.length - a.length);
  let doc = 0;
  for (let at = joined.indexOf(longest); at !== -1; at = joined.indexOf(longest, starts[doc])) {
    doc = placeOf(starts, at, doc);
    const document = documents[doc];
    if (document && matchesText(kind, document, sought)) found.push(doc);
    doc += 1;
    if (doc >= documents.length) break;
  }
  return Uint32Array.from(found);
};

/** The index, from `low` on, of the text that contains an offset. */
const placeOf = (starts: Uint32Array, offset: number, low: number): number => {
  let from = low;
  let to = starts.length - 2;
  while (from < to) {
    const middle = (from + to + 1) >>> 1;
    if ((starts[middle] ?? 0) <= offset) from = middle;
    else to = middle - 1;
  }
  return from;
};
