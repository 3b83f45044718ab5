import type { Contract, OutputOf } from '../../../../../contract/index.ts';
import type { Effects } from '../../check.ts';
import type { Operation } from '../../contract/operation.ts';
import { demandOutput, demandThat, expectFailure } from '../../findings/expect.ts';
import { show } from '../../findings/finding.ts';
import type { VerifySession } from '../../session.ts';

type Router = Contract['consumerContract'];
type Published = OutputOf<Router['publish']>;

/** The contract of the run as the list shows it. @throws Skip */
const listed = async (operation: Operation, session: VerifySession): Promise<Published[]> => {
  const { consumer, tag } = session.contracts.name;
  const { items } = await session.prepare<OutputOf<Router['list']>>(session.partner(operation, 'list'), {});
  return items.filter((one) => one.consumer === consumer && one.tag === tag);
};

export const publishEffects = (publish: Operation, session: VerifySession): Effects => ({
  'keeps it in place of the one before': async () => {
    const { input } = session.contracts;
    await session.prepare(publish, input);
    // Its number of needs tells it from the one before.
    const needs = [...input.contract.needs, ...input.contract.needs];
    const contract = { ...input.contract, needs };
    const { output, reply } = await session.call<Published>(publish, { ...input, contract });
    demandOutput(reply, { ...session.contracts.name, contract: contract.contract, needCount: needs.length }, output);
    demandOutput(reply, [output], await listed(publish, session));
  },
});

export const deleteEffects = (remove: Operation, session: VerifySession): Effects => ({
  'is not found afterwards': async () => {
    const name = await session.contracts.inputFor(remove);
    const { output, reply } = await session.call<OutputOf<Router['delete']>>(remove, name);
    demandOutput(reply, name, output);
    const found = await listed(remove, session);
    demandThat(found.length === 0, reply, { expected: 'a list without it', came: show(found) });
    expectFailure(await session.post(remove, name), 'CONTRACT_NOT_FOUND', remove.id);
  },
});
