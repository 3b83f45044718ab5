import { V7Generator } from 'uuidv7';
import { exampleContract, exampleDelivery, exampleGame, exampleUser, exampleWebhook } from '../../contract/examples.ts';
import { scopes, type Scope } from '../../contract/index.ts';
import { publish } from '../content/write/publisher.ts';
import type { Transaction } from '../db/connection.ts';
import type { Database } from '../db/database.ts';
import { updateRow } from '../db/sql/write-rows.ts';
import { firstIdBytes, timeOfId } from '../db/values.ts';
import { gameKind } from '../game/kind.ts';
import { gameDraft } from '../game/service.ts';
import { readFeed } from '../event/outbox/feed.ts';
import { typeCodes } from '../event/outbox/record.ts';
import { imageKind } from '../image/kind.ts';
import { imagePostDraft } from '../image/service.ts';
import type { ApiKeyRow } from '../auth/entity.ts';
import { keyOfWord } from '../auth/format.ts';
import { putContract } from '../consumers/contracts/store.ts';
import { insertKey } from '../auth/service.ts';
import { Random } from './seed/random.ts';
import { seed } from './seed/service.ts';
import { insertUser } from '../user/service.ts';
import { insertWebhook } from '../event/webhook/webhooks.ts';
import { newSecret, type WebhookSecrets } from '../event/webhook/secrets.ts';
import { deliveriesIn } from '../event/webhook/entity.ts';
import { changeState } from '../event/webhook/sender/store.ts';
import { insertDemo } from './records.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The second user of the sandbox, for tests with two users. */
export const sandboxGuest = { id: '019a3c5e-b150-7e85-9f52-9d4fce61a205', nickname: 'guest', avatar: null };
export const guestGame = { id: '019a3c5e-c260-7f96-8063-ae50df72b306', title: 'Paper Lanterns', gameType: 'PZL' };
export const guestImagePost = {
  id: '019a3c5e-d370-70a7-9174-bf61e083c407',
  title: 'Harbour at dawn',
  images: ['https://images.example.com/harbour/1.webp'],
};

/** A publicly known key. */
interface SandboxKey {
  key: string;
  name: string;
  scopes: readonly Scope[];
  user: { id: string; nickname: string };
  /** Why the service refuses it, if it does. */
  ended?: 'expired' | 'revoked';
}

const knownKey = (
  word: string,
  name: string,
  granted: readonly Scope[] = scopes,
  more: Pick<Partial<SandboxKey>, 'user' | 'ended'> = {},
): SandboxKey => ({ key: keyOfWord(word), name, scopes: granted, user: exampleUser, ...more });

/**
 * The keys of the sandbox. `demo` has one for all scopes, one for each, some for two, two that ended; `guest` has two.
 */
export const sandboxKeys: readonly SandboxKey[] = [
  knownKey('sandboxAll', 'all scopes'),
  knownKey('sandboxContentWrite', 'content:write', ['content:write']),
  knownKey('sandboxUserRead', 'user:read', ['user:read']),
  knownKey('sandboxUserWrite', 'user:write', ['user:write']),
  knownKey('sandboxContentWriteUserRead', 'content:write, user:read', ['content:write', 'user:read']),
  knownKey('sandboxContentWriteUserWrite', 'content:write, user:write', ['content:write', 'user:write']),
  knownKey('sandboxUserReadUserWrite', 'user:read, user:write', ['user:read', 'user:write']),
  knownKey('sandboxExpired', 'expired', scopes, { ended: 'expired' }),
  knownKey('sandboxRevoked', 'revoked', scopes, { ended: 'revoked' }),
  knownKey('sandboxGuestAll', 'guest, all scopes', scopes, { user: sandboxGuest }),
  knownKey('sandboxGuestUserRead', 'guest, user:read', ['user:read'], { user: sandboxGuest }),
  knownKey('sandboxWebhookWrite', 'webhook:write', ['webhook:write']),
  knownKey('sandboxKeyWrite', 'key:write', ['key:write']),
  knownKey('sandboxContractWrite', 'contract:write', ['contract:write']),
];

/** The contents of the sandbox besides the records of `demo` and `guest`. `until` dates the ids. */
const content = { users: 50, games: 500, images: 100, randomSeed: 1, until: new Date('2026-01-01T00:00:00.000Z') };

/** Whether an id is one of the initial data, the same in each sandbox. */
export const isInitialId = (id: string): boolean => id[14] === '7' && timeOfId(id) < content.until.getTime();

/** The age of its oldest records. */
const SPAN_MS = 2 * 365 * DAY_MS;

/**
 * The time that a sandbox of `reference` stores for an event at a time before `content.until`: as long before
 * `reference`, but newer times are closer to it, so that a day holds records and each longer range holds more.
 */
const datedBefore =
  (reference: Date) =>
  (time: Date): Date => {
    const age = content.until.getTime() - time.getTime();
    return new Date(Math.floor(reference.getTime() - (age < SPAN_MS ? (age * age) / SPAN_MS : age)));
  };

/** The lowest id of the records since an instant in a sandbox of `reference`: the inverse of `datedBefore`. */
export const firstIdSince =
  (reference: Date) =>
  (since: Date): Buffer => {
    const age = reference.getTime() - since.getTime();
    // The ids of callers' own records hold their dates.
    if (age < 0) return firstIdBytes(since);
    const nominal = age < SPAN_MS ? Math.sqrt(age * SPAN_MS) : age;
    return firstIdBytes(new Date(Math.ceil(content.until.getTime() - nominal)));
  };

/** The instant that the times of a sandbox filled now are relative to: the start of the current hour. */
export const referenceOf = (now: Date): Date => new Date(Math.floor(now.getTime() / HOUR_MS) * HOUR_MS);

const insertGuest = async (tx: Transaction, published: Date): Promise<void> => {
  const { id: userId } = sandboxGuest;
  await insertUser(tx, sandboxGuest, published);
  await publish(tx, gameKind, userId, [{ ...gameDraft({ isFree: true, ...guestGame }), id: guestGame.id }], published);
  const { id, ...input } = guestImagePost;
  await publish(tx, imageKind, userId, [{ ...imagePostDraft(input), id }], published);
};

const insertKeys = async (tx: Transaction, reference: Date): Promise<void> => {
  const ids = new V7Generator(new Random('keys of the sandbox'));
  const made = new Date(reference.getTime() - 30 * DAY_MS);
  const ended = new Date(reference.getTime() - DAY_MS);
  for (const { key, name, scopes: granted, user, ended: end } of sandboxKeys) {
    const id = ids.generateOrResetWithTs(content.until.getTime()).toString();
    const expiresAt = end === 'expired' ? ended : null;
    await insertKey(tx, { name, scopes: granted, userId: user.id, expiresAt }, made, key, id);
    if (end === 'revoked') await updateRow<ApiKeyRow>(tx, 'ApiKey', id, { revokedAt: ended });
  }
};

/**
 * Fills the empty database of a sandbox: each time with the same users, records and keys, under the same ids. Only
 * their times are relative to `reference`.
 */
export const fillSandbox = async (db: Database, reference: Date): Promise<void> => {
  const dated = datedBefore(reference);
  const published = dated(new Date(exampleGame.createdAt));
  await db.transaction(async (tx) => {
    await insertDemo(tx, published);
    await insertGuest(tx, published);
    await insertKeys(tx, reference);
  });
  await seed(db, { ...content, dated }, () => undefined);
};

/**
 * Inserts the records of the contract's examples that a demo lacks: the webhook, whose endpoint is a scripted one, with
 * a delivery; and the consumer contract.
 */
export const insertSandboxExamples = async (db: Database, reference: Date, secrets: WebhookSecrets): Promise<void> => {
  const published = datedBefore(reference)(new Date(exampleWebhook.createdAt));
  await db.transaction(async (tx) => {
    const { lastPosition: position, lastId: positionId } = await readFeed(tx);
    const { id, url, types, recordId, reason } = exampleWebhook;
    await insertWebhook(tx, {
      id,
      userId: exampleUser.id,
      url,
      secret: secrets.encrypt(newSecret(), id),
      types,
      recordId,
      position,
      positionId,
      now: published,
    });
    await changeState(tx, id, exampleWebhook.state, reason, published);
    await deliveriesIn(tx).insert({
      id: exampleDelivery.id,
      webhookId: id,
      position,
      // The event itself may be missing: a delivery has all of it.
      eventId: exampleDelivery.id,
      type: typeCodes[exampleDelivery.type],
      recordId: exampleDelivery.recordId,
      actorId: exampleUser.id,
      happenedAt: published,
      state: exampleDelivery.state,
      attempts: exampleDelivery.attempts,
      nextAt: published,
      answeredAt: published,
      status: exampleDelivery.status,
      answer: exampleDelivery.answer,
    });
    const { tag, publishedAt, ...contract } = exampleContract;
    const at = datedBefore(reference)(new Date(publishedAt));
    await putContract(tx, { userId: exampleUser.id, tag, contract }, at);
  });
};
