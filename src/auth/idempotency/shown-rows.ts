import type { Transaction } from '../../db/connection.ts';
import { inList, partsOf } from '../../db/sql/in-list.ts';
import { type Bytes, idFromBytes, idToBytes } from '../../db/values.ts';
import { AppError } from '../../base/errors.ts';
import { type IdempotentCall, IdempotentReplay, NOT_KEPT } from './call.ts';

/** A call, and what is stored of it, if anything. */
interface KnownCall {
  call: IdempotentCall;
  conflict: IdempotentReplay | AppError | undefined;
}

/** The ids of the rows that the stored answer of a call shows. */
const idsShown = ({ call: { shown }, conflict }: KnownCall): readonly string[] =>
  shown && conflict instanceof IdempotentReplay && conflict.answer !== NOT_KEPT ? shown.idsIn(conflict.answer) : [];

/** SQL: each repetition of a call waits for it. */
const readPresent = async (tx: Transaction, table: string, ids: Iterable<string>, lock = ''): Promise<string[]> => {
  const present: string[] = [];
  const keys = [...ids].map(idToBytes).filter((key) => key !== undefined);
  for (const part of partsOf(keys)) {
    const { sql, parameters } = inList(part);
    const rows = await tx.read<{ id: Bytes }>(`SELECT id FROM ${table} WHERE id IN (${sql}) ${lock}`, parameters);
    present.push(...rows.map(({ id }) => idFromBytes(id)));
  }
  return present;
};

/**
 * The conflicts of calls, in their order. A stored answer is replaced by an error if a row that it shows is gone: what was
 * hidden or deleted must not be shown by a repetition. All calls show rows of one table.
 */
export const replaceAnswersOfDeletedRows = async (
  tx: Transaction,
  known: readonly KnownCall[],
): Promise<(IdempotentReplay | AppError | undefined)[]> => {
  const shown = known.map(idsShown);
  const ids = new Set(shown.flat());
  const table = known.find(({ call }) => call.shown)?.call.shown?.table;
  if (table === undefined || ids.size === 0) return known.map(({ conflict }) => conflict);
  const present = new Set(await readPresent(tx, table, ids));
  const missing = [...ids].filter((id) => !present.has(id));
  if (missing.length > 0) {
    // Shards commit one after the other, so that the row may yet come: a locking read waits for it.
    for (const id of await readPresent(tx, table, missing, tx.dialect.forUpdate)) present.add(id);
  }
  return known.map(({ call, conflict }, index) =>
    call.shown && shown[index]?.some((id) => !present.has(id)) ? new AppError(call.shown.gone) : conflict,
  );
};
