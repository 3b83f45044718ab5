import { idempotencyKey, idempotencyReplayed } from '../../../../contract/index.ts';
import { type Check, checkOf } from '../check.ts';
import type { Reply } from '../exchange.ts';
import { demand, demandThat, expectFailure, expectSuccess } from '../findings/expect.ts';
import { differences, show } from '../findings/finding.ts';
import { valueAt } from '../values.ts';
import type { Operation } from '../contract/operation.ts';
import { inputMembers } from '../contract/places.ts';
import type { CurrentUser } from '../records.ts';
import type { VerifySession } from '../session.ts';

type RepeatedInput = Readonly<Record<string, unknown>>;

const REPLAYED = idempotencyReplayed.name;

/** Sends an input with an `Idempotency-Key`, one for each `use` of an operation in a run. */
const sendOnce = (operation: Operation, session: VerifySession, use: string, json: unknown): Promise<Reply> =>
  session.post(operation, json, {
    headers: { [idempotencyKey.name]: `verify ${session.random.run} ${operation.id} ${use}` },
  });

/** Another input of the same kind: without one member or, if it needs all, with another value in one. */
const otherInput = async (
  operation: Operation,
  session: VerifySession,
  input: RepeatedInput,
): Promise<RepeatedInput> => {
  const { idMember } = operation;
  const spared = inputMembers(operation).find(({ name, required }) => !required && name in input);
  if (spared) return Object.fromEntries(Object.entries(input).filter(([name]) => name !== spared.name));
  if (idMember !== undefined) return { ...input, [idMember]: (await session.records.inputOfOwn(operation))[idMember] };
  const [[name, value] = ['', undefined]] = Object.entries(input);
  if (Array.isArray(value)) return session.records.batch(operation, ['another']);
  const { sample } = inputMembers(operation).find((member) => member.name === name) ?? {};
  return { ...input, [name]: value === sample ? null : sample };
};

/** @throws Mismatch unless a reply is a success that says whether it is a repetition */
const demandReplay = (operation: Operation, reply: Reply, isReplay: boolean): void => {
  expectSuccess(operation, reply);
  const value = reply.headers.get(REPLAYED) ?? undefined;
  const expected = isReplay ? `the header ${REPLAYED} "true"` : `no header ${REPLAYED}`;
  demandThat(value === (isReplay ? 'true' : undefined), reply, { expected, came: show(value) });
};

/** The service returns a secret only once. */
const withoutSecret = (text: string): string => text.replace(/"secret":"[^"]*"/, '"secret":null');

/** @throws Mismatch unless two replies have the same text, apart from a secret */
const demandSame = (first: Reply, second: Reply): void => {
  const [expected, came] = [first.text, second.text].map(withoutSecret);
  demand(second, differences(JSON.parse(expected!), JSON.parse(came!), ''));
  const finding = { expected: `the first answer to the letter: ${show(expected)}`, came: show(came) };
  demandThat(expected === came, second, finding);
};

const times = <T>(n: number, make: () => Promise<T>): Promise<T[]> => Promise.all(Array.from({ length: n }, make));
const AT_ONCE = 5;
const CONFLICT = 409;

/** Checks that the service executes a repeated write once; none for a read. */
export const repetitionChecks = (operation: Operation, session: VerifySession): Check[] => {
  if (operation.effect === 'read') return [];
  const check = (name: string, run: () => Promise<void>): Check => checkOf(operation, 'repetition', name, run);
  // A thing cannot be deleted twice.
  const anew = check(`is done anew without an ${idempotencyKey.name}, and with another one`, async () => {
    const input = await session.records.inputOfOwn(operation);
    demandReplay(operation, await sendOnce(operation, session, 'one', input), false);
    demandReplay(operation, await sendOnce(operation, session, 'two', input), false);
    demandReplay(operation, await session.post(operation, input), false);
  });
  return [
    check('is done once however often it comes, and answered the same', async () => {
      const input = await session.records.inputOfOwn(operation);
      const first = await sendOnce(operation, session, 'again', input);
      demandReplay(operation, first, false);
      // The order of members has no meaning.
      const reordered = Object.fromEntries(Object.entries(input).toReversed());
      for (const sent of [input, reordered]) {
        const again = await sendOnce(operation, session, 'again', sent);
        demandReplay(operation, again, true);
        demandSame(first, again);
        demandThat(again.text === withoutSecret(again.text), again, {
          expected: 'no secret again',
          came: show(again.text),
        });
      }
    }),
    check(`is done once when it comes ${AT_ONCE} times at once`, async () => {
      const input = await session.records.inputOfOwn(operation);
      const replies = await times(AT_ONCE, () => sendOnce(operation, session, 'at once', input));
      const last = await sendOnce(operation, session, 'at once', input);
      demandReplay(operation, last, true);
      for (const reply of replies) {
        if (reply.status === CONFLICT) expectFailure(reply, 'IDEMPOTENCY_IN_PROGRESS', operation.id);
        else {
          expectSuccess(operation, reply);
          demandSame(last, reply);
        }
      }
    }),
    ...(operation.name === 'delete' ? [] : [anew]),
    check(`leaves the ${idempotencyKey.name} of a refused request unused`, async () => {
      const refused = await sendOnce(operation, session, 'refused', { unknownMember: 1 });
      expectFailure(refused, 'VALIDATION_FAILED', operation.id);
      demandReplay(
        operation,
        await sendOnce(operation, session, 'refused', await session.records.inputOfOwn(operation)),
        false,
      );
    }),
  ];
};

/** Restores the caller's profile, in case a deployment changed it instead of refusing the change. */
const restore = async (operation: Operation, session: VerifySession, me: CurrentUser, reply: Reply): Promise<void> => {
  if (reply.status !== 200 || operation.router !== 'user') return;
  const members = inputMembers(operation).map(({ name }) => [name, me[name as keyof CurrentUser]] as const);
  await session.prepare(operation, Object.fromEntries(members));
};

/** Checks that an `Idempotency-Key` stands for one input. */
export const mismatchChecks = (operation: Operation, session: VerifySession): Check[] => [
  checkOf(operation, 'IDEMPOTENCY_MISMATCH', `refuses another input with the same ${idempotencyKey.name}`, async () => {
    const input = await session.records.inputOfOwn(operation);
    const first = await sendOnce(operation, session, 'mismatch', input);
    demandReplay(operation, first, false);
    const reply = await sendOnce(operation, session, 'mismatch', await otherInput(operation, session, input));
    await restore(operation, session, valueAt(first.json, ['result', 'data', 'json']) as CurrentUser, reply);
    expectFailure(reply, 'IDEMPOTENCY_MISMATCH', operation.id);
    const again = await sendOnce(operation, session, 'mismatch', input);
    demandReplay(operation, again, true);
    demandSame(first, again);
  }),
];
