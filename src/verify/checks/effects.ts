import type { Check } from '../check.ts';
import type { Operation } from '../operation.ts';
import type { Session } from '../session.ts';
import { relatedChecks, typeStatsChecks } from './games.ts';
import { imageSummaryChecks } from './images.ts';
import { listChecks } from './lists.ts';
import { batchCreateChecks, createChecks, getByIdChecks, updateChecks } from './records.ts';
import { favoriteChecks, reactionChecks } from './toggles.ts';
import { getProfileChecks, meChecks, profileChecks, searchChecks } from './users.ts';

/** The checks of what an operation does, by its id or, where routers have it in common, by its name. */
const effects: Record<string, (operation: Operation, session: Session) => Check[]> = {
  list: listChecks,
  getById: getByIdChecks,
  create: createChecks,
  batchCreate: batchCreateChecks,
  update: updateChecks,
  toggleFavorite: favoriteChecks,
  toggleReaction: reactionChecks,
  'image.list': (list, session) => [...listChecks(list, session), ...imageSummaryChecks(list, session)],
  'game.getTypeStats': typeStatsChecks,
  'game.getRelated': relatedChecks,
  'user.getProfile': getProfileChecks,
  'user.me': meChecks,
  'user.updateProfile': profileChecks,
  'user.updateAvatar': profileChecks,
  'user.search': searchChecks,
};

/** Checks of what an operation does, beyond the shape of what it answers. */
export const effectChecks = (operation: Operation, session: Session): Check[] =>
  (effects[operation.id] ?? effects[operation.name])?.(operation, session) ?? [];
