import { EntitySchema } from 'typeorm';
import { columnTypes, jsonTransformer } from '../../db/sql/columns.ts';
import type { Reader, Transaction } from '../../db/connection.ts';
import type { Engine } from '../../db/dialect.ts';
import { repositoryOf } from '../../db/manager.ts';

/** The place of a deployment: its public address or, without one, the file of its database. */
export interface Place {
  url: string | null;
  /** Null on a server. */
  file: string | null;
}

/** The results of the nightly checks of an SQLite file. */
export interface PageState {
  /** The first table of the next part; null for the first table of all. */
  next: string | null;
  /** The time when the last round through all tables ended: UTC, ISO 8601. */
  completedAt: string | null;
  /** The damage in each damaged table, according to the last check of it. */
  faults: Record<string, string>;
}

/** The facts about the deployment that a database belongs to. */
interface Facts {
  place: Place;
  pages: PageState;
}

interface DeploymentFact {
  name: keyof Facts;
  value: Facts[keyof Facts];
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

/** A fact; undefined if it is not known yet. */
export const readFact = async <Name extends keyof Facts>(
  reader: Pick<Reader, 'manager'>,
  name: Name,
): Promise<{ value: Facts[Name]; changedAt: Date } | undefined> => {
  const row = await factsIn(reader).findOneBy({ name });
  return row ? { value: row.value as Facts[Name], changedAt: row.changedAt } : undefined;
};

/** Stores a fact and replaces the former one. */
export const storeFact = async (tx: Transaction, fact: DeploymentFact): Promise<void> => {
  await factsIn(tx).delete({ name: fact.name });
  await factsIn(tx).insert(fact);
};
