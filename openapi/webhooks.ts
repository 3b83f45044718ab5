import { type WebhookMessage, webhookHeaders, webhookMessages } from '../contract/index.ts';
import type { SchemaComponents } from './schemas.ts';

/** Not `webhook`: generators write a file for each tag, and callers of those operations are others. */
const TAG = 'webhookMessage';
export const webhookTag = { name: TAG, description: 'What the service sends to the endpoints of webhooks.' };

/** The operation that an endpoint of a webhook offers for a message. */
const operation = ({ summary, description, body, example, answer }: WebhookMessage, components: SchemaComponents) => ({
  tags: [TAG],
  summary,
  description,
  // The endpoint is the caller's own: it verifies a signature, and takes no API key.
  security: [],
  parameters: Object.entries(webhookHeaders).map(([name, about]) => ({
    name,
    in: 'header',
    description: about,
    required: true,
    schema: { type: 'string' },
  })),
  requestBody: {
    description: 'The message, in UTF-8. Verify the signature over these very bytes.',
    required: true,
    content: { 'application/json': { schema: components.ref(body, 'output'), example } },
  },
  responses: {
    200: {
      description: answer ? 'The answer.' : 'It was taken; any other 2xx says the same.',
      ...(answer && {
        content: { 'application/json': { schema: components.ref(answer.body, 'output'), example: answer.example } },
      }),
    },
    410: { description: 'The endpoint is gone for good: its webhook is disabled.' },
  },
});

const messages = Object.entries(webhookMessages);

/** The messages to endpoints of webhooks, by names: the member `webhooks` of an OpenAPI 3.1 document. */
export const webhooksOf = (components: SchemaComponents) =>
  Object.fromEntries(
    messages.map(([name, message]) => [
      name,
      { post: { operationId: `webhook.message.${name}`, ...operation(message, components) } },
    ]),
  );

/** The address of a webhook, in the request that makes it. */
const ADDRESS = '{$request.body#/json/url}';

/** The same messages as `callbacks` of the operation that makes a webhook. Each operation needs an id of its own. */
export const callbacksOf = (components: SchemaComponents) =>
  Object.fromEntries(
    messages.map(([name, message]) => [
      name,
      { [ADDRESS]: { post: { operationId: `webhook.callback.${name}`, ...operation(message, components) } } },
    ]),
  );
