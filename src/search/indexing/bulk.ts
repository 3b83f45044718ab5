import type { Transaction } from '../../db/connection.ts';
import type { Document, SearchKind } from '../document.ts';
import { defaultSizes } from '../sizes.ts';
import { enqueueDocuments } from '../write-buffer.ts';
import { beginGeneration } from './compact.ts';
import { insertTexts } from './segment-writer.ts';

const byKey = (a: Document, b: Document): number => Buffer.compare(a.key, b.key);

/**
 * Adds documents of new records to the index, from the commit of this transaction on, as `enqueueDocuments` does. Many documents
 * become segments at once: in the tail they would be written twice, read and deleted. It locks the segments of
 * the kind until the transaction ends, so call it late, once for each kind.
 */
export const addDocuments = async (
  tx: Transaction,
  kind: SearchKind,
  documents: readonly Document[],
  { run } = defaultSizes,
): Promise<void> => {
  // Small segments would stay small when they are merged, and searches look at each.
  if (documents.length < run / 2) {
    await enqueueDocuments(tx, kind, documents, false);
    return;
  }
  await beginGeneration(tx, kind);
  const sorted = documents.toSorted(byKey);
  const size = Math.ceil(sorted.length / Math.ceil(sorted.length / run));
  for (let start = 0; start < sorted.length; start += size) {
    await insertTexts(tx, kind, sorted.slice(start, start + size));
  }
};
