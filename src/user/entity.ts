import { EntitySchema } from 'typeorm';
import { columnTypes, idTransformer, jsonTransformer } from '../db/sql/columns.ts';
import type { Engine } from '../db/dialect.ts';
import { repositoryOf } from '../db/manager.ts';
import type { Bytes } from '../db/values.ts';

export interface UserRow {
  id: string;
  nickname: string;
  bio: string | null;
  pronouns: string | null;
  website: string | null;
  location: string | null;
  socialLinks: Record<string, string>;
  avatar: string | null;
  gameCount: number;
  imagePostCount: number;
  /** The normalised nickname. */
  searchText: string;
  createdAt: Date;
  updatedAt: Date;
  /** Since when the user's keys are refused. */
  suspendedAt: Date | null;
  /** Since when the user's records are hidden. */
  hiddenAt: Date | null;
}

/** The columns of a profile, as the drivers return them. */
export interface UserColumns {
  id: Bytes;
  nickname: string;
  bio: string | null;
  pronouns: string | null;
  website: string | null;
  location: string | null;
  /** JSON of a map. */
  social_links: string;
  avatar: string | null;
  game_count: number;
  image_post_count: number;
  created_at: string;
  updated_at: string;
}

export type UserSummaryColumns = Pick<UserColumns, 'id' | 'nickname' | 'avatar'>;

export const usersIn = repositoryOf<UserRow>('User');

export const userEntity = (engine: Engine): EntitySchema<UserRow> => {
  const { id, text, longText, count, time } = columnTypes(engine);
  return new EntitySchema<UserRow>({
    name: 'User',
    tableName: 'users',
    columns: {
      id: { ...id, primary: true, transformer: idTransformer },
      nickname: text(50),
      bio: { ...longText, nullable: true },
      pronouns: { ...text(50), nullable: true },
      website: { ...text(2048), nullable: true },
      location: { ...text(100), nullable: true },
      socialLinks: { ...longText, name: 'social_links', transformer: jsonTransformer },
      avatar: { ...text(2048), nullable: true },
      gameCount: { ...count, name: 'game_count', default: 0 },
      imagePostCount: { ...count, name: 'image_post_count', default: 0 },
      searchText: { ...longText, name: 'search_text' },
      createdAt: { ...time, name: 'created_at' },
      updatedAt: { ...time, name: 'updated_at' },
      suspendedAt: { ...time, name: 'suspended_at', nullable: true },
      hiddenAt: { ...time, name: 'hidden_at', nullable: true },
    },
  });
};
