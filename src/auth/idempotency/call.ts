import { hash } from 'node:crypto';
import { idempotencyKey, type Reason } from '../../../contract/index.ts';
import { AppError } from '../../base/errors.ts';

const sha256 = (text: string): Buffer => hash('sha256', text, 'buffer');
const USABLE = new RegExp(idempotencyKey.pattern);

/** A write with an `Idempotency-Key`, which is executed once, however often it is sent. */
export interface IdempotentCall {
  /** Identifies the call and its repetitions, 32 bytes. */
  callHash: Buffer;
  /** The user who makes it. */
  userId: string;
  /** The digest of the input, 32 bytes. */
  inputHash: () => Buffer;
  /** Encodes an output as the answer. @throws ZodError for what the contract does not allow */
  encode: (output: unknown) => string;
  /** The rows that a stored answer shows: it is repeated only while all of them exist. */
  shown?: ShownRows;
}

/** Rows of a table that stored answers show. */
export interface ShownRows {
  table: string;
  /** The ids of the rows that an answer shows. */
  idsIn: (answer: string) => readonly string[];
  /** The reason of the error that replaces an answer with missing rows. */
  gone: Reason;
}

/** Makes an idempotent call's answer unrepeatable once a row that it shows is hidden or deleted. */
export const showing = (call: IdempotentCall | undefined, shown: ShownRows): IdempotentCall | undefined =>
  call && { ...call, shown };

/** Replaces an answer that was not stored. */
export const NOT_KEPT = '';

/** The stored answer of an earlier call, thrown instead of executing the call again. */
export class IdempotentReplay extends Error {
  /** The text of the answer, or `NOT_KEPT`. */
  readonly answer: string;

  constructor(answer: string) {
    super('answered before');
    this.answer = answer;
  }
}

const isMembers = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A value as JSON with sorted members. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, member: unknown) =>
    isMembers(member) ? Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1))) : member,
  );

interface CallDescription {
  /** The header `Idempotency-Key`. */
  key: string;
  /** The API key of the call, and its user. */
  apiKeyId: string;
  userId: string;
  operation: string;
  /** The position in a batch; 0 for a single call. */
  position: number;
  /**
   * The input as it was sent, so that the defaults of another version make no difference. It is read only after it was
   * validated.
   */
  input: () => unknown;
  encode: IdempotentCall['encode'];
}

/** @throws AppError IDEMPOTENCY_KEY_INVALID */
export const idempotentCall = ({
  key,
  apiKeyId,
  userId,
  operation,
  position,
  input,
  encode,
}: CallDescription): IdempotentCall => {
  if (key.length > idempotencyKey.maxLength || !USABLE.test(key)) throw new AppError('IDEMPOTENCY_KEY_INVALID');
  let inputHash: Buffer | undefined;
  return {
    callHash: sha256(JSON.stringify([apiKeyId, operation, position, key])),
    userId,
    inputHash: () => (inputHash ??= sha256(canonical(input()))),
    encode,
  };
};
