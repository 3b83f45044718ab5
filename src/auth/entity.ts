import type { EntitySchema } from 'typeorm';
import type { Scope } from '../../contract/index.ts';
import type { Engine } from '../db/dialect.ts';
import { repositoryOf } from '../db/manager.ts';
import { column, entityOf, goesWith, named, nullable, primary, type RowOf } from '../db/sql/table.ts';

export const apiKeyColumns = {
  id: primary(column.id),
  userId: column.id,
  /** SHA-256 of the key, which itself is never stored. */
  keyHash: column.hash,
  /** The first 12 characters, for display. */
  prefix: column.text(12),
  name: column.text(100),
  scopes: column.words<Scope>(200),
  expiresAt: nullable(column.time),
  revokedAt: nullable(column.time),
  lastUsedAt: nullable(column.time),
  createdAt: column.time,
  /** The lifetime in milliseconds, 0 for ever. Null for a key of version 1.1: its end less its time of creation. */
  lifetimeMs: nullable(column.big),
  /** The id of the key that made it; null if the operator did. */
  madeBy: nullable(column.id),
};

export type ApiKeyRow = RowOf<typeof apiKeyColumns>;

export const keysIn = repositoryOf<ApiKeyRow>('ApiKey');

export const apiKeyEntity = (engine: Engine): EntitySchema =>
  entityOf(engine, {
    name: 'ApiKey',
    tableName: 'api_keys',
    columns: apiKeyColumns,
    indices: [
      { name: 'api_keys_hash', columns: ['keyHash'], unique: true },
      { name: 'api_keys_user', columns: ['userId'] },
      { name: 'api_keys_revoked_at', columns: ['revokedAt'] },
      { name: 'api_keys_expires_at', columns: ['expiresAt'] },
      { name: 'api_keys_made_by', columns: ['madeBy'] },
    ],
    foreignKeys: [goesWith('api_keys', 'userId', 'User')],
  });

/** The number of things that a user made in a day. A foreign key would lock the user's row for all calls. */
const keyQuotaColumns = {
  // Release 1.1.0 stores the id of the key in this column for its counts, and may run beside this one.
  userId: primary(named('key_id', column.id)),
  /** `2026-04-01`, in UTC. */
  day: primary(column.text(10)),
  what: primary(column.text(16)),
  n: column.count,
};

export const keyQuotasIn = repositoryOf<RowOf<typeof keyQuotaColumns>>('KeyQuota');

export const keyQuotaEntity = (engine: Engine): EntitySchema =>
  entityOf(engine, { name: 'KeyQuota', tableName: 'key_quotas', columns: keyQuotaColumns });
