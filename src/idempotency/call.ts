import { hash } from 'node:crypto';
import { idempotencyKey } from '../../contract/index.ts';
import { AppError } from '../errors.ts';

const sha256 = (text: string): Buffer => hash('sha256', text, 'buffer');
const USABLE = new RegExp(idempotencyKey.pattern);

/** A write that its caller may repeat, without its being done again. */
export interface IdempotentCall {
  /** What a repetition has in common with it, 32 bytes. */
  callHash: Buffer;
  /** The API key it came with. */
  apiKeyId: string;
  /** What it is to do, 32 bytes. */
  inputHash: () => Buffer;
  /** The answer to it, as it goes out, given its output. @throws ZodError for what the contract does not allow */
  encode: (output: unknown) => string;
}

/** In place of an answer that was not kept. */
export const NOT_KEPT = '';

/** The answer to a call that was made before, thrown where it was to be made again. */
export class IdempotentReplay extends Error {
  /** As it went out then, or `NOT_KEPT`. */
  readonly answer: string;

  constructor(answer: string) {
    super('answered before');
    this.answer = answer;
  }
}

const isMembers = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A value as JSON whose members are sorted. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, member: unknown) =>
    isMembers(member) ? Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1))) : member,
  );

interface CallDescription {
  /** What its caller sent as `Idempotency-Key`. */
  key: string;
  /** The API key it came with. */
  apiKeyId: string;
  operation: string;
  /** Its place among the calls of a batch; 0 for one alone. */
  position: number;
  /**
   * As it was sent, so that the defaults of another version make no difference; not asked for before it was found to be as
   * the contract says.
   */
  input: () => unknown;
  encode: IdempotentCall['encode'];
}

/** @throws AppError IDEMPOTENCY_KEY_INVALID */
export const idempotentCall = ({
  key,
  apiKeyId,
  operation,
  position,
  input,
  encode,
}: CallDescription): IdempotentCall => {
  if (key.length > idempotencyKey.maxLength || !USABLE.test(key)) throw new AppError('IDEMPOTENCY_KEY_INVALID');
  let inputHash: Buffer | undefined;
  return {
    callHash: sha256(JSON.stringify([apiKeyId, operation, position, key])),
    apiKeyId,
    inputHash: () => (inputHash ??= sha256(canonical(input()))),
    encode,
  };
};
