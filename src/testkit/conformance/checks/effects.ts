import { type Check, checkOf } from '../check.ts';
import type { Operation } from '../contract/operation.ts';
import { TAG, type VerifySession } from '../session.ts';
import { eventChecks } from './read/events.ts';
import { relatedChecks, typeStatsChecks } from './read/games.ts';
import { sampleChecks } from './read/samples.ts';
import { listChecks } from './read/lists.ts';
import { batchCreateChecks, createChecks, getByIdChecks, updateChecks } from './write/records.ts';
import { favoriteChecks, reactionChecks } from './write/toggles.ts';
import { getProfileChecks, meChecks, searchChecks } from './read/users.ts';
import { profileChecks } from './write/profile.ts';
import {
  createWebhookChecks,
  deleteWebhookChecks,
  deliveriesChecks,
  redeliverChecks,
  rotateSecretChecks,
  testWebhookChecks,
  updateWebhookChecks,
} from './write/webhooks.ts';
import { type Contract, MAX_SUMMARY_IMAGES, type OutputOf } from '../../../../contract/index.ts';
import { demand, OUTPUT } from '../findings/expect.ts';
import { differences, Skip } from '../findings/finding.ts';

type ImagePage = OutputOf<Contract['image']['list']>;

/** Checks of what a list shows of the images of posts. */
const imageSummaryChecks = (list: Operation, session: VerifySession): Check[] => {
  const create = session.sibling(list, 'create');
  const run = async (): Promise<void> => {
    const images = Array.from({ length: MAX_SUMMARY_IMAGES + 1 }, (_, n) => `https://images.example.com/${n}.webp`);
    const { id } = await session.publish(list, { title: 'in short', images });
    const query = { limit: 1, page: 1, search: `${session.run} in short`, tagSlugs: [TAG] };
    const { output, reply } = await session.call<ImagePage>(list, query);
    const [post] = output.items;
    if (post?.id !== id) throw new Skip('the post is not found');
    const expected = { images: images.slice(0, MAX_SUMMARY_IMAGES), imageCount: images.length };
    demand(reply, differences(expected, { images: post.images, imageCount: post.imageCount }, `${OUTPUT}/items/0`));
  };
  const name = `shows the first ${MAX_SUMMARY_IMAGES} images of a post, and counts all`;
  return create ? [checkOf(list, 'effect', name, run, create.needs)] : [];
};

/** The checks of what an operation does, by its id or, where routers have it in common, by its name. */
const effects: Record<string, (operation: Operation, session: VerifySession) => Check[]> = {
  list: listChecks,
  getById: (getById, session) => [...sampleChecks(getById, session), ...getByIdChecks(getById, session)],
  create: createChecks,
  batchCreate: batchCreateChecks,
  update: updateChecks,
  toggleFavorite: favoriteChecks,
  toggleReaction: reactionChecks,
  'image.list': (list, session) => [...listChecks(list, session), ...imageSummaryChecks(list, session)],
  'event.list': eventChecks,
  'game.getTypeStats': typeStatsChecks,
  'game.getRelated': relatedChecks,
  'user.getProfile': getProfileChecks,
  'user.me': meChecks,
  'user.updateProfile': profileChecks,
  'user.updateAvatar': profileChecks,
  'user.search': searchChecks,
  'webhook.create': createWebhookChecks,
  'webhook.list': () => [],
  'webhook.update': updateWebhookChecks,
  'webhook.test': testWebhookChecks,
  'webhook.rotateSecret': rotateSecretChecks,
  'webhook.deliveries': deliveriesChecks,
  'webhook.redeliver': redeliverChecks,
  'webhook.delete': deleteWebhookChecks,
};

/** Checks of what an operation does, beyond the shape of what it answers. */
export const effectChecks = (operation: Operation, session: VerifySession): Check[] =>
  (effects[operation.id] ?? effects[operation.name])?.(operation, session) ?? [];
