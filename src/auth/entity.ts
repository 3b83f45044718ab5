import { EntitySchema } from 'typeorm';
import { columnTypes, idTransformer } from '../db/sql/columns.ts';
import type { Engine } from '../db/dialect.ts';
import { repositoryOf } from '../db/manager.ts';

export interface ApiKeyRow {
  id: string;
  userId: string;
  /** SHA-256 of the key, which itself is never stored. */
  keyHash: Buffer;
  /** The first 12 characters, for display. */
  prefix: string;
  name: string;
  /** Comma-separated. */
  scopes: string;
  expiresAt: Date | null;
  revokedAt: Date | null;
  lastUsedAt: Date | null;
  createdAt: Date;
  /** The milliseconds for which it is to work, 0 for ever. Null where version 1.1 made it: its end less its making. */
  lifetimeMs: number | null;
  /** The id of the key that made it; null where the operator did. */
  madeBy: string | null;
}

export const keysIn = repositoryOf<ApiKeyRow>('ApiKey');

/** The count of things that a user made in a day. It has no foreign key, whose lock all calls of the user would share. */
interface KeyQuotaRow {
  userId: string;
  /** `2026-04-01`, in UTC. */
  day: string;
  what: string;
  n: number;
}

export const keyQuotasIn = repositoryOf<KeyQuotaRow>('KeyQuota');

export const keyQuotaEntity = (engine: Engine): EntitySchema<KeyQuotaRow> => {
  const { id, text, count } = columnTypes(engine);
  return new EntitySchema<KeyQuotaRow>({
    name: 'KeyQuota',
    tableName: 'key_quotas',
    columns: {
      // Release 1.1.0 counts by the id of the key in this column, and may serve beside this one.
      userId: { ...id, name: 'key_id', primary: true, transformer: idTransformer },
      day: { ...text(10), primary: true },
      what: { ...text(16), primary: true },
      n: count,
    },
  });
};

export const apiKeyEntity = (engine: Engine): EntitySchema<ApiKeyRow> => {
  const { id, hash, text, time, big } = columnTypes(engine);
  return new EntitySchema<ApiKeyRow>({
    name: 'ApiKey',
    tableName: 'api_keys',
    columns: {
      id: { ...id, primary: true, transformer: idTransformer },
      userId: { ...id, name: 'user_id', transformer: idTransformer },
      keyHash: { ...hash, name: 'key_hash' },
      prefix: text(12),
      name: text(100),
      scopes: text(200),
      expiresAt: { ...time, name: 'expires_at', nullable: true },
      revokedAt: { ...time, name: 'revoked_at', nullable: true },
      lastUsedAt: { ...time, name: 'last_used_at', nullable: true },
      createdAt: { ...time, name: 'created_at' },
      lifetimeMs: { ...big, name: 'lifetime_ms', nullable: true },
      madeBy: { ...id, name: 'made_by', nullable: true, transformer: idTransformer },
    },
    indices: [
      { name: 'api_keys_hash', columns: ['keyHash'], unique: true },
      { name: 'api_keys_user', columns: ['userId'] },
      { name: 'api_keys_revoked_at', columns: ['revokedAt'] },
      { name: 'api_keys_expires_at', columns: ['expiresAt'] },
      { name: 'api_keys_made_by', columns: ['madeBy'] },
    ],
    foreignKeys: [
      {
        name: 'fk_api_keys_user',
        target: 'User',
        columnNames: ['userId'],
        referencedColumnNames: ['id'],
        onDelete: 'CASCADE',
      },
    ],
  });
};
