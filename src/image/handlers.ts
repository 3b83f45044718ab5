import type { Contract } from '../../contract/index.ts';
import { pageView } from '../content/view.ts';
import type { Context } from '../context.ts';
import type { Handlers } from '../procedure.ts';
import * as posts from './service.ts';
import { imagePostSummaryView, imagePostView } from './view.ts';

export const imageHandlers = (c: Context): Handlers<Contract['image']> => ({
  list: async (input, caller) =>
    pageView(input, await posts.listImagePosts(c, input, caller?.userId), imagePostSummaryView),
  getById: async ({ id }, caller) => imagePostView(await posts.getImagePost(c, id, caller?.userId)),
  create: async (input, { userId }) => {
    const [post] = await posts.createImagePosts(c, [input], userId);
    return imagePostView(post!);
  },
  batchCreate: async (input, { userId }) => ({
    items: (await posts.createImagePosts(c, input.posts, userId)).map(imagePostView),
  }),
  update: async (input, { userId }) => imagePostView(await posts.updateImagePost(c, input, userId)),
  toggleReaction: async ({ imagePostId, type }, { userId }) => ({
    imagePostId,
    ...(await posts.toggleImagePostReaction(c, imagePostId, userId, type)),
  }),
  toggleFavorite: async ({ imagePostId }, { userId }) => ({
    imagePostId,
    ...(await posts.toggleImagePostFavorite(c, imagePostId, userId)),
  }),
});
