export type { Attempt, AttemptHook } from './attempt-hook.js';
export { ContentGateway } from './gateway.js';
export {
  ApiConnectionError,
  ApiError,
  ApiTimeoutError,
  AuthenticationError,
  BadRequestError,
  ConflictError,
  GatewayError,
  NotFoundError,
  PayloadTooLargeError,
  PermissionDeniedError,
  RateLimitError,
  ServerError,
  UnexpectedReplyError,
  UnprocessableError,
} from './errors.js';
export { UsageError } from './usage-error.js';
export type { FailedCall, FailedReply, Failure } from './errors.js';
export type * from './generated/procedures.js';
export type * from './generated/types.js';
export type {
  CallOptions,
  Clock,
  CommonOptions,
  Fetch,
  FetchReply,
  FetchRequest,
  GatewayOptions,
  ListAllOptions,
  WriteOptions,
} from './options.js';
export type { Page } from './page.js';
export type { GatewayPromise } from './promise.js';
export type { GatewayReply, RateLimit } from './wire/reply.js';
// {{#events}}
export type { Feed, FollowOptions, TailOptions } from './feed.js';
export { WebhookVerificationError, unwrapWebhook } from './webhook.js';
export type { WebhookFault, WebhookHeaders, WebhookMessage, WebhookOptions } from './webhook.js';
// {{/events}}
export { CONTRACT_VERSION, VERSION } from './version.js';
