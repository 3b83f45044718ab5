import type { QueryRunner, TableColumnOptions } from 'typeorm';

// Released migrations stand on this file: nothing here may change what it returned. Add beside it.

export type Engine = 'sqlite' | 'mysql' | 'mariadb';

type Type = Omit<TableColumnOptions, 'name'>;

/** The engine that a migration runs on. */
export const engineOf = (runner: QueryRunner): Engine => {
  const { type } = runner.connection.options;
  return type === 'mysql' || type === 'mariadb' ? type : 'sqlite';
};

/** The column types of an engine. Texts compare by code point. */
export const columnTypes = (engine: Engine) => {
  const sqlite = engine === 'sqlite';
  const binaryCollation = sqlite ? {} : { charset: 'utf8mb4', collation: 'utf8mb4_bin' };
  const binary = (length: number): Type => (sqlite ? { type: 'blob' } : { type: 'binary', length: String(length) });
  const text = (length: number): Type => ({ type: 'varchar', length: String(length), ...binaryCollation });
  const longText: Type = { type: sqlite ? 'text' : 'mediumtext', ...binaryCollation };
  const time: Type = sqlite ? { type: 'datetime' } : { type: 'datetime', precision: 3 };
  const count: Type = sqlite ? { type: 'integer' } : { type: 'int', unsigned: true };
  const serial: Type = { type: sqlite ? 'integer' : 'int' };
  const small: Type = { type: sqlite ? 'integer' : 'smallint' };
  const flag: Type = { type: 'boolean' };
  return { id: binary(16), hash: binary(32), text, longText, time, count, serial, small, flag };
};
