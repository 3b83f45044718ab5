import type { Contract, OutputOf } from '../../contract/index.ts';
import { countFromDb, idFromBytes, timeFromDb } from '../db/values.ts';
import type { Caller } from '../auth/verifier.ts';
import type { UserColumns, UserSummaryColumns } from './entity.ts';

type ProfileView = OutputOf<Contract['user']['getProfile']>;
type CurrentUserView = OutputOf<Contract['user']['me']>;
type UserSummaryView = OutputOf<Contract['user']['search']>['items'][number];

/** A user as search shows them. */
export const userSummaryView = ({ id, nickname, avatar }: UserSummaryColumns): UserSummaryView => ({
  id: idFromBytes(id),
  nickname,
  avatar,
});

/** A user as everyone may see them. */
export const userProfileView = (user: UserColumns): ProfileView => ({
  ...userSummaryView(user),
  bio: user.bio,
  pronouns: user.pronouns,
  website: user.website,
  location: user.location,
  socialLinks: JSON.parse(user.social_links) as Record<string, string>,
  gameCount: countFromDb(user.game_count),
  imagePostCount: countFromDb(user.image_post_count),
  createdAt: timeFromDb(user.created_at),
});

/** The caller, with the key in use. */
export const currentUserView = (user: UserColumns, { key }: Caller): CurrentUserView => ({
  ...userProfileView(user),
  updatedAt: timeFromDb(user.updated_at),
  apiKey: { ...key, expiresAt: key.expiresAt?.toISOString() ?? null },
});
