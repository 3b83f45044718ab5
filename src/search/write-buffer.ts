import type { Transaction } from '../db/connection.ts';
import { insertInto, insertValues } from '../db/sql/insert.ts';
import type { Document, SearchKind } from './document.ts';

const insertion = insertInto('search_tail', ['kind', 'replaces', 'doc_key', 'text', 'labels']);

/** Has searches find documents; whether they replace others is said for all of them. */
export type EnqueueDocuments = (
  tx: Transaction,
  kind: SearchKind,
  documents: readonly Document[],
  replaces: boolean,
) => Promise<unknown>;

/**
 * Has searches find documents from the commit of this transaction on: new ones, or such as replace what was said of their
 * records before. The transaction holds the lock on a record that it replaces.
 */
export const enqueueDocuments: EnqueueDocuments = (tx, kind, documents, replaces) =>
  insertValues(
    tx,
    insertion,
    documents.map(({ key, text, labels }) => [kind.code, Number(replaces), key, text, labels.join('\n')]),
  );
