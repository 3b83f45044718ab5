import type { Transaction } from '../db/connection.ts';
import { insertInto, insertValues } from '../db/sql/insert.ts';
import type { Document, SearchKind } from './document.ts';

const insertion = insertInto('search_tail', ['kind', 'replaces', 'doc_key', 'text', 'labels']);

/** Adds documents to the index. `replaces`: whether all of them replace earlier documents of their records. */
export type EnqueueDocuments = (
  tx: Transaction,
  kind: SearchKind,
  documents: readonly Document[],
  replaces: boolean,
) => Promise<unknown>;

/**
 * Adds documents to the index, from the commit of this transaction on. If they replace earlier documents of their records,
 * the transaction holds the locks on these records.
 */
export const enqueueDocuments: EnqueueDocuments = (tx, kind, documents, replaces) =>
  insertValues(
    tx,
    insertion,
    documents.map(({ key, text, labels }) => [kind.code, Number(replaces), key, text, labels.join('\n')]),
  );
