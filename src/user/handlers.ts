import type { Contract } from '../../contract/index.ts';
import type { Context } from '../context.ts';
import type { Handlers } from '../procedure.ts';
import { getUser, searchUsers, updateUser } from './service.ts';
import { currentUserView, userProfileView, userSummaryView } from './view.ts';

export const userHandlers = (c: Context): Handlers<Contract['user']> => ({
  getProfile: async ({ id }) => userProfileView(await getUser(c, id)),
  me: async (_, caller) => currentUserView(await getUser(c, caller.userId), caller),
  updateProfile: async (input, caller) => currentUserView(await updateUser(c, caller.userId, input), caller),
  updateAvatar: async (input, caller) => currentUserView(await updateUser(c, caller.userId, input), caller),
  search: async ({ query, limit }) => {
    const { users, hasMore } = await searchUsers(c, query, limit);
    return { items: users.map(userSummaryView), hasMore };
  },
});
