import type { ConsumerContract, Need } from '../../../contract/consumer-contract.ts';
import type { ClientDocument, DocumentedOperation } from '../conformance/document/client-document.ts';
import { valueAt } from '../conformance/values.ts';
import { isSchema, type PlacedSchema, type RawSchema, shapeOf } from '../conformance/document/schema.ts';

// The parts that a consumer needs and no document has: a comparison cannot tell anything of them.

const partsOf = (pointer: string): string[] => pointer.split('/').slice(1);
const unescaped = (part: string): string => part.replaceAll('~1', '/').replaceAll('~0', '~');

/** The schemas at a place: several, if a value has one of several forms. */
const schemasAt = (document: object, schema: RawSchema, parts: readonly string[]): PlacedSchema[] => {
  const { choices, members, items, others } = shapeOf(document, { schema, node: '' });
  if (choices.length > 0) return choices.filter(isSchema).flatMap((one) => schemasAt(document, one, parts));
  const [part, ...rest] = parts;
  if (part === undefined) return [{ schema, node: '' }];
  const inner = [members[unescaped(part)], ...(part === '*' ? [items, others] : [others])].filter(isSchema);
  return inner.flatMap((one) => schemasAt(document, one, rest));
};

/** Whether a body has a place, such as `/json/sortBy`, or accepts a word there: `/json/sortBy=latest`. */
const has = (document: object, schema: RawSchema | undefined, pointer: string): boolean => {
  const [, place = pointer, word] = /^(.*?)(?:=(.*))?$/su.exec(pointer) ?? [];
  const found = schemasAt(document, schema ?? {}, partsOf(place));
  return found.some((one) => {
    if (word === undefined) return true;
    const { words } = shapeOf(document, one);
    return words === undefined || words.has(word);
  });
};

/** The schema of a reply, and the place of the output in it. A stream has one for each of its messages. */
const replyOf = ({ replies, written }: DocumentedOperation): [schema: RawSchema | undefined, place: string] => {
  const message = valueAt(written, ['x-streaming', 'message']) as RawSchema | undefined;
  return message ? [message, '/json'] : [replies.get('200'), '/result/data/json'];
};

/** The parts of a need that a document lacks. A message has no output: clients read all of it. */
const lackingIn = ({ document, operations, messages }: ClientDocument, need: Need): string[] => {
  const message = messages.get(need.operation);
  const operation = message ?? operations.get(need.operation);
  if (!operation) return [need.operation];
  const [reply, place] = message ? ([message.input, ''] as const) : replyOf(operation);
  const { sends, reads = [], requires = [], reasons } = need;
  return [
    ...sends.filter((pointer) => !has(document, operation.input, `/json${pointer}`)),
    ...[...reads, ...requires].filter((pointer) => !has(document, reply, `${place}${pointer}`)),
    ...reasons.filter((reason) => !operation.reasons.has(reason)),
  ].map((part) => `${need.operation} ${part}`);
};

/** The parts that a consumer needs and neither of two documents has: `game.list /titel`. */
export const unknownParts = ({ needs }: ConsumerContract, before: ClientDocument, now: ClientDocument): string[] => {
  const unknown = needs.flatMap((need) => {
    const lacking = lackingIn(before, need);
    if (lacking.length === 0) return [];
    const later = new Set(lackingIn(now, need));
    return lacking.filter((part) => later.has(part));
  });
  return [...new Set(unknown)];
};
