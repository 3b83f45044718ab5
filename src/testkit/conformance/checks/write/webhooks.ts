import { setTimeout as sleep } from 'node:timers/promises';
import type { Contract, OutputOf } from '../../../../../contract/index.ts';
import { type Check, checkOf } from '../../check.ts';
import type { Operation } from '../../contract/operation.ts';
import { demandOutput, demandThat, expectFailure } from '../../findings/expect.ts';
import { show } from '../../findings/finding.ts';
import { type ReceivedMessage, signaturesBy, type WebhookReceiver } from '../../receiver.ts';
import type { Content, VerifySession } from '../../session.ts';

type Router = Contract['webhook'];
type Webhook = OutputOf<Router['update']>;
/** An answer that shows a secret. */
type Shown<T> = T & { secret: string };
type Deliveries = OutputOf<Router['deliveries']>;

/** Far longer than a test takes to be sent. */
const PATIENCE_MS = 10_000;
const PAUSE_MS = 250;
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

/** Checks of the messages that an endpoint gets, where the run has one. */
const receivedChecks = (test: Operation, session: VerifySession, receiver: WebhookReceiver): Check[] => [
  checkOf(test, 'effect', 'has a message sent that the secret signs', async () => {
    const { id, url, secret } = await session.webhooks.active();
    const { output, reply } = await session.call<OutputOf<Router['test']>>(test, { id });
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
  }),
  checkOf(test, 'effect', 'has both secrets sign while one takes the place of the other', async () => {
    const { id, url, secret } = await session.webhooks.active();
    const rotated = await session.prepare<Shown<OutputOf<Router['rotateSecret']>>>(
      session.partner(test, 'rotateSecret'),
      {
        id,
      },
    );
    const { reply } = await session.call(test, { id });
    const message = await firstOf(receiver, url, 'webhook.test');
    const made = [secret, rotated.secret].map((one) => message && signaturesBy(one, message));
    demandThat(
      made.every((count) => count === 1),
      reply,
      { expected: 'a signature by either', came: show(made) },
    );
  }),
  checkOf(
    test,
    'effect',
    'sends the events of a record in order',
    async () => {
      const { url, secret } = await session.webhooks.active({ types: ['image.created', 'image.updated'] });
      const [create, update] = ['image.create', 'image.update'].map((id) =>
        session.operations.find((one) => one.id === id)!,
      );
      const { id: recordId } = await session.publish(create!);
      const { reply } = await session.call<Content>(update!, session.marked({ id: recordId, title: 'changed' }));
      const isOfRecord = ({ json }: ReceivedMessage) =>
        (json.data?.['record'] as { id?: string } | undefined)?.id === recordId;
      const ofRecord = await receiver.messagesTo(url, isOfRecord, 2, PATIENCE_MS);
      const types = ofRecord.map(({ json }) => json.type);
      demandThat(show(types) === show(['image.created', 'image.updated']), reply, {
        expected: 'image.created, then image.updated',
        came: show(types),
      });
      const isSigned = ofRecord.every((message) => signaturesBy(secret, message) === 1);
      demandThat(isSigned, reply, { expected: 'signatures by the secret', came: show(ofRecord) });
    },
    ['content:write'],
  ),
];

export const createWebhookChecks = (create: Operation, session: VerifySession): Check[] => [
  checkOf(create, 'effect', 'is listed afterwards, without its secret', async () => {
    const { output, reply } = await session.call<OutputOf<Router['create']>>(create, create.example.input);
    const { secret, ...webhook } = output;
    const found = await listed(create, session, webhook.id);
    // The challenge may have been sent meanwhile.
    const { state, reason, updatedAt } = found ?? webhook;
    demandOutput(reply, { ...webhook, state, reason, updatedAt }, found);
    demandThat(/^whsec_[\w+/]{32,}=*$/.test(secret ?? ''), reply, {
      expected: 'whsec_ and base64',
      came: show(secret),
    });
  }),
];

export const updateWebhookChecks = (update: Operation, session: VerifySession): Check[] => [
  checkOf(update, 'effect', 'changes what is sent, and nothing else', async () => {
    const { secret: _secret, ...before } = await session.webhooks.create();
    const types = ['tag.merged'];
    const { output, reply } = await session.call<Webhook>(update, { id: before.id, types, state: 'paused' });
    const { updatedAt, reason } = output;
    demandOutput(reply, { ...before, types, state: 'paused', reason, updatedAt }, output);
    demandOutput(reply, output, await listed(update, session, before.id));
  }),
];

export const rotateSecretChecks = (rotate: Operation, session: VerifySession): Check[] => [
  checkOf(rotate, 'effect', 'answers another secret', async () => {
    const { id, secret } = await session.webhooks.create();
    const { output, reply } = await session.call<OutputOf<Router['rotateSecret']>>(rotate, { id });
    demandThat(output.secret !== secret, reply, { expected: 'another secret', came: 'the old one' });
  }),
];

export const testWebhookChecks = (test: Operation, session: VerifySession): Check[] => [
  checkOf(test, 'effect', 'makes a delivery', async () => {
    const id = await session.webhooks.idFor(test);
    const { output, reply } = await session.call<OutputOf<Router['test']>>(test, { id });
    const { items } = await session.prepare<Deliveries>(session.partner(test, 'deliveries'), { id });
    const isThere = items.some((one) => one.id === output.deliveryId && one.type === 'webhook.test');
    demandThat(isThere, reply, { expected: `a delivery ${output.deliveryId}`, came: show(items) });
  }),
  ...(session.receiver ? receivedChecks(test, session, session.receiver) : []),
];

export const deliveriesChecks = (deliveries: Operation, session: VerifySession): Check[] => [
  checkOf(deliveries, 'effect', 'tells how a test was answered', async () => {
    const { id, deliveryId } = await session.webhooks.delivery();
    for (const deadline = Date.now() + PATIENCE_MS; ; await sleep(PAUSE_MS)) {
      const { output, reply } = await session.call<Deliveries>(deliveries, { id });
      const test = output.items.find((one) => one.id === deliveryId);
      if (test?.attempts === 1 && test.type === 'webhook.test') return;
      const finding = { expected: `one attempt at ${deliveryId}`, came: show(output.items) };
      demandThat(Date.now() < deadline, reply, finding);
    }
  }),
];

export const redeliverChecks = (redeliver: Operation, session: VerifySession): Check[] => [
  checkOf(redeliver, 'effect', 'has a delivery wait again', async () => {
    const { deliveryId } = await session.webhooks.delivery();
    const { output, reply } = await session.call<OutputOf<Router['redeliver']>>(redeliver, { deliveryId });
    const { id, state, attempts } = output;
    demandOutput(reply, { id: deliveryId, state: 'waiting', attempts: 0 }, { id, state, attempts });
  }),
];

export const deleteWebhookChecks = (remove: Operation, session: VerifySession): Check[] => [
  checkOf(remove, 'effect', 'is not found afterwards', async () => {
    const { id } = await session.webhooks.create();
    const { output, reply } = await session.call<OutputOf<Router['delete']>>(remove, { id });
    demandOutput(reply, { id }, output);
    const found = await listed(remove, session, id);
    demandThat(!found, reply, { expected: 'a list without it', came: show(found) });
    const again = await session.send(remove, { body: JSON.stringify({ json: { id } }) });
    expectFailure(again, 'WEBHOOK_NOT_FOUND', remove.id);
  }),
];
