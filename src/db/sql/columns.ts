import type { ColumnType, ValueTransformer } from 'typeorm';
import type { Engine } from '../dialect.ts';
import { idFromBytes, storedIdToBytes } from '../values.ts';

/** The part of a column's description that entities and migrations share. */
interface Column {
  type: ColumnType & string;
  length?: string;
  precision?: number;
  unsigned?: boolean;
  charset?: string;
  collation?: string;
}

/**
 * The column types of an engine. Texts compare by code point everywhere: the only collation that all engines agree on.
 * JSON is stored as text: MariaDB has no JSON type, and MySQL's reorders members.
 */
export const columnTypes = (engine: Engine) => {
  const sqlite = engine === 'sqlite';
  const binaryCollation = sqlite ? {} : { charset: 'utf8mb4', collation: 'utf8mb4_bin' };
  const binary = (length: number): Column => (sqlite ? { type: 'blob' } : { type: 'binary', length: String(length) });
  const text = (length: number): Column => ({ type: 'varchar', length: String(length), ...binaryCollation });
  return {
    id: binary(16),
    hash: binary(32),
    bytes: binary,
    atMostBytes: (length: number): Column =>
      sqlite ? { type: 'blob' } : { type: 'varbinary', length: String(length) },
    blob: { type: sqlite ? 'blob' : 'mediumblob' } satisfies Column as Column,
    text,
    longText: { type: sqlite ? 'text' : 'mediumtext', ...binaryCollation } satisfies Column as Column,
    time: (sqlite ? { type: 'datetime' } : { type: 'datetime', precision: 3 }) satisfies Column as Column,
    count: (sqlite ? { type: 'integer' } : { type: 'int', unsigned: true }) satisfies Column as Column,
    serial: { type: sqlite ? 'integer' : 'int' } satisfies Column as Column,
    /** A number beyond 32 bits; drivers return it as a number. */
    big: { type: sqlite ? 'integer' : 'bigint' } satisfies Column as Column,
    small: { type: sqlite ? 'integer' : 'smallint' } satisfies Column as Column,
    flag: { type: 'boolean' } satisfies Column as Column,
  };
};

/** Ids are texts in the code, bytes in the database. */
export const idTransformer: ValueTransformer = {
  to: (id: string | null | undefined) => (id ? storedIdToBytes(id) : id),
  from: (bytes: Uint8Array | null | undefined) => (bytes ? idFromBytes(bytes) : bytes),
};

/** JSON is a value in the code, text in the database. */
export const jsonTransformer: ValueTransformer = {
  to: (value: unknown) => (value === undefined ? undefined : JSON.stringify(value)),
  from: (stored: string | null | undefined) => (typeof stored === 'string' ? JSON.parse(stored) : stored),
};
