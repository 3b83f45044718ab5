import { initContract } from '@ts-rest/core';
import { apiKey } from './api-key.ts';
import { consumerContract } from './consumer-contract.ts';
import { event } from './event.ts';
import { game } from './game.ts';
import { image } from './image.ts';
import { isProcedure, isStream, type Operation, operationsOf, type Procedure, type Stream } from './procedure.ts';
import { user } from './user.ts';
import { webhook } from './webhook.ts';

// Built before `c.router`: helpers called inside it lose `strictStatusCodes`.
const routes = { game, image, user, event, webhook, apiKey, consumerContract };

/** The whole API. The server, the document, the SDKs and the contract tests derive from it. */
export const contract = initContract().router(routes, { strictStatusCodes: true });
export type Contract = typeof contract;

/** All operations of the API, router by router. */
export const operations: readonly Operation[] = operationsOf(contract);
/** The operations that return a stream. */
export const streams: readonly Stream[] = operations.filter(isStream);
/** The operations that return one answer: procedures. */
export const procedures: readonly Procedure[] = operations.filter(isProcedure);

export { KeyName, type KeyState, keyStates } from './api-key.ts';
export {
  type DeprecatedPart,
  type Deprecation,
  type DeprecationKeywords,
  deprecationKeywords,
  deprecationText,
  earliestSunset,
  hasPart,
  startOfDay,
  tellDeprecations,
} from './deprecation.ts';
export * from './errors.ts';
export { eventCursorHint, eventKinds, type EventType, eventTypes, TailSubscription } from './event.ts';
export { idempotencyKey, idempotencyReplayed } from './idempotency.ts';
export { type Advise, excerpt, excerptOf, issuesOf, kindOf, MAX_EXCERPT, pointerOf } from './issues.ts';
export * from './limits.ts';
export { type InputParts, inputPartsOf, markParts } from './input-parts.ts';
export { measuredIn, partsOf } from './parts.ts';
export {
  type Access,
  type AnyRoute,
  type InputOf,
  isStream,
  isStreamRoute,
  type Operation,
  operationsOf,
  type OutputOf,
  type Procedure,
  type ProcedureMetadata,
  proceduresOf,
  type Route,
  type Scope,
  scopes,
  type SentOf,
  type Stream,
  STREAM_TYPE,
  type StreamRoute,
} from './procedure.ts';
export { holdsKey, withoutKeys } from './text.ts';
export {
  type DeliveryState,
  deliveryStates,
  webhookHeaders,
  type WebhookMessage,
  webhookMessages,
  type WebhookState,
  webhookStates,
} from './webhook.ts';
