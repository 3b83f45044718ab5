import { AppError } from '../errors.ts';
import { type IdempotentCall, idempotentCall } from '../idempotency/call.ts';
import type { Caller } from '../auth/verifier.ts';
import type { Procedure } from './procedures.ts';

interface IdempotencyRequest {
  idempotencyKey: string | undefined;
  position: number;
  input: () => unknown;
}

/** How a repetition of a call is known, if its caller asks for that. @throws AppError IDEMPOTENCY_KEY_INVALID */
export const idempotentCallOf = (
  { id, route }: Procedure,
  caller: Caller | undefined,
  { idempotencyKey: key, position, input }: IdempotencyRequest,
): IdempotentCall | undefined => {
  if (key === undefined || !caller) return undefined;
  // As ts-rest does it with what a handler returns.
  const encode = (output: unknown): string =>
    JSON.stringify(route.responses[200].parse({ result: { data: { json: output } } }));
  return idempotentCall({ key, apiKeyId: caller.key.id, operation: id, position, input, encode });
};

/** Why a write failed, with advice on repeating it where nobody knows whether it was done. */
export const withRetryHint = (error: unknown, call: IdempotentCall | undefined): unknown => {
  if (!(error instanceof AppError) || error.reason !== 'OUTCOME_UNKNOWN') return error;
  if (call) return new AppError(error.reason, { ...error.details, shouldRetry: true });
  return new AppError(error.reason, {
    ...error.details,
    shouldRetry: false,
    hint: 'Look whether it is stored before you repeat this request, which may store it twice. A request with an `Idempotency-Key` may always be repeated.',
  });
};
