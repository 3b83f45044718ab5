import { z } from 'zod';
import { HttpUrl, Id, Timestamp, Count, wholeNumber } from './common.ts';
import { Event, eventTypes, EventType } from './event.ts';
import { exampleDelivery, exampleEvent, exampleWebhook } from './examples.ts';
import { MAX_DELIVERIES, MAX_SIGNING_SECRETS, MAX_WEBHOOKS, ROTATION_HOURS } from './limits.ts';
import { noInput, procedure, router } from './procedure.ts';
import { keyless } from './text.ts';

export const webhookStates = ['pending', 'active', 'paused', 'disabled'] as const;
export type WebhookState = (typeof webhookStates)[number];

export const deliveryStates = ['waiting', 'delivered', 'failed'] as const;
export type DeliveryState = (typeof deliveryStates)[number];

const State = z.enum(webhookStates).meta({
  id: 'WebhookState',
  description:
    '`pending`: its endpoint has not answered the challenge yet. `active`: it gets events. `paused`: by its owner or the operator, or since nothing could be delivered for days. `disabled`: its endpoint answered 410, or never answered the challenge.',
});

const DeliveryStateName = z.enum(deliveryStates).meta({
  id: 'DeliveryState',
  description: '`waiting`: it is still to be made, perhaps again. `failed`: it is not tried any more.',
});

const webhookMembers = {
  id: z.string().describe('The id of the webhook'),
  url: z.string().describe('The URL that gets the events'),
  types: z.array(EventType).nullable().describe('Only events of these types; null for all'),
  recordId: z.string().nullable().describe('Only events of this record; of a tag, its slug. Null for all'),
  state: State,
  reason: z.string().nullable().describe('Why it is in this state, in words, where something went wrong'),
  failingSince: Timestamp.nullable().describe('Since when every delivery has failed; null if the last one succeeded'),
  createdAt: Timestamp.describe('When it was made'),
  updatedAt: Timestamp.describe('When it was last changed, or changed its state'),
};

const Webhook = z
  .object(webhookMembers)
  .meta({ id: 'Webhook', description: 'A URL that gets events. Its secret is not shown.' });

const Secret = z
  .string()
  .nullable()
  .describe(
    'The secret that signs its messages, `whsec_` and base64. It is shown only this once: store it. Null in the answer to a repetition',
  );

/** The advice for a caller who has lost the answer that held the secret. */
const REPETITION =
  'A repetition with the same `Idempotency-Key` is answered without the secret: where the first answer was lost, call `webhook.rotateSecret` with another key.';

const WebhookWithSecret = z
  .object({ ...webhookMembers, secret: Secret })
  .meta({ id: 'WebhookWithSecret', description: 'A webhook that was just made, with its secret.' });

const Delivery = z
  .object({
    id: z.string().describe('The id of the delivery: the header `webhook-id` of each attempt'),
    type: z.string().describe('The type of the event; `webhook.test` for a test'),
    recordId: z.string().nullable().describe('The id of the record that the event tells of; null for a test'),
    state: DeliveryStateName,
    attempts: Count.describe('How often it was tried'),
    nextAt: Timestamp.nullable().describe('When it is tried next; null when it is over'),
    answeredAt: Timestamp.nullable().describe('When it was tried last'),
    status: z.int().nullable().describe('The HTTP status of the last answer; null without one'),
    answer: z.string().nullable().describe('The first characters of the last answer, or why there was none'),
  })
  .meta({ id: 'WebhookDelivery', description: 'An event that is, or was, to be delivered to a webhook.' });

const filters = {
  types: z.array(EventType).min(1).max(eventTypes.length),
  recordId: keyless(Id),
};
const Target = keyless(HttpUrl);

const ofWebhook = { id: Id.describe('The id of the webhook') };
const { id: exampleId } = exampleWebhook;
const exampleSecret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=';

/** A message of a type, with these data. */
const message = <T extends z.ZodType, D extends z.ZodType>(id: string, description: string, type: T, data: D) =>
  z
    .object({ type, timestamp: Timestamp.describe('When it came about'), data })
    .meta({ id, description: `${description}, as an endpoint gets it by POST.` });

const challenge = 'n7mGqL2b0yq1u6cI5v3W8w';
const { at: timestamp } = exampleEvent;

/** A message to an endpoint, by the Standard Webhooks specification. */
export interface WebhookMessage {
  summary: string;
  description: string;
  body: z.ZodType;
  example: unknown;
  /** The body that the endpoint must return, if any. */
  answer?: { body: z.ZodType; example: unknown };
}

/** All messages to endpoints, by their names in the document. */
export const webhookMessages: Record<string, WebhookMessage> = {
  event: {
    summary: 'An event',
    description:
      'Tells of a change. Answer with any 2xx within ten seconds. Until then it is sent again, ten times in about 75 hours, and later events of the same record wait.',
    body: message('WebhookEventMessage', 'An event', EventType, Event),
    example: { type: exampleEvent.type, timestamp, data: exampleEvent },
  },
  challenge: {
    summary: 'The challenge',
    description:
      'Asks whether an endpoint wants events, before it gets any. Answer 200 with the text in `data.challenge`, after you have verified the signature.',
    body: message(
      'WebhookChallengeMessage',
      'A challenge',
      z.literal('webhook.challenge'),
      z
        .object({ challenge: z.string().describe('The text to answer') })
        .meta({ id: 'WebhookChallengeMessageData', description: 'The text to answer.' }),
    ),
    example: { type: 'webhook.challenge', timestamp, data: { challenge } },
    answer: {
      body: z
        .object({ challenge: z.string().describe('The text that came in `data.challenge`') })
        .meta({ id: 'WebhookChallengeAnswer', description: 'The answer to a challenge.' }),
      example: { challenge },
    },
  },
  test: {
    summary: 'A test',
    description: 'Is sent when you call `webhook.test`. Answer with any 2xx.',
    body: message(
      'WebhookTestMessage',
      'A test',
      z.literal('webhook.test'),
      z.object({}).meta({ id: 'WebhookTestMessageData', description: 'Nothing.' }),
    ),
    example: { type: 'webhook.test', timestamp, data: {} },
  },
};

/** The headers of all messages. */
export const webhookHeaders = {
  'webhook-id': 'The id of the delivery, the same at each attempt: skip one that you have seen.',
  'webhook-timestamp': 'When it was sent, in seconds since 1970: refuse a message that is five minutes off.',
  'webhook-signature':
    'Signatures with a space in between, each `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body` by the secret.',
} as const;

export const webhook = router('webhook', {
  create: procedure({
    summary: 'Create a webhook',
    description: `Has events sent to a URL from now on, by POST, signed as the [Standard Webhooks](https://www.standardwebhooks.com) specification says. The webhook is \`pending\` until its endpoint has answered a challenge: a message of the type \`webhook.challenge\`, to be answered with \`{"challenge": …}\`, the text in its \`data.challenge\`. It comes at once; a receiver that does not know the secret yet may refuse it, and gets it again 5 seconds later, then after 5 minutes, ten times in all. ${REPETITION} A user has ${MAX_WEBHOOKS} webhooks at most.`,
    access: 'webhook:write',
    effect: 'write',
    input: z.strictObject({
      url: Target.describe('An https URL at a public address, on a port that the operator allows: 443 or 8443'),
      types: filters.types.optional().describe('Only events of these types; all by default'),
      recordId: filters.recordId.optional().describe('Only events of this record; of a tag, by its slug'),
    }),
    output: WebhookWithSecret,
    laws: ['lists'],
    errors: ['WEBHOOK_URL_FORBIDDEN', 'WEBHOOK_LIMIT', 'EVENTS_OFF', 'WEBHOOK_SECRETS_OFF'],
    example: {
      input: { url: exampleWebhook.url, types: exampleWebhook.types },
      output: { ...exampleWebhook, state: 'pending', secret: exampleSecret },
    },
  }),

  list: procedure({
    summary: 'List webhooks',
    description: 'Lists the webhooks of the user of the API key, the oldest first, and how they fare.',
    access: 'webhook:write',
    effect: 'read',
    input: noInput(),
    output: z.object({ items: z.array(Webhook).describe('All webhooks of the user') }),
    errors: [],
    example: { input: {}, output: { items: [exampleWebhook] } },
  }),

  update: procedure({
    summary: 'Change a webhook',
    description:
      'Changes the members that you send. A webhook with another URL is `pending` until that endpoint has answered the challenge. `"state": "paused"` has its events wait for as long as events are kept; `"state": "active"` has it go on with them, once its endpoint has answered the challenge again.',
    access: 'webhook:write',
    effect: 'write',
    input: z.strictObject({
      ...ofWebhook,
      url: Target.optional().describe('The URL that is to get the events'),
      types: filters.types.nullable().optional().describe('Only events of these types; null for all'),
      recordId: filters.recordId.nullable().optional().describe('Only events of this record; null for all'),
      state: z
        .enum(['active', 'paused'])
        .meta({ id: 'WantedWebhookState', description: 'Whether a webhook is to get events.' })
        .optional()
        .describe('Pauses it, or has it go on'),
    }),
    output: Webhook,
    laws: ['changes'],
    errors: ['WEBHOOK_NOT_FOUND', 'WEBHOOK_URL_FORBIDDEN'],
    example: { input: { id: exampleId, types: null }, output: { ...exampleWebhook, types: null } },
  }),

  test: procedure({
    summary: 'Test a webhook',
    description:
      'Has a message of the type `webhook.test` sent to a webhook that is active. `webhook.deliveries` shows how it was answered.',
    access: 'webhook:write',
    effect: 'write',
    input: z.strictObject(ofWebhook),
    output: z.object({ deliveryId: z.string().describe('The id of the delivery') }),
    laws: ['tests'],
    errors: ['WEBHOOK_NOT_FOUND', 'WEBHOOK_NOT_ACTIVE'],
    example: { input: { id: exampleId }, output: { deliveryId: exampleDelivery.id } },
  }),

  rotateSecret: procedure({
    summary: 'Replace the secret of a webhook',
    description: `Gives a webhook another secret. For ${ROTATION_HOURS} hours its messages carry a signature by the old one as well, so that no message is refused meanwhile. So does each secret that you replace within that time: at most ${MAX_SIGNING_SECRETS} sign at once. ${REPETITION}`,
    access: 'webhook:write',
    effect: 'write',
    input: z.strictObject(ofWebhook),
    output: z.object({
      secret: Secret,
      previousUntil: Timestamp.describe('Until when the secret that was replaced signs, too'),
    }),
    laws: ['renews'],
    errors: ['WEBHOOK_NOT_FOUND', 'WEBHOOK_SECRETS_OFF', 'WEBHOOK_SECRET_LIMIT'],
    example: {
      input: { id: exampleId },
      output: { secret: exampleSecret, previousUntil: '2025-11-02T09:30:00.000Z' },
    },
  }),

  deliveries: procedure({
    summary: 'List deliveries',
    description:
      'Lists what was, or is to be, delivered to a webhook, the latest first, with the last answers. Deliveries that are over are kept as long as events.',
    access: 'webhook:write',
    effect: 'read',
    input: z.strictObject({
      ...ofWebhook,
      state: DeliveryStateName.optional().describe('Only deliveries in this state'),
      before: Id.optional().describe('Only deliveries before this one: the id of the last one that you got'),
      limit: wholeNumber(1, MAX_DELIVERIES).default(MAX_DELIVERIES).describe('The most deliveries to return'),
    }),
    output: z.object({
      items: z.array(Delivery).describe('The deliveries, the latest first'),
      hasMore: z.boolean().describe('Whether there are more'),
    }),
    laws: ['delivers'],
    errors: ['WEBHOOK_NOT_FOUND'],
    example: {
      input: { id: exampleId, limit: MAX_DELIVERIES },
      output: { items: [exampleDelivery], hasMore: false },
    },
  }),

  redeliver: procedure({
    summary: 'Deliver again',
    description:
      'Has a delivery made again, under the same id, whatever became of it. If its webhook is paused, it waits until that goes on.',
    access: 'webhook:write',
    effect: 'write',
    input: z.strictObject({ deliveryId: Id.describe('The id of the delivery') }),
    output: Delivery,
    laws: ['redelivers'],
    errors: ['DELIVERY_NOT_FOUND'],
    example: {
      input: { deliveryId: exampleDelivery.id },
      output: { ...exampleDelivery, state: 'waiting', attempts: 0, nextAt: '2025-11-01T09:31:00.000Z' },
    },
  }),

  delete: procedure({
    summary: 'Delete a webhook',
    description: 'Deletes a webhook and its deliveries. Nothing more is sent, but for what is under way.',
    access: 'webhook:write',
    effect: 'write',
    input: z.strictObject(ofWebhook),
    output: z.object({ id: z.string().describe('The id that the webhook had') }),
    laws: ['removes'],
    errors: ['WEBHOOK_NOT_FOUND'],
    example: { input: { id: exampleId }, output: { id: exampleId } },
  }),
});
