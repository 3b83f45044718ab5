import { initContract } from '@ts-rest/core';
import { event } from './event.ts';
import { game } from './game.ts';
import { image } from './image.ts';
import { type Procedure, proceduresOf } from './procedure.ts';
import { user } from './user.ts';
import { webhook } from './webhook.ts';

// Built before `c.router`: helpers called inside it lose `strictStatusCodes`.
const routes = { game, image, user, event, webhook };

/** The whole API. The server, the document, the SDKs and the contract tests are derived from it. */
export const contract = initContract().router(routes, { strictStatusCodes: true });
export type Contract = typeof contract;

/** All procedures of the API, router by router. */
export const procedures: readonly Procedure[] = proceduresOf(contract);

export * from './errors.ts';
export { eventKinds, eventTail, type EventType, eventTypes } from './event.ts';
export { idempotencyKey, idempotencyReplayed } from './idempotency.ts';
export { excerpt, excerptOf, MAX_EXCERPT } from './excerpt.ts';
export { type Advise, issuesOf } from './issues.ts';
export * from './limits.ts';
export {
  type Access,
  type InputOf,
  type OutputOf,
  type Procedure,
  type ProcedureMetadata,
  proceduresOf,
  type Route,
  type Scope,
  scopes,
  type SentOf,
} from './procedure.ts';
export {
  type DeliveryState,
  deliveryStates,
  webhookHeaders,
  type WebhookMessage,
  webhookMessages,
  type WebhookState,
  webhookStates,
} from './webhook.ts';
export { kindOf } from './zod-messages.ts';
