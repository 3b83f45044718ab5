import { EntitySchema } from 'typeorm';
import { columnTypes } from '../../db/sql/columns.ts';
import type { Engine } from '../../db/dialect.ts';
import { repositoryOf } from '../../db/manager.ts';

/** The only row, stored while the service refuses writes. */
export interface MaintenanceRow {
  /** Always `writes`. */
  name: string;
  since: Date;
  /** The seconds after which callers try again. */
  retryAfter: number;
  /** The operator's reason, for other operators. */
  note: string | null;
}

export const maintenanceIn = repositoryOf<MaintenanceRow>('Maintenance');

export const maintenanceEntity = (engine: Engine): EntitySchema<MaintenanceRow> => {
  const { text, time, count } = columnTypes(engine);
  return new EntitySchema<MaintenanceRow>({
    name: 'Maintenance',
    tableName: 'maintenance',
    columns: {
      name: { ...text(16), primary: true },
      since: time,
      retryAfter: { ...count, name: 'retry_after' },
      note: { ...text(300), nullable: true },
    },
  });
};
