import { keyless, line, text } from '../../../../contract/text.ts';
import { deliveryStates, eventTypes, lengths, MAX_WEBHOOKS } from '../../../../contract/index.ts';
import { systemActor } from '../../../auth/audit/log.ts';
import { listDeliveries, redeliver, testWebhook } from '../../../event/webhook/deliveries.ts';
import {
  createWebhook,
  deleteWebhook,
  listWebhooks,
  pauseWebhook,
  resumeWebhook,
  rotateSecret,
} from '../../../event/webhook/webhooks.ts';
import { describePlace, leavePlace } from '../../../app/deployment/place.ts';
import { WebhookSecrets } from '../../../event/webhook/secrets.ts';
import { readUser } from '../../../user/service.ts';
import { lengthOf, listOf, textOf, wholeNumberUpTo } from '../shared/arguments.ts';
import {
  argument,
  commandGroup,
  databaseCommand,
  defaulted,
  flag,
  jsonLines,
  option,
  required,
} from '../shared/command.ts';
import { CommandError, PROGRAM, USAGE } from '../shared/common.ts';
import { note, print, printRows } from '../shared/output.ts';

const EXAMPLE_ID = '019a3c5e-b152-7c11-9d7f-3c8d2eaf5a31';
const MOST_LISTED = 1000;
const Reason = keyless(line(1, 200));

const webhookId = argument('<id>', 'the id of the webhook, from `webhooks list`');

const create = databaseCommand({
  summary: 'create a webhook',
  description:
    'Creates a webhook of a user and prints its secret, nothing else. It is shown only this once. The service then asks the ' +
    'endpoint for a challenge, and delivers events to it once that is answered.',
  input: {
    user: required('<id>', `the id of the user it belongs to, who has ${MAX_WEBHOOKS} at most`),
    url: required('<url>', 'the https URL that gets the events', textOf(keyless(text(1, lengths.url)))),
    types: option('<list>', 'only events of these types, comma-separated (default: all)', listOf(eventTypes)),
    record: option(
      '<id>',
      'only events of this record; of a tag, by its slug (default: all)',
      textOf(keyless(text(1, lengths.id))),
    ),
  },
  examples: [
    `--user ${EXAMPLE_ID} --url https://example.com/hook`,
    `--user ${EXAMPLE_ID} --url https://example.com/hook --types game.created,game.deleted`,
  ],
  run: async (db, { user, url, types, record }, config) => {
    const wanted = { userId: user, url, types, recordId: record };
    const by = { policy: config.webhooks, secrets: new WebhookSecrets(config) };
    const { id, secret } = await db.transaction((tx) => createWebhook(tx, wanted, by, systemActor()));
    print(secret);
    note(`Webhook ${id} waits for its endpoint to answer the challenge: ${PROGRAM} webhooks list`);
  },
});

const list = databaseCommand({
  summary: 'list webhooks',
  description: 'Lists webhooks, oldest first, with their state and the reason for it. Secrets are not shown.',
  input: { user: option('<id>', 'only those of this user (default: all)'), json: jsonLines },
  examples: ['', `--user ${EXAMPLE_ID} --json`],
  run: async (db, { user, json }, config) => {
    if (user !== undefined) await readUser(db, user);
    printRows(
      await listWebhooks(db, user, new WebhookSecrets(config)),
      {
        ID: 'id',
        USER: 'userId',
        STATE: 'state',
        TYPES: ({ types }) => types?.join(',') ?? 'all',
        URL: 'url',
        REASON: 'reason',
      },
      json,
    );
  },
});

const pause = databaseCommand({
  summary: 'pause a webhook',
  description: 'Has a webhook get nothing until it is resumed. Its events wait for as long as events are kept.',
  input: {
    id: webhookId,
    reason: defaulted('<text>', `what its owner is told, ${lengthOf(Reason)}`, 'The operator has paused it.', {
      parse: textOf(Reason),
    }),
  },
  examples: [EXAMPLE_ID],
  run: async (db, { id, reason }) => {
    await db.transaction((tx) => pauseWebhook(tx, id, reason, systemActor()));
    note(`Paused. Have it go on with: ${PROGRAM} webhooks resume ${id}`);
  },
});

const resume = databaseCommand({
  summary: 'have a webhook go on',
  description:
    'Has a webhook that is paused or disabled go on with the events that waited, once its endpoint has answered the challenge again. ' +
    'With --here, lets the service take the database for its own that was copied from another deployment: until then, ' +
    'it holds all webhooks, since their receivers would hear from both.',
  input: {
    id: argument<string | undefined>('[id]', 'the id of the webhook, from `webhooks list`'),
    here: flag('send from this deployment, within seconds and without a restart'),
  },
  examples: [EXAMPLE_ID, '--here'],
  run: async (db, { id, here }) => {
    if ((id === undefined) !== here) throw new CommandError('Name a webhook, or give --here.', USAGE);
    if (id === undefined) {
      const before = await leavePlace(db, systemActor());
      note(
        before
          ? `The database no longer belongs to the deployment at ${describePlace(before)}, but to the instances that run on it.`
          : 'The database belongs to no other deployment.',
      );
      return;
    }
    await db.transaction((tx) => resumeWebhook(tx, id, systemActor()));
    note('Resumed.');
  },
});

const remove = databaseCommand({
  summary: 'delete a webhook',
  description: 'Deletes a webhook with its deliveries. This cannot be undone.',
  input: { id: webhookId },
  examples: [EXAMPLE_ID],
  run: async (db, { id }) => {
    await db.transaction((tx) => deleteWebhook(tx, id, systemActor()));
    note('Deleted.');
  },
});

const rotate = databaseCommand({
  summary: 'give a webhook another secret',
  description:
    'Prints a new secret, nothing else. For a day, messages carry a signature by the old one as well. At most four secrets sign at once.',
  input: { id: webhookId },
  examples: [EXAMPLE_ID],
  run: async (db, { id }, config) => {
    const secrets = new WebhookSecrets(config);
    const { secret } = await db.transaction((tx) => rotateSecret(tx, id, secrets, systemActor()));
    print(secret);
    note('It is shown only this once. The old secret signs beside it for a day.');
  },
});

const test = databaseCommand({
  summary: 'send a test',
  description: 'Has a message of the type webhook.test sent, and prints the id of the delivery.',
  input: { id: webhookId },
  examples: [EXAMPLE_ID],
  run: async (db, { id }) => {
    print(await db.transaction((tx) => testWebhook(tx, id, systemActor())));
    note(`See what came of it: ${PROGRAM} webhooks deliveries ${id}`);
  },
});

const deliveries = databaseCommand({
  summary: 'list what was delivered',
  description:
    'Lists the deliveries of a webhook, latest first, with the last answer of its endpoint. Times are in UTC.',
  input: {
    id: webhookId,
    state: option('<state>', 'only those in this state (default: all)', { choices: deliveryStates }),
    limit: defaulted('<n>', 'at most so many', 100, { parse: wholeNumberUpTo(MOST_LISTED) }),
    json: jsonLines,
  },
  examples: [EXAMPLE_ID, `${EXAMPLE_ID} --state failed --json`],
  run: async (db, { id, json, ...wanted }) => {
    const { items } = await listDeliveries(db, id, wanted);
    printRows(
      items,
      {
        ID: 'id',
        TYPE: 'type',
        RECORD: 'recordId',
        STATE: 'state',
        ATTEMPTS: 'attempts',
        NEXT: 'nextAt',
        STATUS: 'status',
        ANSWER: 'answer',
      },
      json,
    );
  },
});

const redeliverCommand = databaseCommand({
  summary: 'deliver something again',
  description: 'Has a delivery made again, under the same id, whatever became of it.',
  input: { id: argument('<delivery>', 'the id of the delivery, from `webhooks deliveries`') },
  examples: [EXAMPLE_ID],
  run: async (db, { id }) => {
    await db.transaction((tx) => redeliver(tx, id, systemActor()));
    note('It is delivered within a second, if its webhook is active.');
  },
});

export const webhooksCommand = commandGroup(
  'create, list, pause and test webhooks',
  'Creates, lists, pauses, tests and deletes webhooks: endpoints that get events.',
  { create, list, pause, resume, rotate, test, deliveries, redeliver: redeliverCommand, delete: remove },
);
