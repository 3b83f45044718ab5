import type { Contract } from '../../contract/index.ts';
import { pageView } from '../content/view.ts';
import type { Context } from '../context.ts';
import type { Handlers } from '../procedure.ts';
import * as posts from './service.ts';
import { imagePostSummaryView, imagePostView } from './view.ts';

export const imageHandlers = (c: Context): Handlers<Contract['image']> => ({
  list: async (input, call) => pageView(input, await posts.listImagePosts(c, input, call), imagePostSummaryView),
  getById: async ({ id }, call) => imagePostView(await posts.getImagePost(c, id, call)),
  create: async (input, call) => {
    const [post] = await posts.createImagePosts(c, [input], call);
    return imagePostView(post!);
  },
  batchCreate: async (input, call) => ({
    items: (await posts.createImagePosts(c, input.posts, call)).map(imagePostView),
  }),
  update: async (input, call) => imagePostView(await posts.updateImagePost(c, input, call)),
  toggleReaction: async ({ imagePostId, type }, call) => ({
    imagePostId,
    ...(await posts.toggleImagePostReaction(c, imagePostId, type, call)),
  }),
  toggleFavorite: async ({ imagePostId }, call) => ({
    imagePostId,
    ...(await posts.toggleImagePostFavorite(c, imagePostId, call)),
  }),
});
