import type { Contract } from '../../contract/index.ts';
import { deleteRecord, getRecord } from '../content/service.ts';
import { pageView } from '../content/view.ts';
import type { Handlers } from '../auth/procedure.ts';
import { type ImageContext, imagePostDraft, updateImagePost } from './service.ts';
import { imagePostSummaryView, imagePostView } from './view.ts';

export const imageHandlers = (c: ImageContext): Handlers<Contract['image']> => ({
  list: async (input, call) => pageView(input, await c.reads.list(input, call), imagePostSummaryView),
  getById: async ({ id }, call) => imagePostView(await getRecord(c, id, call)),
  create: (input, call) => c.publisher.create(c.kind, imagePostDraft(input), call, imagePostView),
  batchCreate: ({ posts }, call) =>
    c.publisher.createAll(c.kind, posts.map(imagePostDraft), call, (made) => ({ items: made.map(imagePostView) })),
  update: (input, call) => updateImagePost(c, input, call),
  delete: ({ id }, call) => deleteRecord(c, id, call),
  toggleFavorite: ({ imagePostId }, call) =>
    c.toggles.favorite(c.kind, imagePostId, call, (state) => ({ imagePostId, ...state })),
  toggleReaction: ({ imagePostId, type }, call) =>
    c.toggles.react(c.kind, imagePostId, type, call, (state) => ({ imagePostId, ...state })),
});
