import type { Transaction } from '../db/connection.ts';
import { insertRows } from '../db/insert.ts';
import type { Document, SearchKind } from './document.ts';
import type { TailRow } from './entity.ts';

/**
 * Has searches find documents from the commit of this transaction on: new ones, or such as replace what was said of their
 * records before. The transaction holds the lock on a record that it replaces.
 */
export const noteDocuments = (
  tx: Transaction,
  kind: SearchKind,
  documents: readonly Document[],
  replaces: boolean,
): Promise<void> =>
  insertRows(
    tx,
    'SearchTail',
    documents.map(({ key, text, labels }): TailRow => ({
      kind: kind.code,
      replaces,
      docKey: key,
      text,
      labels: labels.join('\n'),
    })),
  );
