/** The input of a tail: `{"json": {…}}` in a body or in `?input=`, or plain parameters of the URL. */
import type { Request } from 'express';
import type { z } from 'zod';
import { contract, streams, type Stream, TailSubscription } from '../../../contract/index.ts';
import { AppError } from '../../base/errors.ts';
import { invalidInput } from '../../base/suggestions/input.ts';
import { inputOf, textPayload } from '../payload.ts';
import { queryText } from './get.ts';

export type TailInput = z.output<typeof TailSubscription>;

const operation = streams.find(({ id }) => id === contract.event.tail.metadata.id) as Stream;
const Subscription = contract.event.tail.body.extend({ json: TailSubscription });

/** A parameter that tRPC's clients add by themselves for what they call connection parameters, of which there are none here. */
const OF_TRPC = 'connectionParams';
const NUMBER = /^-?\d{1,9}$/;

/** Called with the input as it was sent, before it is checked. */
type OnSent = (sent: unknown) => void;

/** @throws AppError VALIDATION_FAILED */
const parsed = <T>(schema: z.ZodType<{ json: T }>, envelope: unknown, onSent: OnSent): T => {
  onSent(inputOf(envelope));
  const { data, error } = schema.safeParse(envelope);
  if (error) throw invalidInput(operation, envelope, error.issues);
  return data.json;
};

/** The input in a body. @throws AppError MALFORMED_JSON, VALIDATION_FAILED */
export const postedInput = (text: string, onSent: OnSent): TailInput =>
  parsed(contract.event.tail.body, textPayload(text).parse(), onSent);

/** The kind of the values of a member, by its schema. */
const kindOf = ({ def }: z.ZodType): string => ('innerType' in def ? kindOf(def.innerType as z.ZodType) : def.type);

/** A parameter as the member of an input; what cannot be one is left to the schema, which refuses it. */
const memberOf = (name: string, value: unknown): unknown => {
  const members: Record<string, z.ZodType> = TailSubscription.shape;
  const kind = Object.hasOwn(members, name) ? kindOf(members[name] as z.ZodType) : undefined;
  if (kind === 'array') return [value].flat().flatMap((text) => String(text).split(','));
  return kind === 'number' && typeof value === 'string' && NUMBER.test(value) ? Number(value) : value;
};

const isEmpty = (envelope: unknown): boolean =>
  typeof envelope === 'object' && envelope !== null && Object.keys(envelope).every((name) => name === 'meta');

/** The input in a URL, in either form. @throws AppError MALFORMED_JSON, VALIDATION_FAILED */
export const queriedInput = (request: Request, onSent: OnSent): TailInput => {
  const { input, [OF_TRPC]: _, ...plain } = request.query;
  const names = Object.keys(plain);
  if (input === undefined) {
    const members = names.map((name) => [name, memberOf(name, plain[name])] as const);
    return parsed(Subscription, { json: Object.fromEntries(members) }, onSent);
  }
  if (names.length > 0) {
    const message = `stands beside \`input\`: put all parameters into \`input\`, or all of them into the URL`;
    const issues = names.map((name) => ({ path: `/${name}`, code: 'unrecognized_keys', message }));
    throw new AppError('VALIDATION_FAILED', { issues });
  }
  const envelope = textPayload(queryText(request)).parse();
  // tRPC's clients send no member for no input.
  return parsed(Subscription, isEmpty(envelope) ? { json: {} } : envelope, onSent);
};
