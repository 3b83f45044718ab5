import { IsNull, LessThan, MoreThan } from 'typeorm';
import { type Contract, type InputOf, MAX_KEYS, type OutputOf, type Scope } from '../../contract/index.ts';
import { type Actor, record } from './audit/log.ts';
import type { Reader, Transaction } from '../db/connection.ts';
import { lockRows } from '../db/sql/lock-rows.ts';
import { isId, storedIdToBytes } from '../db/values.ts';
import { AppError } from '../base/errors.ts';
import { keysIn } from './entity.ts';
import { endKey, findKey, insertKey, type KeyInfo, keyInfo, replaceKey, stateOf, traceOf } from './service.ts';
import type { Caller } from './verifier.ts';

// Keys by the API: a user makes, renames, replaces and revokes their own, by one of them.

type Router = Contract['apiKey'];
/** A key, as its user sees it. */
export type OwnKey = OutputOf<Router['rename']>;
type NewOwnKey = OutputOf<Router['create']>;

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

const ownKey = (key: KeyInfo, now: Date): OwnKey => ({
  id: key.id,
  prefix: key.prefix,
  name: key.name,
  scopes: key.scopes,
  state: stateOf(key, now),
  expiresAt: key.expiresAt?.toISOString() ?? null,
  revokedAt: key.revokedAt?.toISOString() ?? null,
  lastUsedAt: key.lastUsedAt?.toISOString() ?? null,
  createdAt: key.createdAt.toISOString(),
});

/** The user of a key, for the audit. */
const actorOf = ({ userId, key }: Caller, now: Date): Actor => ({ name: `user ${userId} by key ${key.id}`, now });

/** The keys of a user, the latest first. */
export const listOwnKeys = async (
  reader: Pick<Reader, 'manager'>,
  { userId }: Pick<Caller, 'userId'>,
  { before, limit }: InputOf<Router['list']>,
  now: Date,
): Promise<OutputOf<Router['list']>> => {
  if (before !== undefined && !isId(before)) return { items: [], hasMore: false };
  const rows = await keysIn(reader).find({
    where: { userId, ...(before !== undefined && { id: LessThan(before) }) },
    order: { id: 'DESC' },
    take: limit + 1,
  });
  return { items: rows.slice(0, limit).map((row) => ownKey(keyInfo(row), now)), hasMore: rows.length > limit };
};

const asserted = (key: KeyInfo | undefined, userId: string): KeyInfo => {
  if (key?.userId !== userId) throw new AppError('API_KEY_NOT_FOUND');
  return key;
};

/** A key of the user of a key. @throws AppError API_KEY_NOT_FOUND */
export const readOwnKey = async (
  reader: Pick<Reader, 'manager'>,
  id: string,
  { userId }: Pick<Caller, 'userId'>,
): Promise<KeyInfo> => asserted(await findKey(reader, id), userId);

const lockOwnKey = async (tx: Transaction, id: string, { userId }: Caller): Promise<KeyInfo> =>
  asserted(await findKey(tx, id, tx.dialect.lockingRows), userId);

/** @throws AppError API_KEY_WIDER for scopes that the key in use lacks */
const assertHeld = (wanted: readonly Scope[], { key: { scopes } }: Caller): void => {
  const lacking = wanted.filter((scope) => !scopes.includes(scope));
  if (lacking.length === 0) return;
  throw new AppError('API_KEY_WIDER', { hint: `Nothing was stored. The key in use lacks ${lacking.join(', ')}.` });
};

/**
 * Locks the user, so that keys are made one after the other, and looks whether the key in use is still active: it may have been
 * revoked since it was verified.
 * @throws AppError KEY_REVOKED, KEY_EXPIRED, API_KEY_LIMIT
 */
const assertMayMake = async (tx: Transaction, { userId, key }: Caller, now: Date): Promise<void> => {
  await lockRows(tx, 'users', [storedIdToBytes(userId)]);
  const notRevoked = { userId, revokedAt: IsNull() };
  const keys = await keysIn(tx).find({
    select: { id: true },
    where: [
      { ...notRevoked, expiresAt: IsNull() },
      { ...notRevoked, expiresAt: MoreThan(now) },
    ],
  });
  if (!keys.some(({ id }) => id === key.id)) {
    throw new AppError(key.expiresAt !== null && key.expiresAt <= now ? 'KEY_EXPIRED' : 'KEY_REVOKED');
  }
  if (keys.length >= MAX_KEYS) throw new AppError('API_KEY_LIMIT');
};

/**
 * Makes a key of the same user, which ends with the key in use at the latest.
 * @throws AppError API_KEY_WIDER, API_KEY_LIMIT, KEY_REVOKED, KEY_EXPIRED
 */
export const createOwnKey = async (
  tx: Transaction,
  { name, scopes, expiresInDays }: InputOf<Router['create']>,
  caller: Caller,
  now: Date,
): Promise<NewOwnKey> => {
  assertHeld(scopes, caller);
  await assertMayMake(tx, caller, now);
  const end = now.getTime() + expiresInDays * DAY_MS;
  const expiresAt = new Date(Math.min(end, caller.key.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY));
  const wanted = { userId: caller.userId, name, scopes, expiresAt };
  const { id, key: secret } = await insertKey(tx, wanted, now);
  await record(tx, actorOf(caller, now), { action: 'keys create', subject: `key ${id}`, after: traceOf(wanted) });
  return { ...ownKey(await lockOwnKey(tx, id, caller), now), secret };
};

/** Gives a key another name. @throws AppError API_KEY_NOT_FOUND */
export const renameOwnKey = async (
  tx: Transaction,
  { id, name }: InputOf<Router['rename']>,
  caller: Caller,
  now: Date,
): Promise<OwnKey> => {
  const before = await lockOwnKey(tx, id, caller);
  await keysIn(tx).update({ id }, { name });
  const after = { ...before, name };
  await record(tx, actorOf(caller, now), {
    action: 'keys rename',
    subject: `key ${id}`,
    before: traceOf(before),
    after: traceOf(after),
  });
  return ownKey(after, now);
};

/**
 * Replaces a key, which works on for an overlap.
 * @throws AppError API_KEY_NOT_FOUND, API_KEY_WIDER, API_KEY_ENDED, API_KEY_LIMIT, KEY_REVOKED, KEY_EXPIRED
 */
export const rotateOwnKey = async (
  tx: Transaction,
  { id, overlapHours }: InputOf<Router['rotate']>,
  caller: Caller,
  now: Date,
): Promise<NewOwnKey> => {
  await assertMayMake(tx, caller, now);
  const old = await lockOwnKey(tx, id, caller);
  assertHeld(old.scopes, caller);
  if (stateOf(old, now) !== 'active') throw new AppError('API_KEY_ENDED');
  const made = await replaceKey(tx, old, overlapHours * HOUR_MS, now, actorOf(caller, now));
  return { ...ownKey(await lockOwnKey(tx, made.id, caller), now), secret: made.key };
};

/** Ends a key. @throws AppError API_KEY_NOT_FOUND */
export const revokeOwnKey = async (tx: Transaction, id: string, caller: Caller, now: Date): Promise<OwnKey> => {
  const key = await lockOwnKey(tx, id, caller);
  await endKey(tx, key, now, actorOf(caller, now));
  return ownKey({ ...key, revokedAt: key.revokedAt ?? now }, now);
};
