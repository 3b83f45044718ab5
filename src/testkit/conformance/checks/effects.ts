import type { Check } from '../check.ts';
import type { Operation } from '../contract/operation.ts';
import type { VerifySession } from '../session.ts';
import { eventChecks } from './read/events.ts';
import { relatedChecks, typeStatsChecks } from './read/games.ts';
import { sampleChecks } from './read/samples.ts';
import { imageSummaryChecks } from './write/images.ts';
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
