import { type Contract, MAX_SUMMARY_IMAGES, type OutputOf } from '../../../../contract/index.ts';
import { type Check, checkOf, type Effects } from '../check.ts';
import type { Operation } from '../contract/operation.ts';
import { demand, OUTPUT } from '../findings/expect.ts';
import { differences, Skip } from '../findings/finding.ts';
import { TAG, type VerifySession } from '../session.ts';
import { callsEffects, createKeyEffects, renameEffects, revokeEffects, rotateEffects } from './write/keys.ts';
import { eventEffects } from './read/events.ts';
import { relatedEffects, typeStatsEffects } from './read/games.ts';
import { listEffects } from './read/lists.ts';
import { sampleEffects } from './read/samples.ts';
import { getProfileEffects, meEffects, userSearchEffects } from './read/users.ts';
import { profileEffects } from './write/profile.ts';
import { batchCreateEffects, createEffects, updateEffects, viewEffects } from './write/records.ts';
import { favoriteEffects, reactionEffects } from './write/toggles.ts';
import * as contracts from './write/contracts.ts';
import * as webhook from './write/webhooks.ts';

type ImagePage = OutputOf<Contract['image']['list']>;

/** The checks of the images that a list shows of posts. */
const imageSummaryEffects = (list: Operation, session: VerifySession): Effects => ({
  [`shows the first ${MAX_SUMMARY_IMAGES} images of a post, and counts all`]: async () => {
    const images = Array.from({ length: MAX_SUMMARY_IMAGES + 1 }, (_, n) => `https://images.example.com/${n}.webp`);
    const { id } = await session.publish(list, { title: 'in short', images });
    const query = { limit: 1, page: 1, search: `${session.run} in short`, tagSlugs: [TAG] };
    const { output, reply } = await session.call<ImagePage>(list, query);
    const [post] = output.items;
    if (post?.id !== id) throw new Skip('the post is not found');
    const expected = { images: images.slice(0, MAX_SUMMARY_IMAGES), imageCount: images.length };
    demand(reply, differences(expected, { images: post.images, imageCount: post.imageCount }, `${OUTPUT}/items/0`));
  },
});

/** The checks of each operation, by its id or, where routers have it in common, by its name. */
const effects: Readonly<Record<string, (operation: Operation, session: VerifySession) => Effects>> = {
  list: listEffects,
  getById: (getById, session) => ({ ...sampleEffects(getById, session), ...viewEffects(getById, session) }),
  create: createEffects,
  batchCreate: batchCreateEffects,
  update: updateEffects,
  toggleFavorite: favoriteEffects,
  toggleReaction: reactionEffects,
  'image.list': (list, session) => ({ ...listEffects(list, session), ...imageSummaryEffects(list, session) }),
  'event.list': eventEffects,
  'game.getTypeStats': typeStatsEffects,
  'game.getRelated': relatedEffects,
  'user.getProfile': getProfileEffects,
  'user.me': meEffects,
  'user.updateProfile': profileEffects,
  'user.updateAvatar': profileEffects,
  'user.search': userSearchEffects,
  'webhook.create': webhook.createEffects,
  'webhook.list': () => ({}),
  'webhook.update': webhook.updateEffects,
  'webhook.test': webhook.testEffects,
  'webhook.rotateSecret': webhook.rotateSecretEffects,
  'webhook.deliveries': webhook.deliveriesEffects,
  'webhook.redeliver': webhook.redeliverEffects,
  'webhook.delete': webhook.deleteEffects,
  'apiKey.list': () => ({}),
  'apiKey.calls': callsEffects,
  'apiKey.create': createKeyEffects,
  'apiKey.rename': renameEffects,
  'apiKey.rotate': rotateEffects,
  'apiKey.revoke': revokeEffects,
  'consumerContract.publish': contracts.publishEffects,
  'consumerContract.list': () => ({}),
  'consumerContract.delete': contracts.deleteEffects,
};

/** Checks of what an operation does, beyond the shape of what it answers. */
export const effectChecks = (operation: Operation, session: VerifySession): Check[] =>
  Object.entries((effects[operation.id] ?? effects[operation.name])?.(operation, session) ?? {}).map(([name, run]) =>
    checkOf(operation, 'effect', name, run),
  );
