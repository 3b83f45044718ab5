import { setTimeout as sleep } from 'node:timers/promises';
import type { Contract, OutputOf } from '../../../../../contract/index.ts';
import { type Check, checkOf } from '../../check.ts';
import type { Operation } from '../../contract/operation.ts';
import { demandOutput, demandThat } from '../../findings/expect.ts';
import { show, Skip } from '../../findings/finding.ts';
import type { VerifySession } from '../../session.ts';

type EventPage = OutputOf<Contract['event']['list']>;

/** Far longer than a change takes to be in the feed. */
const PATIENCE_MS = 10_000;
const PAUSE_MS = 250;
const AT = '/result/data/json/items';

/** Checks of what the feed of events is good for. */
export const eventChecks = (list: Operation, session: VerifySession): Check[] => [
  checkOf(list, 'effect', 'goes on without a gap where a page ended', async () => {
    const first = await session.call<EventPage>(list, { limit: 10 });
    if (!first.output.hasMore) throw new Skip('there are too few events for a second page');
    const next = await session.call<EventPage>(list, { limit: 10, after: first.output.nextCursor });
    const positions = [...first.output.items, ...next.output.items].map(({ position }) => position);
    const gap = positions.findIndex((position, index) => index > 0 && position !== (positions[index - 1] ?? 0) + 1);
    demandThat(gap === -1, next.reply, { expected: 'positions without gaps', came: show(positions), at: AT });
  }),
  checkOf(list, 'effect', 'has nothing after the last event but a cursor', async () => {
    const { output, reply } = await session.call<EventPage>(list, { start: 'latest' });
    demandOutput(reply, { items: [], nextCursor: output.nextCursor, hasMore: false }, output);
  }),
  checkOf(list, 'effect', 'tells of a record that was published', async () => {
    const { output } = await session.call<EventPage>(list, { start: 'latest' });
    const publisher = session.lists.find((one) => session.can(session.sibling(one, 'create')?.access ?? 'public'));
    if (!publisher) throw new Skip('it needs a key that may publish');
    const { id } = await session.publish(publisher);
    for (const deadline = Date.now() + PATIENCE_MS; ;) {
      const input = { after: output.nextCursor, recordId: id };
      const { output: page, reply } = await session.call<EventPage>(list, input);
      if (page.items.some(({ type }) => type === `${publisher.router}.created`)) return;
      demandThat(Date.now() < deadline, reply, { expected: `an event about ${id}`, came: show(page.items), at: AT });
      await sleep(PAUSE_MS);
    }
  }),
];
