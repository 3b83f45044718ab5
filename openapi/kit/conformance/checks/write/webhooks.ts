import type { Contract, OutputOf } from '../../../../../contract/index.ts';
import type { Effects } from '../../check.ts';
import type { Operation } from '../../contract/operation.ts';
import { demandOutput, demandThat, expectFailure } from '../../findings/expect.ts';
import { show } from '../../findings/finding.ts';
import { type ReceivedMessage, signaturesBy, type WebhookReceiver } from '../../receiver.ts';
import type { Content, VerifySession } from '../../session.ts';
import { eventually } from '../../until-stable.ts';

type Router = Contract['webhook'];
type Webhook = OutputOf<Router['update']>;
type Tested = OutputOf<Router['test']>;
type Rotated = OutputOf<Router['rotateSecret']> & { secret: string };
type Deliveries = OutputOf<Router['deliveries']>;

/** Far longer than a message takes to be sent. */
const PATIENCE_MS = 10_000;
/** Receivers refuse messages whose timestamp is further off. */
const TOLERANCE_MS = 5 * 60_000;

/** The webhook as the list shows it. @throws Skip */
const listed = async (operation: Operation, session: VerifySession, id: string): Promise<Webhook | undefined> => {
  const { items } = await session.prepare<OutputOf<Router['list']>>(session.partner(operation, 'list'), {});
  return items.find((one) => one.id === id);
};

/** The first message of a type to a URL. */
const firstOf = async (receiver: WebhookReceiver, url: string, type: string): Promise<ReceivedMessage | undefined> =>
  (await receiver.messagesTo(url, ({ json }) => json.type === type, 1, PATIENCE_MS))[0];

/** The checks of the messages that an endpoint gets, where the run has one. */
const receivedEffects = (test: Operation, session: VerifySession, receiver: WebhookReceiver): Effects => ({
  'has a message sent that the secret signs': async () => {
    const { id, url, secret } = await session.webhooks.active();
    const { output, reply } = await session.call<Tested>(test, { id });
    const challenge = await firstOf(receiver, url, 'webhook.challenge');
    const message = await firstOf(receiver, url, 'webhook.test');
    demandThat(message !== undefined, reply, { expected: `a message at ${url}`, came: 'none' });
    for (const one of [challenge!, message!]) {
      const offMs = Math.abs(Date.now() - 1000 * Number(one.headers['webhook-timestamp']));
      demandThat(signaturesBy(secret, one) === 1, reply, { expected: 'a signature by the secret', came: show(one) });
      demandThat(offMs < TOLERANCE_MS, reply, { expected: 'a timestamp of now', came: show(one.headers) });
    }
    const messageId = message!.headers['webhook-id'];
    demandThat(messageId === output.deliveryId, reply, { expected: output.deliveryId, came: show(messageId) });
  },
  'has both secrets sign while one takes the place of the other': async () => {
    const { id, url, secret } = await session.webhooks.active();
    const rotated = await session.prepare<Rotated>(session.partner(test, 'rotateSecret'), { id });
    const { reply } = await session.call(test, { id });
    const message = await firstOf(receiver, url, 'webhook.test');
    const made = [secret, rotated.secret].map((one) => message && signaturesBy(one, message));
    const finding = { expected: 'a signature by either', came: show(made) };
    demandThat(
      made.every((count) => count === 1),
      reply,
      finding,
    );
  },
  'sends the events of a record in order': async () => {
    const wanted = ['image.created', 'image.updated'];
    const { url, secret } = await session.webhooks.active({ types: wanted });
    const { id: recordId } = await session.publish(session.operation('image.create'));
    const changes = session.marked({ id: recordId, title: 'changed' });
    const { reply } = await session.call<Content>(session.operation('image.update'), changes);
    const isOfRecord = ({ json }: ReceivedMessage) =>
      (json.data?.['record'] as { id?: string } | undefined)?.id === recordId;
    const ofRecord = await receiver.messagesTo(url, isOfRecord, 2, PATIENCE_MS);
    const types = show(ofRecord.map(({ json }) => json.type));
    demandThat(types === show(wanted), reply, { expected: wanted.join(', then '), came: types });
    const isSigned = ofRecord.every((message) => signaturesBy(secret, message) === 1);
    demandThat(isSigned, reply, { expected: 'signatures by the secret', came: show(ofRecord) });
  },
});

export const createEffects = (create: Operation, session: VerifySession): Effects => ({
  'is listed afterwards, without its secret': async () => {
    const { output, reply } = await session.call<OutputOf<Router['create']>>(create, create.example.input);
    const { secret, ...webhook } = output;
    const found = await listed(create, session, webhook.id);
    // The challenge may have been sent meanwhile.
    const { state, reason, updatedAt } = found ?? webhook;
    demandOutput(reply, { ...webhook, state, reason, updatedAt }, found);
    const isSecret = /^whsec_[\w+/]{32,}=*$/.test(secret ?? '');
    demandThat(isSecret, reply, { expected: 'whsec_ and base64', came: show(secret) });
  },
});

export const updateEffects = (update: Operation, session: VerifySession): Effects => ({
  'changes what is sent, and nothing else': async () => {
    const { secret: _secret, ...before } = await session.webhooks.create();
    const types = ['tag.merged'];
    const { output, reply } = await session.call<Webhook>(update, { id: before.id, types, state: 'paused' });
    const { updatedAt, reason } = output;
    demandOutput(reply, { ...before, types, state: 'paused', reason, updatedAt }, output);
    demandOutput(reply, output, await listed(update, session, before.id));
  },
});

export const rotateSecretEffects = (rotate: Operation, session: VerifySession): Effects => ({
  'answers another secret': async () => {
    const { id, secret } = await session.webhooks.create();
    const { output, reply } = await session.call<Rotated>(rotate, { id });
    demandThat(output.secret !== secret, reply, { expected: 'another secret', came: 'the old one' });
  },
});

export const testEffects = (test: Operation, session: VerifySession): Effects => ({
  'makes a delivery': async () => {
    const id = await session.webhooks.idFor(test);
    const { output, reply } = await session.call<Tested>(test, { id });
    const { items } = await session.prepare<Deliveries>(session.partner(test, 'deliveries'), { id });
    const isThere = items.some((one) => one.id === output.deliveryId && one.type === 'webhook.test');
    demandThat(isThere, reply, { expected: `a delivery ${output.deliveryId}`, came: show(items) });
  },
  ...(session.receiver ? receivedEffects(test, session, session.receiver) : {}),
});

export const deliveriesEffects = (deliveries: Operation, session: VerifySession): Effects => ({
  'tells how a test was answered': async () => {
    const { id, deliveryId } = await session.webhooks.delivery();
    await eventually(
      () => session.call<Deliveries>(deliveries, { id }),
      ({ items }) => items.some((one) => one.id === deliveryId && one.attempts === 1 && one.type === 'webhook.test'),
      ({ items }) => ({ expected: `one attempt at ${deliveryId}`, came: show(items) }),
    );
  },
});

export const redeliverEffects = (redeliver: Operation, session: VerifySession): Effects => ({
  'has a delivery wait again': async () => {
    const { deliveryId } = await session.webhooks.delivery();
    const { output, reply } = await session.call<OutputOf<Router['redeliver']>>(redeliver, { deliveryId });
    demandOutput(reply, { id: deliveryId, state: 'waiting', attempts: 0 }, output);
  },
});

export const deleteEffects = (remove: Operation, session: VerifySession): Effects => ({
  'is not found afterwards': async () => {
    const { id } = await session.webhooks.create();
    const { output, reply } = await session.call<OutputOf<Router['delete']>>(remove, { id });
    demandOutput(reply, { id }, output);
    const found = await listed(remove, session, id);
    demandThat(!found, reply, { expected: 'a list without it', came: show(found) });
    expectFailure(await session.post(remove, { id }), 'WEBHOOK_NOT_FOUND', remove.id);
  },
});
