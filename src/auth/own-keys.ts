import { LessThan } from 'typeorm';
import { type Contract, type InputOf, MAX_KEYS, type OutputOf, type Scope } from '../../contract/index.ts';
import { type Actor, record } from './audit/log.ts';
import type { Reader, Transaction } from '../db/connection.ts';
import { isId } from '../db/values.ts';
import { AppError } from '../base/errors.ts';
import { keysIn } from './entity.ts';
import {
  activeOf,
  endAfter,
  endKey,
  insertKey,
  type KeyInfo,
  keyInfo,
  lockKeysOf,
  readKey,
  replaceKey,
  stateOf,
  traceOf,
} from './service.ts';
import type { Caller } from './verifier.ts';

// Keys managed by the API: users make, rename, replace and revoke their own keys with one of them.

type Router = Contract['apiKey'];
/** A key as its user sees it. */
export type OwnKey = OutputOf<Router['rename']>;
type NewOwnKey = OutputOf<Router['create']>;
type RotatedOwnKey = OutputOf<Router['rotate']>;
type RevokedOwnKey = OutputOf<Router['revoke']>;

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
  madeBy: key.madeBy,
});

/** The user of a key, for the audit log. */
export const actorOf = ({ userId, key }: Caller, now: Date): Actor => ({
  name: `user ${userId} by key ${key.id}`,
  now,
});

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

/** Locks and returns a key of the caller's user. @throws AppError API_KEY_NOT_FOUND */
const lockOwnKey = (tx: Transaction, id: string, { userId }: Caller): Promise<KeyInfo> =>
  readKey(tx, id, { owner: userId, lock: tx.dialect.lockingRows });

/** @throws AppError API_KEY_WIDER for scopes that the key in use lacks */
const assertHeld = (wanted: readonly Scope[], { scopes }: KeyInfo): void => {
  const lacking = wanted.filter((scope) => !scopes.includes(scope));
  if (lacking.length === 0) return;
  throw new AppError('API_KEY_WIDER', { hint: `Nothing was stored. The key in use lacks ${lacking.join(', ')}.` });
};

/**
 * Locks the user, so that keys are made one after the other, and reads the key in use again: it may have been revoked
 * or replaced since its verification.
 * @throws AppError KEY_UNKNOWN, KEY_REVOKED, KEY_EXPIRED, API_KEY_LIMIT
 */
const lockMaker = async (tx: Transaction, { userId, key: { id } }: Caller, now: Date): Promise<KeyInfo> => {
  await lockKeysOf(tx, userId);
  const maker = await readKey(tx, id);
  const state = stateOf(maker, now);
  if (state !== 'active') throw new AppError(state === 'expired' ? 'KEY_EXPIRED' : 'KEY_REVOKED');
  if ((await keysIn(tx).countBy(activeOf(userId, now))) >= MAX_KEYS) throw new AppError('API_KEY_LIMIT');
  return maker;
};

/** The lesser of two times or durations; null means endless. */
const least = <T extends Date | number>(one: T | null, other: T | null): T | null =>
  other === null || (one !== null && one < other) ? one : other;

/**
 * The time of a key that a maker creates: it ends with the maker at the latest. If it replaces itself, it lives no
 * longer than the maker's lifetime, or than the maker's remaining time if a rotation or its own maker has shortened
 * that.
 */
const timeWithin = (maker: KeyInfo, lifetimeMs: number | null, now: Date) => {
  const { createdAt, expiresAt } = maker;
  const full = endAfter(createdAt, maker.lifetimeMs);
  const isShortened = expiresAt !== null && (full === null || expiresAt < full);
  return {
    expiresAt: least(endAfter(now, lifetimeMs), expiresAt),
    lifetimeMs: least(lifetimeMs, isShortened ? expiresAt.getTime() - now.getTime() : maker.lifetimeMs),
    madeBy: maker.id,
  };
};

/**
 * Makes a key of the same user, which ends with the key in use at the latest.
 * @throws AppError API_KEY_WIDER, API_KEY_LIMIT, KEY_UNKNOWN, KEY_REVOKED, KEY_EXPIRED
 */
export const createOwnKey = async (
  tx: Transaction,
  { name, scopes, expiresInDays }: InputOf<Router['create']>,
  caller: Caller,
  now: Date,
): Promise<NewOwnKey> => {
  const maker = await lockMaker(tx, caller, now);
  assertHeld(scopes, maker);
  const wanted = { userId: caller.userId, name, scopes, ...timeWithin(maker, expiresInDays * DAY_MS, now) };
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
  if (before.name === name) return ownKey(before, now);
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
 * Replaces a key, which still works for an overlap. A key that replaces itself passes its original lifetime on to its
 * successor; the successor of another key ends with the key in use at the latest.
 * @throws AppError API_KEY_NOT_FOUND, API_KEY_WIDER, API_KEY_ENDED, API_KEY_LIMIT,
 * KEY_UNKNOWN, KEY_REVOKED, KEY_EXPIRED
 */
export const rotateOwnKey = async (
  tx: Transaction,
  { id, overlapHours }: InputOf<Router['rotate']>,
  caller: Caller,
  now: Date,
): Promise<RotatedOwnKey> => {
  const maker = await lockMaker(tx, caller, now);
  const old = await lockOwnKey(tx, id, caller);
  assertHeld(old.scopes, maker);
  if (stateOf(old, now) !== 'active') throw new AppError('API_KEY_ENDED');
  const time =
    old.id === maker.id
      ? { expiresAt: endAfter(now, old.lifetimeMs), madeBy: maker.id }
      : timeWithin(maker, old.lifetimeMs, now);
  const replacement = { wanted: { ...old, ...time }, overlapMs: overlapHours * HOUR_MS };
  const made = await replaceKey(tx, old, replacement, now, actorOf(caller, now));
  const key = ownKey(await lockOwnKey(tx, made.id, caller), now);
  return { ...key, secret: made.key, previousUntil: made.previousUntil.toISOString() };
};

/** Ends a key and, if asked to, the keys that it made. @throws AppError API_KEY_NOT_FOUND */
export const revokeOwnKey = async (
  tx: Transaction,
  { id, withMade }: InputOf<Router['revoke']>,
  caller: Caller,
  now: Date,
): Promise<RevokedOwnKey> => {
  await lockKeysOf(tx, caller.userId);
  const key = await lockOwnKey(tx, id, caller);
  const made = await endKey(tx, key, { withMade, now }, actorOf(caller, now));
  return { ...ownKey({ ...key, revokedAt: key.revokedAt ?? now }, now), madeActive: withMade ? 0 : made };
};
