import { EntitySchema } from 'typeorm';
import { columnTypes, idTransformer } from '../../db/sql/columns.ts';
import type { Engine } from '../../db/dialect.ts';
import { repositoryOf } from '../../db/manager.ts';

/** The answer of an idempotent call. No other table refers to it, so that it can expire by itself. */
export interface IdempotencyRow {
  createdAt: Date;
  callHash: Buffer;
  inputHash: Buffer;
  answer: string;
  /** The user who made the call; null if an instance of an earlier version stored it. */
  userId: string | null;
}

export const idempotencyRecordsIn = repositoryOf<IdempotencyRow>('IdempotencyRecord');

/** Stored in the order of time: an order by random hashes would write to another page each time. */
export const idempotencyEntity = (engine: Engine): EntitySchema<IdempotencyRow> => {
  const { id, hash, longText, time } = columnTypes(engine);
  return new EntitySchema<IdempotencyRow>({
    name: 'IdempotencyRecord',
    tableName: 'idempotency_records',
    columns: {
      createdAt: { ...time, name: 'created_at', primary: true },
      callHash: { ...hash, name: 'call_hash', primary: true },
      inputHash: { ...hash, name: 'input_hash' },
      answer: longText,
      userId: { ...id, name: 'user_id', nullable: true, transformer: idTransformer },
    },
    indices: [{ name: 'idempotency_records_call', columns: ['callHash'], unique: true }],
  });
};
