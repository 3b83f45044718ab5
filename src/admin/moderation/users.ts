import { currentDate, sleep } from '../../base/runtime.ts';
import { type Actor, record } from '../../auth/audit/log.ts';
import { findRange } from '../../content/read/find.ts';
import { deleteHidden } from './hidden/delete.ts';
import { hideRecordsOf } from './hidden/hide.ts';
import { showRecordsOf } from './hidden/show.ts';
import { countEngagementOf, removeEngagementOf } from '../../content/engagement/remove.ts';
import { removeRecords } from '../../content/write/remove.ts';
import { keyQuotasIn, keysIn } from '../../auth/entity.ts';
import { deleteUsesOf } from '../../consumers/use/store.ts';
import { hiddenRecordsIn, recordsIn } from '../../content/entity.ts';
import type { Transaction } from '../../db/connection.ts';
import type { Database } from '../../db/database.ts';
import { partsOf } from '../../db/sql/in-list.ts';
import { updateRow } from '../../db/sql/write-rows.ts';
import { storedIdToBytes, timeFromDb } from '../../db/values.ts';
import { AppError } from '../../base/errors.ts';
import { type UserRow, usersIn } from '../../user/entity.ts';
import { deleteUserRow, lockUser, readUser } from '../../user/service.ts';
import { userProfileView } from '../../user/view.ts';
import { publishedKinds } from './kinds.ts';
import { noteHidden, noteRecords } from './removal.ts';

/** Far longer than a call takes from its check of the suspension until its records are stored. */
const SETTLE_MS = 2000;
const settled = (): Promise<unknown> => sleep(SETTLE_MS);

type ModeratedProfile = ReturnType<typeof userProfileView>;

/** The counts of a user; `engagement` are the favorites and reactions that the user gave. */
const COUNTS = ['games', 'imagePosts', 'hiddenGames', 'hiddenImagePosts', 'engagement', 'keys'] as const;
export type UserCounts = Record<(typeof COUNTS)[number], number>;

/** The counts alone; if the user has no state, the counts of a user who has nothing. */
export const countsOf = (state?: UserCounts): UserCounts =>
  Object.fromEntries(COUNTS.map((name) => [name, state?.[name] ?? 0])) as UserCounts;

/** A user as operators see it. */
interface UserState extends Omit<ModeratedProfile, 'gameCount' | 'imagePostCount'>, UserCounts {
  suspendedAt: string | null;
  hiddenAt: string | null;
  updatedAt: string;
}

/** @throws AppError USER_NOT_FOUND */
export const readUserState = async (db: Database, id: string): Promise<UserState> => {
  const user = await readUser(db, id);
  const key = storedIdToBytes(id);
  const status = await usersIn(db).findOne({
    select: { id: true, suspendedAt: true, hiddenAt: true },
    where: { id },
  });
  if (!status) throw new AppError('USER_NOT_FOUND');
  const [hiddenGames = 0, hiddenImagePosts = 0] = await Promise.all(
    publishedKinds.map((kind) => hiddenRecordsIn(db).countBy({ authorId: id, kind: kind.table })),
  );
  const engagement = await Promise.all(publishedKinds.map((kind) => countEngagementOf(db, kind, key)));
  const { gameCount: games, imagePostCount: imagePosts, createdAt, ...profile } = userProfileView(user);
  return {
    ...profile,
    games,
    imagePosts,
    hiddenGames,
    hiddenImagePosts,
    engagement: engagement.reduce((sum, n) => sum + n, 0),
    keys: await keysIn(db).countBy({ userId: id }),
    suspendedAt: status.suspendedAt?.toISOString() ?? null,
    hiddenAt: status.hiddenAt?.toISOString() ?? null,
    createdAt,
    updatedAt: timeFromDb(user.updatedAt),
  };
};

/** The new values of a user's status: an instant, or null. */
type AccountStatus = Partial<Pick<UserRow, 'suspendedAt' | 'hiddenAt'>>;

/** Changes the status of a user, if it differs. @throws AppError USER_NOT_FOUND */
const changeStatus = (db: Database, id: string, by: Actor, action: string, wanted: AccountStatus): Promise<void> =>
  db.transaction(async (tx) => {
    const { suspendedAt, hiddenAt } = await lockUser(tx, id);
    const before = { suspendedAt, hiddenAt };
    const changed = (['suspendedAt', 'hiddenAt'] as const).filter(
      (name) => wanted[name] !== undefined && (wanted[name] === null) !== (before[name] === null),
    );
    if (changed.length === 0) return;
    const changes: AccountStatus = Object.fromEntries(changed.map((name) => [name, wanted[name]]));
    await updateRow<UserRow>(tx, 'User', id, changes);
    await record(tx, by, { action, subject: `user ${id}`, before, after: { ...before, ...changes } });
  });

/**
 * Makes all instances refuse the keys of a user within a second; with `hide`, hides the user's games and image posts,
 * and again after `settle`, since some may be published meanwhile. Run it again if it was interrupted.
 * @returns how many records it hid @throws AppError USER_NOT_FOUND
 */
export const suspendUser = async (
  db: Database,
  id: string,
  by: Actor,
  { hide, settle = settled }: { hide: boolean; settle?: () => Promise<unknown> },
): Promise<number> => {
  const action = 'users suspend';
  await changeStatus(db, id, by, action, { suspendedAt: by.now, ...(hide && { hiddenAt: by.now }) });
  if (!hide) return 0;
  const reason = { by, action: 'users suspend --hide-content', subject: `user ${id}` };
  let hidden = 0;
  const hideAll = async (): Promise<void> => {
    for (const kind of publishedKinds) {
      hidden += await hideRecordsOf(db, kind, storedIdToBytes(id), noteRecords(reason, kind));
    }
  };
  await hideAll();
  await settle();
  await hideAll();
  return hidden;
};

/**
 * Lifts a suspension, and shows the records that were hidden with the user, with their favorites and reactions. Records
 * that are hidden by themselves stay hidden. Run it again if it was interrupted.
 * @returns how many records it showed @throws AppError USER_NOT_FOUND
 */
export const unsuspendUser = async (db: Database, id: string, by: Actor): Promise<number> => {
  const action = 'users unsuspend';
  await changeStatus(db, id, by, action, { suspendedAt: null });
  const reason = { by, action, subject: `user ${id}` };
  let shown = 0;
  for (const kind of publishedKinds) {
    shown += await showRecordsOf(db, kind, storedIdToBytes(id), noteHidden(reason, 'shown'));
  }
  await changeStatus(db, id, by, action, { hiddenAt: null });
  return shown;
};

/** Whether the user has nothing left except keys and the row, which is locked. */
const isBare = async (tx: Transaction, id: string): Promise<boolean> => {
  for (const kind of publishedKinds) {
    if (await recordsIn(tx, kind).findOne({ select: { id: true }, where: { authorId: id } })) return false;
    if ((await countEngagementOf(tx, kind, storedIdToBytes(id))) > 0) return false;
  }
  return !(await hiddenRecordsIn(tx).existsBy({ authorId: id }));
};

/** How a user is deleted. */
interface Deletion {
  action: 'users delete' | 'users erase';
  /** The state of the user for the audit log. */
  before: object;
}

/** Deletes a user who has nothing left. Returns whether it did. */
const deleteBare = (db: Database, id: string, by: Actor, { action, before }: Deletion): Promise<boolean> =>
  db.transaction(async (tx) => {
    await lockUser(tx, id);
    if (!(await isBare(tx, id))) return false;
    const keys = await keysIn(tx).find({ select: { id: true }, where: { userId: id } });
    for (const part of partsOf(keys)) {
      await deleteUsesOf(
        tx,
        part.map((row) => row.id),
      );
    }
    await keyQuotasIn(tx).delete({ userId: id });
    await deleteUserRow(tx, id);
    await record(tx, { name: by.name, now: currentDate() }, { action, subject: `user ${id}`, before });
    return true;
  });

/**
 * Deletes a user with all records, favorites, reactions and keys, in batches, so that no transaction is long. It first
 * suspends the user, so that nothing is added meanwhile. Run it again if it was interrupted.
 * @throws AppError USER_NOT_FOUND
 */
export const deleteUser = async (db: Database, id: string, by: Actor): Promise<void> =>
  deleteAs(db, id, by, { action: 'users delete', before: await readUserState(db, id) });

/** As `deleteUser`, recorded as this action; `users erase` records no names. @throws AppError USER_NOT_FOUND */
export const deleteAs = async (db: Database, id: string, by: Actor, deletion: Deletion): Promise<void> => {
  const { action } = deletion;
  const key = storedIdToBytes((await readUser(db, id)) && id);
  await changeStatus(db, id, by, action, { suspendedAt: by.now });
  const reason = { by, action, subject: `user ${id}`, isNameless: action === 'users erase' };
  do {
    for (const kind of publishedKinds) {
      const removal = { before: noteRecords(reason, kind) };
      const own = findRange(db, kind, { authorId: key });
      for await (const ids of own) await removeRecords(db, kind, ids, removal);
      await removeEngagementOf(db, kind, key);
    }
    await deleteHidden(db, key, noteHidden(reason, 'deleted'));
  } while (!(await deleteBare(db, id, by, deletion)));
};
