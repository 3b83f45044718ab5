import { idempotencyKey, MAX_PAGE_DEPTH } from '../../../../contract/index.ts';
import { type Check, checkOf } from '../check.ts';
import { expectFailure, expectSuccess } from '../findings/expect.ts';
import { longestTexts } from '../contract/faults.ts';
import { failureMember } from '../values.ts';
import type { Operation } from '../contract/operation.ts';
import { inputMembers, withValue } from '../contract/places.ts';
import type { VerifySession } from '../session.ts';

/** Bodies that all mean "no parameters". The last one is superjson's. */
const emptyBodies = ['', '{}', '{"json":null,"meta":{"values":["undefined"],"v":1}}'];

const emptyInput = (operation: Operation, session: VerifySession): Check[] =>
  emptyBodies.map((body) =>
    checkOf(operation, 'form', `takes ${body === '' ? 'an empty body' : body}`, async () => {
      expectSuccess(operation, await session.send(operation, { body }));
    }),
  );

/** An input with these members undefined, as superjson writes it. */
const withUndefined = (input: object, names: readonly string[]): string => {
  const nulls = Object.fromEntries(names.map((name) => [name, null]));
  const values = Object.fromEntries(names.map((name) => [name, ['undefined']]));
  return JSON.stringify({ json: { ...input, ...nulls }, meta: { values, v: 1 } });
};

/** The members that an input can omit together. */
const sparedMembers = (operation: Operation): string[] => {
  const { body, example } = operation;
  const isEnough = (without: readonly string[]): boolean => {
    const given = Object.entries(example.input).filter(([name]) => !without.includes(name));
    return body.safeParse({ json: Object.fromEntries(given) }).success;
  };
  const spared: string[] = [];
  for (const { name, required, nullable } of inputMembers(operation)) {
    if (!required && !nullable && isEnough([...spared, name])) spared.push(name);
  }
  return spared;
};

const undefinedMembers = (operation: Operation, session: VerifySession): Check[] => {
  const names = sparedMembers(operation);
  const check = checkOf(operation, 'form', `takes as undefined what superjson marks: ${names.join(', ')}`, async () => {
    const body = withUndefined(await session.records.input(operation), names);
    expectSuccess(operation, await session.send(operation, { body }));
  });
  return names.length > 0 ? [check] : [];
};

/** Long texts are valid, but may not be a cursor, or the id of a record. */
const longTexts = (operation: Operation, session: VerifySession): Check[] =>
  longestTexts(operation).map(({ name, at, value }) =>
    checkOf(operation, 'form', `takes ${name}`, async () => {
      const body = withValue({ json: operation.example.input }, at, value);
      const reply = await session.send(operation, { body: JSON.stringify(body) });
      const reason = failureMember(reply.json, 'reason');
      const isRefused = reason === 'VALIDATION_FAILED' || !operation.reasons.some((one) => one === reason);
      if (isRefused) expectSuccess(operation, reply);
    }),
  );

const readByGet = (operation: Operation, session: VerifySession): Check =>
  checkOf(operation, 'form', 'answers tRPC’s GET', async () => {
    expectSuccess(operation, await session.get(operation, await session.records.input(operation)));
  });

/** A read ignores the key: rules on keys of writes do not apply to it. */
const ignoredKey = (operation: Operation, session: VerifySession): Check =>
  checkOf(operation, 'form', `ignores an ${idempotencyKey.name}`, async () => {
    const headers = { [idempotencyKey.name]: '"'.repeat(idempotencyKey.maxLength + 1) };
    await session.call(operation, await session.records.input(operation), { headers });
  });

/** Checks that an operation accepts requests at their limits. `refusals.ts` exceeds them. */
const atLimits = (operation: Operation, session: VerifySession): Check[] => {
  const { id, bodyLimit, reasons, example } = operation;
  return [
    checkOf(operation, 'form', `reads a body of ${bodyLimit} bytes`, async () => {
      const reply = await session.send(operation, { body: '{"json":{"unknownMember":1}}'.padEnd(bodyLimit) });
      expectFailure(reply, 'VALIDATION_FAILED', id);
    }),
    ...(reasons.includes('PAGE_TOO_DEEP')
      ? [
          checkOf(operation, 'output', `answers page ${MAX_PAGE_DEPTH} of 1 record each`, async () => {
            await session.call(operation, { ...example.input, page: MAX_PAGE_DEPTH, limit: 1 });
          }),
        ]
      : []),
  ];
};

/** Checks of the ways to call an operation that must succeed. */
export const successChecks = (operation: Operation, session: VerifySession): Check[] => [
  checkOf(operation, 'output', 'answers its example as the contract says', async () => {
    await session.call(operation, await session.records.input(operation));
  }),
  ...(operation.inputOptional ? emptyInput(operation, session) : []),
  ...(operation.effect === 'read'
    ? [
        ignoredKey(operation, session),
        readByGet(operation, session),
        ...undefinedMembers(operation, session),
        ...longTexts(operation, session),
      ]
    : []),
  ...atLimits(operation, session),
];
