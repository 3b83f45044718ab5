import type { Contract, OutputOf } from '../../contract/index.ts';
import { countFromDb, idFromBytes, timeFromDb } from '../db/values.ts';
import type { Caller } from '../auth/verifier.ts';
import type { StoredProfile, StoredUserSummary } from './entity.ts';

type ProfileView = OutputOf<Contract['user']['getProfile']>;
type CurrentUserView = OutputOf<Contract['user']['me']>;
type UserSummaryView = OutputOf<Contract['user']['search']>['items'][number];

/** A user as search shows them. */
export const userSummaryView = ({ id, nickname, avatar }: StoredUserSummary): UserSummaryView => ({
  id: idFromBytes(id),
  nickname,
  avatar,
});

/** A user as everyone may see them. */
export const userProfileView = (user: StoredProfile): ProfileView => ({
  ...userSummaryView(user),
  bio: user.bio,
  pronouns: user.pronouns,
  website: user.website,
  location: user.location,
  socialLinks: JSON.parse(user.socialLinks) as Record<string, string>,
  gameCount: countFromDb(user.gameCount),
  imagePostCount: countFromDb(user.imagePostCount),
  createdAt: timeFromDb(user.createdAt),
});

/** The caller, with the key in use. */
export const currentUserView = (user: StoredProfile, { key }: Caller): CurrentUserView => ({
  ...userProfileView(user),
  updatedAt: timeFromDb(user.updatedAt),
  apiKey: { ...key, expiresAt: key.expiresAt?.toISOString() ?? null },
});
