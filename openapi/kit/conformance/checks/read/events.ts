import type { Contract, OutputOf } from '../../../../../contract/index.ts';
import type { Effects } from '../../check.ts';
import type { Operation } from '../../contract/operation.ts';
import { demandOutput, demandThat, OUTPUT } from '../../findings/expect.ts';
import { show, Skip } from '../../findings/finding.ts';
import type { VerifySession } from '../../session.ts';
import { eventually } from '../../until-stable.ts';

type EventPage = OutputOf<Contract['event']['list']>;

const AT = `${OUTPUT}/items`;

/** The checks of the feed of events. */
export const eventEffects = (feed: Operation, session: VerifySession): Effects => {
  const read = (query: object) => session.call<EventPage>(feed, query);
  return {
    'goes on without a gap where a page ended': async () => {
      const first = await read({ limit: 10 });
      if (!first.output.hasMore) throw new Skip('there are too few events for a second page');
      const next = await read({ limit: 10, after: first.output.nextCursor });
      const positions = [...first.output.items, ...next.output.items].map(({ position }) => position);
      const gap = positions.findIndex((position, index) => index > 0 && position !== (positions[index - 1] ?? 0) + 1);
      demandThat(gap === -1, next.reply, { expected: 'positions without gaps', came: show(positions), at: AT });
    },
    'has nothing after the last event but a cursor': async () => {
      const { output, reply } = await read({ start: 'latest' });
      demandOutput(reply, { items: [], hasMore: false }, output);
    },
    'tells of a record that was published': async () => {
      const { output } = await read({ start: 'latest' });
      const [list] = session.lists;
      if (!list) throw new Skip('there is nothing to publish');
      const { id } = await session.publish(list);
      await eventually(
        () => read({ after: output.nextCursor, recordId: id }),
        ({ items }) => items.some(({ type }) => type === `${list.router}.created`),
        ({ items }) => ({ expected: `an event about ${id}`, came: show(items), at: AT }),
      );
    },
  };
};
