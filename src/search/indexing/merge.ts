import { type Block, ByteWriter, encodeBlock, skipPositions } from '../block.ts';

/** Stands for a document that is not taken over. */
export const DROPPED = 0xffff_ffff;

/** A block to be merged, and which number each of its segment's documents gets. */
export interface MergeInput {
  block: Block;
  numbers: Uint32Array;
}

interface Posting {
  doc: number;
  source: Uint8Array;
  start: number;
  end: number;
}

/** The blocks of one gram in several segments as one in a segment of `size`. Undefined if no document is left. */
export const mergeBlocks = (inputs: readonly MergeInput[], size: number): Buffer | undefined => {
  const hasPositions = inputs.some(({ block }) => block.hasPositions);
  if (!hasPositions) {
    const docs = inputs.flatMap(({ block, numbers }) =>
      Array.from(block.docs(), (doc) => numbers[doc] ?? DROPPED).filter((doc) => doc !== DROPPED),
    );
    if (docs.length === 0) return undefined;
    return encodeBlock(size, Uint32Array.from(docs).toSorted());
  }
  const postings = inputs.flatMap(postingsOf);
  if (postings.length === 0) return undefined;
  postings.sort((a, b) => a.doc - b.doc);
  const positions = new ByteWriter(postings.length * 2);
  const ends = postings.map(({ source, start, end }) => {
    positions.bytes(source.subarray(start, end));
    return positions.length;
  });
  return encodeBlock(
    size,
    postings.map(({ doc }) => doc),
    { bytes: positions.written(), ends },
  );
};

const postingsOf = ({ block, numbers }: MergeInput): Posting[] => {
  const source = block.positions();
  const postings: Posting[] = [];
  let start = 0;
  for (const old of block.docs()) {
    const end = skipPositions(source, start, 1);
    const doc = numbers[old] ?? DROPPED;
    if (doc !== DROPPED) postings.push({ doc, source, start, end });
    start = end;
  }
  return postings;
};
