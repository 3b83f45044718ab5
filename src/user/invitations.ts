import { IsNull, LessThan, MoreThan } from 'typeorm';
import { DEFAULT_KEY_DAYS, type Scope } from '../../contract/index.ts';
import { type Actor, record } from '../auth/audit/log.ts';
import { hashKey } from '../auth/format.ts';
import { endAfter, insertKey, traceOf } from '../auth/service.ts';
import type { Deadline } from '../base/deadline.ts';
import { AppError } from '../base/errors.ts';
import { secureRandomBytes } from '../base/runtime.ts';
import type { Reader, Transaction } from '../db/connection.ts';
import type { Database } from '../db/database.ts';
import { sweepRows } from '../db/sweep.ts';
import { isId, newId } from '../db/values.ts';
import type { WorkloadPool } from '../db/workload-pool.ts';
import { type InvitationRow, invitationsIn } from './entity.ts';
import { insertUser } from './service.ts';

const DAY_MS = 86_400_000;
const TOKEN_BYTES = 32;
/** The most open invitations. */
export const MAX_INVITATIONS = 100;
/** The longest time for which an invitation is open. */
export const MAX_INVITATION_DAYS = 30;
/** The days after its end for which an invitation is stored, so that its page tells why it cannot be used. */
export const ENDED_INVITATION_DAYS = 30;

/** An invitation, as the operator sees it. */
type Invitation = Omit<InvitationRow, 'tokenHash'> & { state: 'open' | 'used' | 'revoked' | 'expired' };

const stateOf = ({ userId, revokedAt, expiresAt }: InvitationRow, now: Date): Invitation['state'] => {
  if (userId !== null) return 'used';
  if (revokedAt !== null) return 'revoked';
  return expiresAt <= now ? 'expired' : 'open';
};

const REFUSALS = { used: 'INVITATION_USED', revoked: 'INVITATION_REVOKED', expired: 'INVITATION_EXPIRED' } as const;

/** Makes an invitation. Only the reply ever shows its token. Returns undefined if too many are open. */
export const createInvitation = (
  db: Database,
  { scopes, expiresAt }: { scopes: readonly Scope[]; expiresAt: Date },
  by: Actor,
): Promise<{ id: string; token: string } | undefined> =>
  db.transaction(async (tx) => {
    const { now } = by;
    const open = { userId: IsNull(), revokedAt: IsNull(), expiresAt: MoreThan(now) };
    if ((await invitationsIn(tx).countBy(open)) >= MAX_INVITATIONS) return undefined;
    const [id, token] = [newId(now), secureRandomBytes(TOKEN_BYTES).toString('base64url')];
    const wanted = { scopes: [...new Set(scopes)], expiresAt };
    await invitationsIn(tx).insert({ id, tokenHash: hashKey(token), createdAt: now, ...wanted });
    await record(tx, by, { action: 'users invite', subject: `invitation ${id}`, after: wanted });
    return { id, token };
  });

/** All invitations, oldest first. */
export const listInvitations = async (reader: Reader, now: Date): Promise<Invitation[]> => {
  const rows = await invitationsIn(reader).find({ order: { id: 'ASC' } });
  return rows.map((row) => {
    const { tokenHash: _, ...shown } = row;
    return { ...shown, state: stateOf(row, now) };
  });
};

/** Locks and returns an invitation. @throws AppError INVITATION_NOT_FOUND */
const lockInvitation = async (
  tx: Transaction,
  where: Pick<InvitationRow, 'id'> | Pick<InvitationRow, 'tokenHash'>,
): Promise<InvitationRow> => {
  const found = await invitationsIn(tx).findOne({ where, ...tx.dialect.lockingRows });
  if (!found) throw new AppError('INVITATION_NOT_FOUND');
  return found;
};

/** Ends an invitation. Repeating it changes nothing. @throws AppError INVITATION_NOT_FOUND, INVITATION_USED */
export const revokeInvitation = async (db: Database, id: string, by: Actor): Promise<void> => {
  if (!isId(id)) throw new AppError('INVITATION_NOT_FOUND');
  await db.transaction(async (tx) => {
    const { userId, revokedAt } = await lockInvitation(tx, { id });
    if (userId !== null) throw new AppError('INVITATION_USED', { hint: `it has made user ${userId}` });
    if (revokedAt !== null) return;
    await invitationsIn(tx).update({ id }, { revokedAt: by.now });
    const act = { before: { revokedAt }, after: { revokedAt: by.now } };
    await record(tx, by, { action: 'users uninvite', subject: `invitation ${id}`, ...act });
  });
};

/**
 * Uses an invitation: makes a user and a key, once. Only the reply ever shows the key.
 * @throws AppError INVITATION_NOT_FOUND, INVITATION_USED, INVITATION_REVOKED, INVITATION_EXPIRED
 */
export const acceptInvitation = (
  db: Database,
  { token, nickname }: { token: string; nickname: string },
  now: Date,
  deadline?: Deadline,
) =>
  db.transaction(async (tx) => {
    const invitation = await lockInvitation(tx, { tokenHash: hashKey(token) });
    const state = stateOf(invitation, now);
    if (state !== 'open') throw new AppError(REFUSALS[state]);
    const id = newId(now);
    const { scopes } = invitation;
    const wanted = { userId: id, name: 'invitation', scopes, expiresAt: endAfter(now, DEFAULT_KEY_DAYS * DAY_MS) };
    await insertUser(tx, { id, nickname }, now);
    const made = await insertKey(tx, wanted, now);
    await invitationsIn(tx).update({ id: invitation.id }, { userId: id });
    const by = { name: `invitation ${invitation.id}`, now };
    await record(tx, by, { action: 'users create', subject: `user ${id}`, after: { nickname } });
    await record(tx, by, { action: 'keys create', subject: `key ${made.id}`, after: traceOf(wanted) });
    return { id, nickname, key: made.key, scopes, expiresAt: wanted.expiresAt };
  }, deadline);

/** Deletes some invitations that ended long ago. Returns whether there may be more. */
export const sweepInvitations = (db: Pick<WorkloadPool, 'manager' | 'transaction'>, now: Date): Promise<boolean> => {
  const end = new Date(now.getTime() - ENDED_INVITATION_DAYS * DAY_MS);
  return sweepRows(db, invitationsIn, () => ({ expiresAt: LessThan(end) }));
};
