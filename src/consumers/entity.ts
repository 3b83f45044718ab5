import { EntitySchema } from 'typeorm';
import type { Need } from '../../contract/consumer-contract.ts';
import type { Contract, OutputOf } from '../../contract/index.ts';
import { columnTypes, idTransformer, jsonTransformer } from '../db/sql/columns.ts';
import type { Engine } from '../db/dialect.ts';
import { repositoryOf } from '../db/manager.ts';

/** The number of calls of an operation by a key on a day. */
export interface KeyUseRow {
  keyId: string;
  /** `2026-04-01`, in UTC. */
  day: string;
  operation: string;
  n: number;
}

export const keyUsesIn = repositoryOf<KeyUseRow>('KeyUse');

export const keyUseEntity = (engine: Engine): EntitySchema<KeyUseRow> => {
  const { id, text, count } = columnTypes(engine);
  return new EntitySchema<KeyUseRow>({
    name: 'KeyUse',
    tableName: 'key_uses',
    columns: {
      keyId: { ...id, name: 'key_id', primary: true, transformer: idTransformer },
      day: { ...text(10), primary: true },
      operation: { ...text(64), primary: true },
      n: count,
    },
    indices: [{ name: 'key_uses_day', columns: ['day'] }],
  });
};

/** The parts of an operation that a consumer used on a day. */
export interface ConsumerUseRow {
  /** `key <id>` or, for anonymous callers, `client <name>`. */
  consumer: string;
  /** `2026-04-01`, in UTC. */
  day: string;
  /** Empty for the parts of all operations; `parts` then holds the clients that used the key. */
  operation: string;
  parts: readonly string[];
}

export const consumerUsesIn = repositoryOf<ConsumerUseRow>('ConsumerUse');

export const consumerUseEntity = (engine: Engine): EntitySchema<ConsumerUseRow> => {
  const { text, longText } = columnTypes(engine);
  return new EntitySchema<ConsumerUseRow>({
    name: 'ConsumerUse',
    tableName: 'consumer_uses',
    columns: {
      consumer: { ...text(100), primary: true },
      day: { ...text(10), primary: true },
      operation: { ...text(64), primary: true },
      parts: { ...longText, transformer: jsonTransformer },
    },
    indices: [{ name: 'consumer_uses_day', columns: ['day'] }],
  });
};

/** A failed call, without its body or any values of it. */
export type FailedCall = OutputOf<Contract['apiKey']['calls']>['items'][number];

/** The last failed calls with a key. */
interface FailedCallsRow {
  keyId: string;
  /** The time of the last failed call. */
  updatedAt: Date;
  calls: readonly FailedCall[];
}

export const failedCallsIn = repositoryOf<FailedCallsRow>('FailedCalls');

export const failedCallsEntity = (engine: Engine): EntitySchema<FailedCallsRow> => {
  const { id, time, longText } = columnTypes(engine);
  return new EntitySchema<FailedCallsRow>({
    name: 'FailedCalls',
    tableName: 'failed_calls',
    columns: {
      keyId: { ...id, name: 'key_id', primary: true, transformer: idTransformer },
      updatedAt: { ...time, name: 'updated_at' },
      calls: { ...longText, transformer: jsonTransformer },
    },
    indices: [{ name: 'failed_calls_updated', columns: ['updatedAt'] }],
  });
};

/** A contract that a user published for a consumer, under a tag. */
export interface ConsumerContractRow {
  userId: string;
  consumer: string;
  tag: string;
  /** The gateway version that the consumer was tested with. */
  contract: string;
  /** Lists do not read needs. */
  needCount: number;
  needs: Need[];
  publishedAt: Date;
}

export const consumerContractsIn = repositoryOf<ConsumerContractRow>('ConsumerContract');

export const consumerContractEntity = (engine: Engine): EntitySchema<ConsumerContractRow> => {
  const { id, text, longText, count, time } = columnTypes(engine);
  return new EntitySchema<ConsumerContractRow>({
    name: 'ConsumerContract',
    tableName: 'consumer_contracts',
    columns: {
      userId: { ...id, name: 'user_id', primary: true, transformer: idTransformer },
      consumer: { ...text(100), primary: true },
      tag: { ...text(50), primary: true },
      contract: text(32),
      needCount: { ...count, name: 'need_count' },
      needs: { ...longText, transformer: jsonTransformer },
      publishedAt: { ...time, name: 'published_at' },
    },
    indices: [{ name: 'consumer_contracts_tag', columns: ['tag'] }],
    foreignKeys: [
      {
        name: 'fk_consumer_contracts_user',
        target: 'User',
        columnNames: ['userId'],
        referencedColumnNames: ['id'],
        onDelete: 'CASCADE',
      },
    ],
  });
};
