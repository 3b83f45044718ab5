import type { Contract } from '../../contract/index.ts';
import { pageView } from '../content/view.ts';
import type { Handlers } from '../auth/procedure.ts';
import * as posts from './service.ts';
import type { ImageContext } from './service.ts';
import { imagePostSummaryView, imagePostView } from './view.ts';

export const imageHandlers = (c: ImageContext): Handlers<Contract['image']> => ({
  list: async (input, call) => pageView(input, await posts.listImagePosts(c, input, call), imagePostSummaryView),
  getById: async ({ id }, call) => imagePostView(await posts.getImagePost(c, id, call)),
  create: (input, call) => posts.createImagePost(c, input, call, imagePostView),
  batchCreate: (input, call) =>
    posts.createImagePosts(c, input.posts, call, (made) => ({ items: made.map(imagePostView) })),
  update: (input, call) => posts.updateImagePost(c, input, call, imagePostView),
  toggleReaction: ({ imagePostId, type }, call) =>
    posts.toggleImagePostReaction(c, imagePostId, type, call, (state) => ({ imagePostId, ...state })),
  toggleFavorite: ({ imagePostId }, call) =>
    posts.toggleImagePostFavorite(c, imagePostId, call, (state) => ({ imagePostId, ...state })),
});
