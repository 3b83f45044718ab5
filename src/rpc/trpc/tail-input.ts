/** The input of a tail: `{"json": {…}}` in a body or in `?input=`, or plain parameters of the URL. */
import type { Request } from 'express';
import type { z } from 'zod';
import { contract, TailSubscription } from '../../../contract/index.ts';
import { AppError } from '../../base/errors.ts';
import { type Payload, textPayload, valuePayload } from '../payload.ts';
import { queryText } from './get.ts';

export type TailInput = z.output<typeof TailSubscription>;

/** The envelope of a tail by GET, which may also say where the client was. */
export const Subscription = contract.event.tail.body.extend({ json: TailSubscription });

/** A parameter that tRPC's clients add by themselves for what they call connection parameters, of which there are none here. */
const OF_TRPC = 'connectionParams';
const NUMBER = /^-?\d{1,9}$/;

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
export const queriedPayload = (request: Request): Payload => {
  const { input, [OF_TRPC]: _, ...plain } = request.query;
  const names = Object.keys(plain);
  if (input === undefined) {
    const members = names.map((name) => [name, memberOf(name, plain[name])] as const);
    return valuePayload({ json: Object.fromEntries(members) });
  }
  if (names.length > 0) {
    const message = `stands beside \`input\`: put all parameters into \`input\`, or all of them into the URL`;
    const issues = names.map((name) => ({ path: `/${name}`, code: 'unrecognized_keys', message }));
    throw new AppError('VALIDATION_FAILED', { issues });
  }
  const payload = textPayload(queryText(request));
  // tRPC's clients send no member for no input.
  return isEmpty(payload.envelope) ? valuePayload({ json: {} }) : payload;
};
