import { docsOf, type ErrorResponse, errorOf, errors, procedures, type Reason } from '../../../contract/index.ts';
import type { ScriptedMessage, ScriptedReply, Vector } from './vector.ts';

const isReason = (reason: string): reason is Reason => Object.hasOwn(errors, reason);

const BAD_REQUEST = -32600;

/** The failure in a reply: the contract's text for its reason, with the members that the vector gives. */
const failureOf = (
  { status, failure }: { status: number; failure: NonNullable<ScriptedReply['failure']> },
  path: string,
  requestId: string,
): ErrorResponse => {
  const { reason, message, ...members } = failure;
  const known = isReason(reason) ? errorOf(reason) : undefined;
  return {
    error: {
      json: {
        message: message ?? known?.message ?? 'Something that this contract does not know.',
        code: known?.number ?? BAD_REQUEST,
        data: {
          code: known?.code ?? 'BAD_REQUEST',
          httpStatus: status,
          path,
          reason,
          requestId,
          ...(isReason(reason) && { hint: errorOf(reason).hint, docs: docsOf(reason) }),
          ...members,
        },
      },
    },
  };
};

/** A message of a stream, as sent. */
export const messageOf = (message: ScriptedMessage, path: string, requestId: string): string => {
  const { item, event, id, failure, retry, text } = message;
  if (text !== undefined) return text;
  const json = failure ? failureInMessage(failure, path, requestId) : item === undefined ? undefined : eventOf(item);
  const lines = [
    ...(retry === undefined ? [] : [`retry: ${retry}`]),
    ...(event === undefined && !failure ? [] : [`event: ${failure ? 'serialized-error' : event}`]),
    `data: ${json === undefined ? '' : JSON.stringify({ json })}`,
    ...(id === undefined ? [] : [`id: ${id}`]),
  ];
  return `${lines.join('\n')}\n\n`;
};

const failureInMessage = (
  { httpStatus, ...failure }: NonNullable<ScriptedMessage['failure']>,
  path: string,
  requestId: string,
): object => failureOf({ status: httpStatus, failure }, path, requestId).error.json;

const eventOf = (id: string): object => {
  const example = procedures.find((procedure) => procedure.id === 'event.list')?.example.output as { items: object[] };
  return { ...example.items[0], id };
};

/** The example of an operation. For a list, `items` may name records by their ids alone. */
const outputOf = ({ output, without }: ScriptedReply, operation: string): object => {
  const example = procedures.find(({ id }) => id === operation)?.example.output as { items?: object[] } | undefined;
  const record = example?.items?.[0];
  const items = record && (output?.['items'] as unknown[] | undefined)?.map((id) => ({ ...record, id }));
  const whole = Object.entries({ ...example, ...output, ...(items && { items }) });
  return Object.fromEntries(whole.filter(([name]) => !without.includes(name)));
};

/** The failure in a stream, in the envelope of a reply; empty without one. */
export const failureInStream = (
  { stream = [] }: ScriptedReply,
  { call: { operation } }: Vector,
  requestId: string,
): string => {
  const failure = stream.find((message) => message.failure)?.failure;
  return failure ? JSON.stringify({ error: { json: failureInMessage(failure, operation, requestId) } }) : '';
};

/** The body of a reply to a vector's call, in the envelopes of the contract unless it is a text. */
export const bodyOf = (reply: ScriptedReply, { call: { operation } }: Vector, requestId: string): string => {
  const { text, failure, repeat, stream } = reply;
  if (stream) return stream.map((message) => messageOf(message, operation, requestId)).join('');
  if (text !== undefined) return text.repeat(repeat);
  if (failure !== undefined) return JSON.stringify(failureOf({ status: reply.status, failure }, operation, requestId));
  return JSON.stringify({ result: { data: { json: outputOf(reply, operation) } } });
};
