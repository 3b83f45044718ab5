import { WebhookSecrets } from '../../../src/event/webhook/secrets.ts';

const bytes = Buffer.alloc(32, 'key of tests');

/** The key of services on the databases of tests, as `WEBHOOK_SECRET_KEY` has it. */
export const WEBHOOK_KEY = bytes.toString('base64');

/** The secrets of webhooks, as those services encrypt them. */
export const webhookSecrets = new WebhookSecrets({ webhookKeys: [bytes], databaseUrl: 'sqlite::memory:' });
