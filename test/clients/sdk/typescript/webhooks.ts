// Unwraps the messages in the file WEBHOOK_VECTORS, and prints what became of each as a line of JSON. Then it checks what else can be given.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { WebhookVerificationError, unwrapWebhook } from 'content-gateway-client';
import type { Event, WebhookFault, WebhookMessage } from 'content-gateway-client';

interface Vector {
  name: string;
  body: string;
  headers: Record<string, string>;
  secrets?: string[];
  toleranceSeconds?: number;
}

const {
  secret,
  now: time,
  vectors,
} = JSON.parse(readFileSync(process.env['WEBHOOK_VECTORS'] ?? '', 'utf8')) as {
  secret: string;
  now: string;
  vectors: Vector[];
};
const now = Date.parse(time);

const outcomeOf = async ({
  body,
  headers,
  secrets,
  toleranceSeconds,
}: Vector): Promise<{ ok: WebhookMessage } | { error: WebhookFault }> => {
  try {
    const toleranceMs = toleranceSeconds === undefined ? undefined : 1000 * toleranceSeconds;
    return { ok: await unwrapWebhook(body, headers, secrets ?? secret, { now, toleranceMs }) };
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) throw error;
    const shown = [inspect(error), JSON.stringify(error), String(error)].join('\n');
    for (const hidden of [secret, headers['webhook-signature']]) assert(!hidden || !shown.includes(hidden), shown);
    return { error: error.fault };
  }
};

for (const vector of vectors) console.log(JSON.stringify({ name: vector.name, ...(await outcomeOf(vector)) }));

const [vector] = vectors;
assert(vector);
const { body, headers } = vector;
const bytes = new TextEncoder().encode(body);
const other = `whsec_${btoa('another secret')}`;
const { event } = await unwrapWebhook(body, headers, secret, { now });
assert(event);
const type: Event['type'] = event.type;
assert.equal(type, 'game.created');

for (const message of [
  await unwrapWebhook(bytes, headers, secret, { now }),
  await unwrapWebhook(bytes.buffer, headers, secret, { now }),
  await unwrapWebhook(Buffer.from(body), new Headers(headers), [other, secret], { now }),
  await unwrapWebhook(body, new Map(Object.entries(headers)), [secret], { now }),
  await unwrapWebhook(body, { ...headers, cookie: ['a', 'b'], via: undefined }, secret, { now }),
]) {
  assert.deepEqual(message.event, event);
}

// Without a clock of its own, the machine's counts.
await assert.rejects(unwrapWebhook(body, headers, secret), {
  fault: 'old',
  message: 'The message is more than 300 s old.',
});
for (const toleranceMs of [-1, NaN]) {
  await assert.rejects(unwrapWebhook(body, headers, secret, { now, toleranceMs }), TypeError);
}

for (const wrong of [
  '',
  'whsec_',
  secret.slice('whsec_'.length),
  `${secret}=`,
  'whsec_a',
  'whsec_星',
  [],
  [secret, 'a'],
]) {
  await assert.rejects(unwrapWebhook(body, headers, wrong, { now }), (error) => {
    assert(error instanceof TypeError);
    return !error.message.includes(secret.slice(6, 20));
  });
}
// @ts-expect-error -- a body that was parsed has lost what was signed.
await assert.rejects(unwrapWebhook(JSON.parse(body) as object, headers, secret, { now }), TypeError);
