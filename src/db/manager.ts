import {
  type DataSource,
  type EntityManager,
  type FindManyOptions,
  type FindOperator,
  type FindOptionsOrder,
  MoreThan,
  type ObjectLiteral,
  type QueryRunner,
  type Repository,
} from 'typeorm';
import type { Deadline } from '../base/deadline.ts';
import type { Connection, Parameter, Reader, Statements, Transaction } from './connection.ts';

const IS_READ = /^\s*(?:SELECT|WITH)\b/i;

/** The members of TypeORM's runner that run statements. Others, which connect and begin transactions, are unused. */
type Running = Pick<QueryRunner, 'query' | 'release' | 'isTransactionActive'>;

/**
 * TypeORM's entity manager, whose statements run by our functions: in the running transaction, or as reads of a pool.
 * These functions handle deadlines, cancelling and retries.
 */
export const managerOn = (dataSource: DataSource, { read, execute }: Statements): EntityManager => {
  const query = async (sql: string, parameters: unknown[] = [], isStructured = false): Promise<unknown> => {
    const values = parameters as Parameter[];
    if (IS_READ.test(sql)) {
      const records = await read<object>(sql, values);
      return isStructured ? { raw: records, records } : records;
    }
    const affected = await execute(sql, values);
    return isStructured ? { raw: { affectedRows: affected }, records: [], affected } : affected;
  };
  const running: Running = {
    query: query as QueryRunner['query'],
    release: async () => undefined,
    isTransactionActive: true,
  };
  // SQLite's driver has one runner for all, which must stay unchanged.
  const runner = Object.create(dataSource.createQueryRunner()) as QueryRunner;
  return dataSource.createEntityManager(Object.assign(runner, running));
};

/** Makes the function that returns the repository of an entity, for a transaction or for reads. */
export const repositoryOf =
  <Row extends ObjectLiteral>(entity: string) =>
  ({ manager }: Pick<Reader, 'manager'>): Repository<Row> =>
    manager.getRepository<Row>(entity);

/**
 * Reads rows in the order of a key, `take` at once, starting after `first`. `optionsOf` makes the options of one read:
 * each of its conditions needs its own `later()` for the key, since transformers change operators.
 */
export async function* inParts<Row extends ObjectLiteral, Key extends keyof Row & string>(
  repository: Repository<Row>,
  { key, first, take }: { key: Key; first: Row[Key]; take: number },
  optionsOf: (later: () => FindOperator<Row[Key]>) => Pick<FindManyOptions<Row>, 'select' | 'where'>,
): AsyncGenerator<Row[]> {
  const order = { [key]: 'ASC' } as FindOptionsOrder<Row>;
  for (let after = first; ;) {
    const rows = await repository.find({ ...optionsOf(() => MoreThan(after)), order, take });
    const last = rows.at(-1);
    if (!last) return;
    after = last[key];
    yield rows;
  }
}

const refuseWrite = (): Promise<never> => Promise.reject(new Error('a write belongs into a transaction'));

/** A reader outside of any transaction. */
export const readerOf = (
  read: Statements['read'],
  { dataSource, dialect }: Connection,
  deadline: Deadline | undefined,
): Reader => {
  let manager: EntityManager | undefined;
  return {
    read,
    dialect,
    deadline,
    get manager() {
      return (manager ??= managerOn(dataSource, { read, execute: refuseWrite }));
    },
  };
};

/** A transaction that runs these statements of a connection. */
export const transactionOf = (
  statements: Statements,
  { dataSource, dialect }: Connection,
  { deadline, recording, keepsLosing }: Pick<Transaction, 'deadline' | 'recording' | 'keepsLosing'>,
): Transaction => {
  let manager: EntityManager | undefined;
  return {
    ...statements,
    dialect,
    deadline,
    recording,
    keepsLosing,
    get manager() {
      return (manager ??= managerOn(dataSource, statements));
    },
    metadataOf: (entity) => dataSource.getMetadata(entity),
  };
};
