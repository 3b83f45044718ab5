import { EntitySchema } from 'typeorm';
import { columnTypes, idTransformer } from '../../db/sql/columns.ts';
import type { Engine } from '../../db/dialect.ts';
import { repositoryOf } from '../../db/manager.ts';

/** A privileged act. The id holds the time. */
export interface AuditRow {
  id: string;
  actor: string;
  action: string;
  subject: string;
  /** JSON; null where there is nothing to record. */
  before: string | null;
  after: string | null;
}

export const entriesIn = repositoryOf<AuditRow>('AuditEntry');

export const auditEntity = (engine: Engine): EntitySchema<AuditRow> => {
  const { id, text, longText } = columnTypes(engine);
  return new EntitySchema<AuditRow>({
    name: 'AuditEntry',
    tableName: 'audit_entries',
    columns: {
      id: { ...id, primary: true, transformer: idTransformer },
      actor: text(200),
      action: text(50),
      subject: text(300),
      before: { ...longText, name: 'before_act', nullable: true },
      after: { ...longText, name: 'after_act', nullable: true },
    },
  });
};
