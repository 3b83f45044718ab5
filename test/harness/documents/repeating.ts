import { randomUUID } from 'node:crypto';
import { exampleContract } from '../../../contract/examples.ts';
import { type ProcedureMetadata, procedures } from '../../../contract/index.ts';
import { storedIdToBytes } from '../../../src/db/values.ts';
import type { Input, ProcedureId, Reply, TestApp, TestUser } from '../app/app.ts';

/** An operation that writes. */
export type Write = ProcedureMetadata & { id: ProcedureId };

/** All operations that write. */
export const writes = procedures.filter(({ effect }) => effect === 'write') as Write[];

/** The header of a request that may be repeated. */
export const repeating = (value: string) => ({ 'Idempotency-Key': value });

/** Whether a reply was given before. */
export const isReplay = ({ headers }: Pick<Reply, 'headers'>): boolean => headers['idempotency-replayed'] === 'true';

/** What repetitions are answered, after a first answer: the same, without a secret, which is shown once. */
export const repetitionOf = (text: string): string => text.replace(/"secret":"(?:whsec|cgk)_[^"]+"/, '"secret":null');

/** The member of an operation's input that names a record, if one does. */
export const idMember = ({ example }: Pick<Write, 'example'>): string | undefined =>
  Object.keys(example.input as object).find((name) => name === 'id' || name.endsWith('Id'));

const isOfWebhooks = ({ id }: Write): boolean => id.startsWith('webhook.');
const WEBHOOK: Input<'webhook.create'> = { url: 'https://hooks.example.com/content' };
/** How many webhooks of one user tests leave to themselves, since there is a limit. */
const FEW_WEBHOOKS = 8;

/** Deletes the oldest webhooks of a user who has more than a few. */
const keepFewWebhooks = async (app: TestApp, { key }: TestUser): Promise<void> => {
  const { items } = await app.call('webhook.list', {}, key);
  for (const { id } of items.slice(FEW_WEBHOOKS)) await app.call('webhook.delete', { id }, key);
};

/** A new webhook that counts as one whose endpoint has answered the challenge. */
const anActiveWebhook = async (app: TestApp, owner: TestUser): Promise<string> => {
  const { id } = await app.call('webhook.create', WEBHOOK, owner.key);
  await app.context.db.transaction((tx) =>
    tx.execute("UPDATE webhooks SET state = 'active' WHERE id = ?", [storedIdToBytes(id)]),
  );
  return id;
};

const aDelivery = async (app: TestApp, owner: TestUser): Promise<string> => {
  const id = await anActiveWebhook(app, owner);
  return (await app.call('webhook.test', { id }, owner.key)).deliveryId;
};

const isOfKeys = ({ id }: Write): boolean => id.startsWith('apiKey.');
const aKey = async (app: TestApp, { key }: TestUser): Promise<string> =>
  (await app.call('apiKey.create', { name: 'made', scopes: ['user:read'] }, key)).id;

const { tag, publishedAt: _, ...contract } = exampleContract;

/** An input that concerns a consumer contract, of a consumer of its own. */
const ofContract = async (app: TestApp, { id }: Write, { key }: TestUser): Promise<Record<string, unknown>> => {
  const consumer = `shop-${randomUUID()}`;
  const input = { tag, contract: { ...contract, consumer } };
  if (id === 'consumerContract.publish') return input;
  await app.call('consumerContract.publish', input, key);
  return { consumer, tag };
};

/** Whether an operation concerns a record that only its author, or owner, may change. */
export const isForOwners = (operation: Write): boolean =>
  /^(?:game|image)\.(?:update|delete)$|^consumerContract\.delete$/.test(operation.id) ||
  ((isOfWebhooks(operation) || isOfKeys(operation)) && idMember(operation) !== undefined);

/** An input for an operation, which concerns a new record of the author's, where it concerns one. */
export const anInput = async (app: TestApp, operation: Write, author: TestUser): Promise<Record<string, unknown>> => {
  const input = operation.example.input as Record<string, unknown>;
  const member = idMember(operation);
  if (isOfWebhooks(operation)) await keepFewWebhooks(app, author);
  if (operation.id.startsWith('consumerContract.')) return ofContract(app, operation, author);
  if (member === undefined) return input;
  if (member === 'deliveryId') return { [member]: await aDelivery(app, author) };
  if (isOfWebhooks(operation)) return { ...input, [member]: await anActiveWebhook(app, author) };
  if (isOfKeys(operation)) return { ...input, [member]: await aKey(app, author) };
  const record = operation.id.startsWith('game.') ? await app.aGame({}, author) : await app.anImagePost({}, author);
  return { ...input, [member]: record.id };
};
