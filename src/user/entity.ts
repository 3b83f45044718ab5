import type { EntitySchema } from 'typeorm';
import type { Scope } from '../../contract/index.ts';
import type { Engine } from '../db/dialect.ts';
import { repositoryOf } from '../db/manager.ts';
import {
  column,
  entityOf,
  goesWith,
  nullable,
  optioned,
  picked,
  primary,
  type RowOf,
  selected,
  type StoredOf,
} from '../db/sql/table.ts';
import type { SearchKind } from '../search/document.ts';

/** The search settings of users, who are found by their nicknames. */
export const userSearch: SearchKind = { code: 3, table: 'users', hasTerms: false };

/** The columns that a profile shows. */
const profileColumns = {
  id: primary(column.id),
  nickname: column.text(50),
  bio: nullable(column.longText),
  pronouns: nullable(column.text(50)),
  website: nullable(column.text(2048)),
  location: nullable(column.text(100)),
  socialLinks: column.json<Record<string, string>>(),
  avatar: nullable(column.text(2048)),
  gameCount: optioned({ default: 0 }, column.count),
  imagePostCount: optioned({ default: 0 }, column.count),
  createdAt: column.time,
  updatedAt: column.time,
};

const userColumns = {
  ...profileColumns,
  /** The normalised nickname. */
  searchText: column.longText,
  /** Since when the user's keys are refused. */
  suspendedAt: nullable(column.time),
  /** Since when the user's records are hidden. */
  hiddenAt: nullable(column.time),
};

const summaryColumns = picked(profileColumns, 'id', 'nickname', 'avatar');

export type UserRow = RowOf<typeof userColumns>;
/** A profile, as it is stored. */
export type StoredProfile = StoredOf<typeof profileColumns>;
/** A user in a list, as it is stored. */
export type StoredUserSummary = StoredOf<typeof summaryColumns>;

export const SELECT_PROFILES = `SELECT ${selected(profileColumns, 'u')} FROM users u`;
export const SELECT_SUMMARIES = `SELECT ${selected(summaryColumns, 'u')} FROM users u`;

export const usersIn = repositoryOf<UserRow>('User');

export const userEntity = (engine: Engine): EntitySchema =>
  entityOf(engine, { name: 'User', tableName: 'users', columns: userColumns });

/** An invitation. The first caller who sends its token makes a user with a key. */
const invitationColumns = {
  id: primary(column.id),
  /** SHA-256 of the token, which itself is never stored. */
  tokenHash: column.hash,
  /** The scopes of the key. */
  scopes: column.words<Scope>(200),
  createdAt: column.time,
  expiresAt: column.time,
  revokedAt: nullable(column.time),
  /** The user that it has made; null until then. */
  userId: nullable(column.id),
};

export type InvitationRow = RowOf<typeof invitationColumns>;

export const invitationsIn = repositoryOf<InvitationRow>('Invitation');

export const invitationEntity = (engine: Engine): EntitySchema =>
  entityOf(engine, {
    name: 'Invitation',
    tableName: 'invitations',
    columns: invitationColumns,
    indices: [
      { name: 'invitations_token_hash', columns: ['tokenHash'], unique: true },
      { name: 'invitations_expires_at', columns: ['expiresAt'] },
      { name: 'invitations_user', columns: ['userId'] },
    ],
    foreignKeys: [goesWith('invitations', 'userId', 'User')],
  });
