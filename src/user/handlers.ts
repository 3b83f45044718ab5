import type { Contract } from '../../contract/index.ts';
import type { Handlers } from '../auth/procedure.ts';
import { getUser, searchUsers, updateUser, type UserContext } from './service.ts';
import { currentUserView, userProfileView, userSummaryView } from './view.ts';

export const userHandlers = (c: UserContext): Handlers<Contract['user']> => ({
  getProfile: async ({ id }, call) => userProfileView(await getUser(c, id, call)),
  me: async (_, call) => currentUserView(await getUser(c, call.caller.userId, call), call.caller),
  updateProfile: (input, call) => updateUser(c, input, call, (user) => currentUserView(user, call.caller)),
  updateAvatar: (input, call) => updateUser(c, input, call, (user) => currentUserView(user, call.caller)),
  search: async ({ query, limit }, call) => {
    const { users, hasMore } = await searchUsers(c, query, limit, call);
    return { items: users.map(userSummaryView), hasMore };
  },
});
