import { EntitySchema } from 'typeorm';
import { columnTypes, idTransformer } from '../../db/sql/columns.ts';
import type { Engine } from '../../db/dialect.ts';
import { repositoryOf } from '../../db/manager.ts';

/** A running instance of the service. The id contains the time of its start. */
export interface InstanceRow {
  id: string;
  host: string;
  version: string;
  workers: number;
  seenAt: Date;
  /** The ids of its keys for the secrets of webhooks, separated by commas; null if its version does not store them. */
  webhookKeys: string | null;
}

export const instancesIn = repositoryOf<InstanceRow>('Instance');

export const instanceEntity = (engine: Engine): EntitySchema<InstanceRow> => {
  const { id, text, count, time } = columnTypes(engine);
  return new EntitySchema<InstanceRow>({
    name: 'Instance',
    tableName: 'instances',
    columns: {
      id: { ...id, primary: true, transformer: idTransformer },
      host: text(200),
      version: text(100),
      workers: count,
      seenAt: { ...time, name: 'seen_at' },
      webhookKeys: { ...text(200), nullable: true, name: 'webhook_keys' },
    },
  });
};
