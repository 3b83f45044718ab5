import type { Contract, OutputOf } from '../../../../../contract/index.ts';
import type { Effects } from '../../check.ts';
import type { Operation } from '../../contract/operation.ts';
import { demandOutput, demandThat } from '../../findings/expect.ts';
import { show } from '../../findings/finding.ts';
import { failureMember } from '../../values.ts';
import type { VerifySession } from '../../session.ts';

type Router = Contract['apiKey'];
type Key = OutputOf<Router['rename']>;
type NewKey = OutputOf<Router['create']>;
type RotatedKey = OutputOf<Router['rotate']>;
type RevokedKey = OutputOf<Router['revoke']>;
type Page = OutputOf<Router['list']>;
type Calls = OutputOf<Router['calls']>;

/** The key as the list shows it. @throws Skip */
const listed = async (session: VerifySession, id: string): Promise<Key | undefined> => {
  const { items } = await session.prepare<Page>(session.operation('apiKey.list'), {});
  return items.find((one) => one.id === id);
};

/** The part of a key that no use of it changes. */
const lasting = ({ lastUsedAt: _lastUsedAt, ...key }: Key) => key;

export const callsEffects = (calls: Operation, session: VerifySession): Effects => ({
  'lists a call that was refused': async () => {
    const refused = await session.post(calls, { unknownMember: 1 });
    const requestId = failureMember(refused.json, 'requestId');
    const { output, reply } = await session.call<Calls>(calls, { requestId });
    if (!output.isRecorded) return;
    const [found] = output.items;
    const { operation, reason, status } = found ?? {};
    const expected = { operation: calls.id, reason: 'VALIDATION_FAILED', status: 400 };
    demandOutput(reply, { isRecorded: true, items: [{ ...found, ...expected }] }, output);
    demandThat(found !== undefined, reply, { expected: show(expected), came: show({ operation, reason, status }) });
  },
});

export const createKeyEffects = (create: Operation, session: VerifySession): Effects => ({
  'is listed afterwards, without the key itself': async () => {
    const input = { ...create.example.input, name: session.title('key'), expiresInDays: 1 };
    const { output, reply } = await session.call<NewKey>(create, input);
    const { secret, ...key } = output;
    demandOutput(reply, key, await listed(session, key.id));
    demandThat(secret?.startsWith(key.prefix) === true, reply, { expected: `${key.prefix}…`, came: 'another key' });
  },
});

export const renameEffects = (rename: Operation, session: VerifySession): Effects => ({
  'changes the name, and nothing else': async () => {
    const { secret: _, ...key } = await session.keys.create();
    const name = session.title('renamed');
    const { output, reply } = await session.call<Key>(rename, { id: key.id, name });
    demandOutput(reply, { ...key, name }, output);
    demandOutput(reply, lasting(output), lasting((await listed(session, key.id)) ?? output));
  },
});

export const rotateEffects = (rotate: Operation, session: VerifySession): Effects => ({
  'makes a key like the old one, which works on': async () => {
    const { secret: old, ...before } = await session.keys.create();
    const { output, reply } = await session.call<RotatedKey>(rotate, { id: before.id, overlapHours: 1 });
    const { name, scopes } = before;
    demandOutput(reply, { ...output, name, scopes, state: 'active' }, output);
    demandThat(output.secret !== null && output.secret !== old, reply, {
      expected: 'another key',
      came: 'the old one',
    });
    const { state, expiresAt } = (await listed(session, before.id)) ?? {};
    const ends = { state: 'active', expiresAt: output.previousUntil };
    demandThat(show({ state, expiresAt }) === show(ends), reply, {
      expected: `the old key ${show(ends)}`,
      came: show({ state, expiresAt }),
    });
  },
});

export const revokeEffects = (revoke: Operation, session: VerifySession): Effects => ({
  'ends the key': async () => {
    const { id } = await session.keys.create();
    const { output, reply } = await session.call<RevokedKey>(revoke, { id });
    const { madeActive: _, ...key } = output;
    demandThat(key.state === 'revoked', reply, { expected: 'revoked', came: show(key.state) });
    demandOutput(reply, key, await listed(session, id));
  },
});
