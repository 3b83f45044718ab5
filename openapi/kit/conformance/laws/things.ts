import type { Contract, OutputOf } from '../../../../contract/index.ts';
import type { Effects } from '../check.ts';
import type { Operation } from '../contract/operation.ts';
import { demandThat, expectFailure } from '../findings/expect.ts';
import { show } from '../findings/finding.ts';
import { type ReceivedMessage, signaturesBy, type WebhookReceiver } from '../receiver.ts';
import type { VerifySession } from '../session.ts';
import { eventually } from '../until-stable.ts';

// Webhooks, keys and consumer contracts: a user has a list of each, and can change and end them.

type Thing = Readonly<Record<string, unknown>>;
type Webhooks = Contract['webhook'];
type Tested = OutputOf<Webhooks['test']>;
type Secret = { secret: string | null };
type Key = OutputOf<Contract['apiKey']['create']>;

/** Far longer than sending a message takes. */
const PATIENCE_MS = 10_000;
/** Receivers refuse messages with a timestamp further from their time. */
const TOLERANCE_MS = 5 * 60_000;

const WEBHOOK_SECRET = /^whsec_[\w+/]{32,}=*$/;

/** The members of a thing that its use, or the challenge to its endpoint, may change. */
const CHANGING = ['state', 'reason', 'updatedAt', 'lastUsedAt'];
/** The other members. */
const lasting = (thing: Thing): Thing =>
  Object.fromEntries(Object.entries(thing).filter(([name]) => !CHANGING.includes(name)));

/** The listed things with the name of another one. @throws Skip */
const listed = async (session: VerifySession, operation: Operation, thing: Thing): Promise<Thing[]> => {
  const { items } = await session.prepare<{ items: Thing[] }>(session.partner(operation, 'list'), {});
  return items.filter((one) => ['id', 'consumer', 'tag'].every((name) => one[name] === thing[name]));
};

/** A new thing is listed, without its secret. */
export const lists = (create: Operation, session: VerifySession): Effects => ({
  'is listed afterwards, without a secret': async () => {
    const answer = await session.call<Thing>(create, await session.records.input(create));
    const { secret, ...thing } = answer.output;
    const [one, ...others] = await listed(session, create, thing);
    answer.demandHas(lasting(thing), one);
    answer.demand(one?.['secret'] === undefined && others.length === 0, 'one, without a secret', [one, ...others]);
    if (secret === undefined) return;
    const { prefix } = thing;
    const form = typeof prefix === 'string' ? new RegExp(`^${prefix}\\w+$`) : WEBHOOK_SECRET;
    answer.demand(form.test(secret as string), `a secret of the form ${form}`, 'another one');
  },
});

/** A new contract replaces the previous one. */
export const replaces = (publish: Operation, session: VerifySession): Effects => ({
  'keeps it in place of the one before': async () => {
    const { contractInput: input, contractName } = session.things;
    await session.prepare(publish, input);
    // The number of needs distinguishes it from the previous one.
    const contract = { ...input.contract, needs: [...input.contract.needs, ...input.contract.needs] };
    const answer = await session.call<Thing>(publish, { ...input, contract });
    answer.demandOutput({ ...contractName, contract: contract.contract, needCount: contract.needs.length });
    answer.demandHas([answer.output], await listed(session, publish, contractName));
  },
});

/** A change changes the sent members, and nothing else. */
export const changes = (change: Operation, session: VerifySession): Effects => ({
  'changes what is sent, and nothing else': async () => {
    const input = await session.records.inputOfOwn(change);
    const { [change.idMember ?? 'id']: id, ...sent } = input;
    const [before = {}] = await listed(session, change, { id });
    const answer = await session.call<Thing>(change, input);
    answer.demandOutput({ ...lasting(before), ...sent });
    const [after = {}] = await listed(session, change, { id });
    answer.demandHas(lasting(answer.output), after);
  },
});

/** A removed thing no longer exists. */
export const removes = (remove: Operation, session: VerifySession): Effects => ({
  'is not found afterwards': async () => {
    const name = await session.records.inputOfOwn(remove);
    const answer = await session.call(remove, name);
    answer.demandOutput(name);
    const left = await listed(session, remove, name);
    answer.demand(left.length === 0, 'a list without it', left);
    if (remove.notFound) expectFailure(await session.post(remove, name), remove.notFound, remove.id);
  },
});

/** A revoked key is listed as revoked. */
export const revokes = (revoke: Operation, session: VerifySession): Effects => ({
  'ends the key': async () => {
    const answer = await session.call<Thing>(revoke, await session.records.inputOfOwn(revoke));
    const { madeActive: _, ...key } = answer.output;
    answer.demand(key['state'] === 'revoked', 'revoked', key['state']);
    answer.demandHas([key], await listed(session, revoke, key));
  },
});

/** A new secret replaces the old one. */
export const renews = (rotate: Operation, session: VerifySession): Effects => ({
  'answers another secret': async () => {
    const { id, secret } = await session.things.webhook();
    const answer = await session.call<Secret>(rotate, { id });
    answer.demand(answer.output.secret !== secret, 'another secret', 'the old one');
  },
});

/** A new key with the same properties replaces the old one. */
export const rotates = (rotate: Operation, session: VerifySession): Effects => ({
  'makes a key like the old one, which works on': async () => {
    const { secret: old, id, name, scopes } = await session.things.key();
    const answer = await session.call<Key & { previousUntil: string }>(rotate, { id, overlapHours: 1 });
    const { secret, previousUntil } = answer.output;
    answer.demandOutput({ name, scopes, state: 'active' });
    answer.demand(secret !== null && secret !== old, 'another key', 'the old one');
    const [{ state, expiresAt } = {}] = await listed(session, rotate, { id });
    const ends = { state: 'active', expiresAt: previousUntil };
    answer.demand(show({ state, expiresAt }) === show(ends), `the old key ${show(ends)}`, { state, expiresAt });
  },
});

/** The first message of a type to a URL. */
const firstOf = async (receiver: WebhookReceiver, url: string, type: string): Promise<ReceivedMessage | undefined> =>
  (await receiver.messagesTo(url, ({ json }) => json.type === type, 1, PATIENCE_MS))[0];

/** The laws of the messages to the endpoint of a run. */
const messageLaws = (test: Operation, session: VerifySession, receiver: WebhookReceiver): Effects => ({
  'has a message sent that the secret signs': async () => {
    const { id, url, secret } = await session.things.activeWebhook();
    const answer = await session.call<Tested>(test, { id });
    const challenge = await firstOf(receiver, url, 'webhook.challenge');
    const message = await firstOf(receiver, url, 'webhook.test');
    answer.demand(message !== undefined, `a message at ${url}`, 'none');
    for (const one of [challenge!, message!]) {
      const offMs = Math.abs(Date.now() - 1000 * Number(one.headers['webhook-timestamp']));
      answer.demand(signaturesBy(secret, one) === 1, 'a signature by the secret', one);
      answer.demand(offMs < TOLERANCE_MS, 'a timestamp of now', one.headers);
    }
    const messageId = message!.headers['webhook-id'];
    answer.demand(messageId === answer.output.deliveryId, answer.output.deliveryId, messageId);
  },
  'has both secrets sign while one takes the place of the other': async () => {
    const { id, url, secret } = await session.things.activeWebhook();
    const renewed = await session.prepare<Secret>(session.partner(test, 'rotateSecret'), { id });
    const answer = await session.call(test, { id });
    const message = await firstOf(receiver, url, 'webhook.test');
    const made = [secret, String(renewed.secret)].map((one) => message && signaturesBy(one, message));
    const isByBoth = made.every((count) => count === 1);
    answer.demand(isByBoth, 'a signature by either', made);
  },
  'sends the events of a record in order': async () => {
    const wanted = ['image.created', 'image.updated'];
    const { url, secret } = await session.things.activeWebhook({ types: wanted });
    const { id: recordId } = await session.records.publish(session.operation('image.create'));
    const changed = session.records.marked({ id: recordId, title: 'changed' });
    const { reply } = await session.call(session.operation('image.update'), changed);
    const isOfRecord = ({ json }: ReceivedMessage) =>
      (json.data?.['record'] as { id?: string } | undefined)?.id === recordId;
    const messages = await receiver.messagesTo(url, isOfRecord, 2, PATIENCE_MS);
    const types = show(messages.map(({ json }) => json.type));
    demandThat(types === show(wanted), reply, { expected: wanted.join(', then '), came: types });
    const isSigned = messages.every((message) => signaturesBy(secret, message) === 1);
    demandThat(isSigned, reply, { expected: 'signatures by the secret', came: show(messages) });
  },
});

/** A test makes a delivery to the webhook. */
export const tests = (test: Operation, session: VerifySession): Effects => {
  const { receiver } = session.things;
  return {
    'makes a delivery': async () => {
      const { id } = await session.things.activeWebhook();
      const answer = await session.call<Tested>(test, { id });
      const deliveries = session.partner(test, 'deliveries');
      const { items } = await session.prepare<OutputOf<Webhooks['deliveries']>>(deliveries, { id });
      const isFound = items.some((one) => one.id === answer.output.deliveryId && one.type === 'webhook.test');
      answer.demand(isFound, `a delivery ${answer.output.deliveryId}`, items);
    },
    ...(receiver ? messageLaws(test, session, receiver) : {}),
  };
};

/** The deliveries of a webhook show the answers of the endpoint. */
export const delivers = (deliveries: Operation, session: VerifySession): Effects => ({
  'tells how a test was answered': async () => {
    const { id, deliveryId } = await session.things.delivery();
    await eventually(
      () => session.call<OutputOf<Webhooks['deliveries']>>(deliveries, { id }),
      ({ items }) => items.some((one) => one.id === deliveryId && one.attempts === 1 && one.type === 'webhook.test'),
      ({ items }) => [`one attempt at ${deliveryId}`, items],
    );
  },
});

/** The service repeats a delivery on request. */
export const redelivers = (redeliver: Operation, session: VerifySession): Effects => ({
  'has a delivery wait again': async () => {
    const { deliveryId } = await session.things.delivery();
    const answer = await session.call(redeliver, { deliveryId });
    answer.demandOutput({ id: deliveryId, state: 'waiting', attempts: 0 });
  },
});
