import { Argument, Command, Option } from 'commander';
import { keyless, line, text } from '../../../../contract/text.ts';
import {
  type DeliveryState,
  deliveryStates,
  errorOf,
  type EventType,
  eventTypes,
  lengths,
  MAX_WEBHOOKS,
} from '../../../../contract/index.ts';
import { systemActor } from '../../../auth/audit/log.ts';
import type { Database } from '../../../db/database.ts';
import { AppError } from '../../../base/errors.ts';
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
import { CommandError, examples, PROGRAM, readSettings, withDatabase } from '../shared/common.ts';
import { note, print, printJsonLines, printTable } from '../shared/output.ts';

const EXAMPLE_ID = '019a3c5e-b152-7c11-9d7f-3c8d2eaf5a31';
const MOST_LISTED = 1000;
const Reason = keyless(line(1, 200));

const idArgument = (): Argument => new Argument('<id>', 'the id of the webhook, from `webhooks list`');

/** Reasons that a person at a command line can do something about. */
const REPORTED_REASONS: ReadonlySet<string> = new Set([
  'WEBHOOK_NOT_FOUND',
  'DELIVERY_NOT_FOUND',
  'WEBHOOK_URL_FORBIDDEN',
  'WEBHOOK_LIMIT',
  'WEBHOOK_SECRET_LIMIT',
  'WEBHOOK_NOT_ACTIVE',
  'EVENTS_OFF',
  'WEBHOOK_SECRETS_OFF',
]);
const operatorMessages: Partial<Record<string, string>> = {
  WEBHOOK_NOT_FOUND: 'There is no webhook with this id: `webhooks list` shows all.',
  DELIVERY_NOT_FOUND: 'There is no delivery with this id: `webhooks deliveries` shows those of a webhook.',
  WEBHOOK_SECRETS_OFF: 'Set WEBHOOK_SECRET_KEY, here and for the service: docs/operations.md tells how.',
};

/** Runs `work` on the database; what it cannot do is said as the command's failure. */
const withDatabaseErrors = (work: (db: Database) => Promise<void>): Promise<void> =>
  withDatabase(readSettings(), async (db) => {
    try {
      await work(db);
    } catch (error) {
      if (!(error instanceof AppError) || !REPORTED_REASONS.has(error.reason)) throw error;
      const { reason, details } = error;
      throw new CommandError(operatorMessages[reason] ?? `${errorOf(reason).message} ${details.hint ?? ''}`.trim());
    }
  });

interface CreateOptions {
  user: string;
  url: string;
  types?: EventType[];
  record?: string;
}

const create = (): Command =>
  new Command('create')
    .summary('create a webhook')
    .description(
      'Creates a webhook of a user and prints its secret, nothing else. It is shown only this once. The service then asks the ' +
        'endpoint for a challenge, and delivers events to it once that is answered.',
    )
    .requiredOption('--user <id>', `the id of the user it belongs to, who has ${MAX_WEBHOOKS} at most`)
    .requiredOption('--url <url>', 'the https URL that gets the events', textOf(keyless(text(1, lengths.url))))
    .option('--types <list>', 'only events of these types, comma-separated (default: all)', listOf(eventTypes))
    .option(
      '--record <id>',
      'only events of this record; of a tag, by its slug (default: all)',
      textOf(keyless(text(1, lengths.id))),
    )
    .addHelpText(
      'after',
      examples(
        `webhooks create --user ${EXAMPLE_ID} --url https://example.com/hook`,
        `webhooks create --user ${EXAMPLE_ID} --url https://example.com/hook --types game.created,game.deleted`,
      ),
    )
    .action(({ user, url, types, record }: CreateOptions) =>
      withDatabaseErrors(async (db) => {
        const wanted = { userId: user, url, types, recordId: record };
        const settings = readSettings();
        const by = { policy: settings.webhooks, secrets: new WebhookSecrets(settings) };
        const { id, secret } = await db.transaction((tx) => createWebhook(tx, wanted, by, systemActor()));
        print(secret);
        note(`Webhook ${id} waits for its endpoint to answer the challenge: ${PROGRAM} webhooks list`);
      }),
    );

const list = (): Command =>
  new Command('list')
    .summary('list webhooks')
    .description('Lists webhooks, oldest first, with their state and the reason for it. Secrets are not shown.')
    .option('--user <id>', 'only those of this user (default: all)')
    .option('--json', 'print one JSON object per line instead of a table')
    .addHelpText('after', examples('webhooks list', `webhooks list --user ${EXAMPLE_ID} --json`))
    .action(({ user, json }: { user?: string; json?: true }) =>
      withDatabaseErrors(async (db) => {
        if (user !== undefined) await readUser(db, user);
        const webhooks = await listWebhooks(db, user, new WebhookSecrets(readSettings()));
        if (json) printJsonLines(webhooks);
        else
          printTable(
            ['ID', 'USER', 'STATE', 'TYPES', 'URL', 'REASON'],
            webhooks.map((one) => [
              one.id,
              one.userId,
              one.state,
              one.types?.join(',') ?? 'all',
              one.url,
              one.reason ?? '',
            ]),
          );
      }),
    );

const pause = (): Command =>
  new Command('pause')
    .summary('pause a webhook')
    .description('Has a webhook get nothing until it is resumed. Its events wait for as long as events are kept.')
    .addArgument(idArgument())
    .addOption(
      new Option('--reason <text>', `what its owner is told, ${lengthOf(Reason)}`)
        .argParser(textOf(Reason))
        .default('The operator has paused it.'),
    )
    .addHelpText('after', examples(`webhooks pause ${EXAMPLE_ID}`))
    .action((id: string, { reason }: { reason: string }) =>
      withDatabaseErrors(async (db) => {
        await db.transaction((tx) => pauseWebhook(tx, id, reason, systemActor()));
        note(`Paused. Have it go on with: ${PROGRAM} webhooks resume ${id}`);
      }),
    );

const resume = (): Command =>
  new Command('resume')
    .summary('have a webhook go on')
    .description(
      'Has a webhook that is paused or disabled go on with the events that waited, once its endpoint has answered the challenge again. ' +
        'With --here, lets the service take the database for its own that was copied from another deployment: until then, ' +
        'it holds all webhooks, since their receivers would hear from both.',
    )
    .addArgument(new Argument('[id]', 'the id of the webhook, from `webhooks list`'))
    .option('--here', 'send from this deployment, within seconds and without a restart')
    .addHelpText('after', examples(`webhooks resume ${EXAMPLE_ID}`, 'webhooks resume --here'))
    .action((id: string | undefined, { here = false }: { here?: true | false }) =>
      withDatabaseErrors(async (db) => {
        if ((id === undefined) !== here) throw new CommandError('Name a webhook, or give --here.', 2);
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
      }),
    );

const remove = (): Command =>
  new Command('delete')
    .summary('delete a webhook')
    .description('Deletes a webhook with its deliveries. This cannot be undone.')
    .addArgument(idArgument())
    .addHelpText('after', examples(`webhooks delete ${EXAMPLE_ID}`))
    .action((id: string) =>
      withDatabaseErrors(async (db) => {
        await db.transaction((tx) => deleteWebhook(tx, id, systemActor()));
        note('Deleted.');
      }),
    );

const rotate = (): Command =>
  new Command('rotate')
    .summary('give a webhook another secret')
    .description(
      'Prints a new secret, nothing else. For a day, messages carry a signature by the old one as well. At most four secrets sign at once.',
    )
    .addArgument(idArgument())
    .addHelpText('after', examples(`webhooks rotate ${EXAMPLE_ID}`))
    .action((id: string) =>
      withDatabaseErrors(async (db) => {
        const secrets = new WebhookSecrets(readSettings());
        const { secret } = await db.transaction((tx) => rotateSecret(tx, id, secrets, systemActor()));
        print(secret);
        note('It is shown only this once. The old secret signs beside it for a day.');
      }),
    );

const testCommand = (): Command =>
  new Command('test')
    .summary('send a test')
    .description('Has a message of the type webhook.test sent, and prints the id of the delivery.')
    .addArgument(idArgument())
    .addHelpText('after', examples(`webhooks test ${EXAMPLE_ID}`))
    .action((id: string) =>
      withDatabaseErrors(async (db) => {
        print(await db.transaction((tx) => testWebhook(tx, id, systemActor())));
        note(`See what came of it: ${PROGRAM} webhooks deliveries ${id}`);
      }),
    );

const deliveries = (): Command =>
  new Command('deliveries')
    .summary('list what was delivered')
    .description(
      'Lists the deliveries of a webhook, latest first, with the last answer of its endpoint. Times are in UTC.',
    )
    .addArgument(idArgument())
    .addOption(new Option('--state <state>', 'only those in this state (default: all)').choices(deliveryStates))
    .option('--limit <n>', 'at most so many', wholeNumberUpTo(MOST_LISTED), 100)
    .option('--json', 'print one JSON object per line instead of a table')
    .addHelpText(
      'after',
      examples(`webhooks deliveries ${EXAMPLE_ID}`, `webhooks deliveries ${EXAMPLE_ID} --state failed --json`),
    )
    .action((id: string, { state, limit, json }: { state?: DeliveryState; limit: number; json?: true }) =>
      withDatabaseErrors(async (db) => {
        const { items: found } = await listDeliveries(db, id, { state, limit });
        if (json) printJsonLines(found);
        else
          printTable(
            ['ID', 'TYPE', 'RECORD', 'STATE', 'ATTEMPTS', 'NEXT', 'STATUS', 'ANSWER'],
            found.map((one) => [
              one.id,
              one.type,
              one.recordId ?? '',
              one.state,
              String(one.attempts),
              one.nextAt ?? '',
              String(one.status ?? ''),
              one.answer ?? '',
            ]),
          );
      }),
    );

const redeliverCommand = (): Command =>
  new Command('redeliver')
    .summary('deliver something again')
    .description('Has a delivery made again, under the same id, whatever became of it.')
    .addArgument(new Argument('<delivery>', 'the id of the delivery, from `webhooks deliveries`'))
    .addHelpText('after', examples(`webhooks redeliver ${EXAMPLE_ID}`))
    .action((id: string) =>
      withDatabaseErrors(async (db) => {
        await db.transaction((tx) => redeliver(tx, id, systemActor()));
        note('It is delivered within a second, if its webhook is active.');
      }),
    );

export const webhooksCommand = (): Command =>
  new Command('webhooks')
    .summary('create, list, pause and test webhooks')
    .description('Creates, lists, pauses, tests and deletes webhooks: endpoints that get events.')
    .addCommand(create())
    .addCommand(list())
    .addCommand(pause())
    .addCommand(resume())
    .addCommand(rotate())
    .addCommand(testCommand())
    .addCommand(deliveries())
    .addCommand(redeliverCommand())
    .addCommand(remove());
