import { EntitySchema } from 'typeorm';
import { columnTypes, jsonTransformer } from '../../db/sql/columns.ts';
import type { Reader, Transaction } from '../../db/connection.ts';
import type { Engine } from '../../db/dialect.ts';
import { repositoryOf } from '../../db/manager.ts';

/** A fact about the deployment that a database belongs to. */
interface DeploymentFact {
  name: 'place' | 'pages';
  value: object;
  changedAt: Date;
}

export const factsIn = repositoryOf<DeploymentFact>('Deployment');

export const deploymentEntity = (engine: Engine): EntitySchema<DeploymentFact> => {
  const { text, longText, time } = columnTypes(engine);
  return new EntitySchema<DeploymentFact>({
    name: 'Deployment',
    tableName: 'deployment',
    columns: {
      name: { ...text(16), primary: true },
      value: { ...longText, transformer: jsonTransformer },
      changedAt: { ...time, name: 'changed_at' },
    },
  });
};

/** The value of a fact; undefined before it is known. */
export const readFact = async <T extends object>(
  reader: Pick<Reader, 'manager'>,
  name: DeploymentFact['name'],
): Promise<{ value: T; changedAt: Date } | undefined> => {
  const row = await factsIn(reader).findOneBy({ name });
  return row ? { value: row.value as T, changedAt: row.changedAt } : undefined;
};

/** Stores a fact in the place of the one before. */
export const storeFact = async (tx: Transaction, fact: DeploymentFact): Promise<void> => {
  await factsIn(tx).delete({ name: fact.name });
  await factsIn(tx).insert(fact);
};
