import { type Contract, MAX_RELATED, type OutputOf } from '../../../../contract/index.ts';
import type { Effects } from '../check.ts';
import type { Operation } from '../contract/operation.ts';
import { demand } from '../findings/expect.ts';
import { type Finding, show, Skip } from '../findings/finding.ts';
import { failureMember } from '../values.ts';
import { idsOf, type ListedPage } from '../records.ts';
import type { VerifySession } from '../session.ts';
import { demandCounted, eventually, steadily } from '../until-stable.ts';

// Counts, related records, events and failed calls: each is a law of one operation.

type TypeStats = OutputOf<Contract['game']['getTypeStats']>;
type EventPage = OutputOf<Contract['event']['list']>;
type FailedCalls = OutputOf<Contract['apiKey']['calls']>;

const FEW_RELATED = 3;
/** The number of types whose records are also counted by the list. */
const COUNTED_TYPES = 5;

/** The counts of types add up, and equal those of the list. */
export const counts = (typeStats: Operation, session: VerifySession): Effects => {
  const read = () => session.call<TypeStats>(typeStats, {});
  const totalOf = async (query: object): Promise<number> =>
    (await session.prepare<ListedPage>(session.partner(typeStats, 'list'), { limit: 1, page: 1, ...query })).total;
  return {
    'counts every game once, the most frequent type first': async () => {
      const answer = await read();
      const { items, otherCount, total } = answer.output;
      const numbers = items.map(({ count }) => count);
      const types = items.map(({ gameType }) => gameType);
      answer.demandIs(
        numbers.reduce((sum, count) => sum + count, otherCount),
        total,
        '/total',
      );
      answer.demandIs([...new Set(types)], types, '/items');
      answer.demandIs(
        numbers.toSorted((a, b) => b - a),
        numbers,
        '/items',
      );
    },
    'counts types as the list does': () =>
      steadily(
        () => session.prepare(typeStats, {}),
        async () => {
          const answer = await read();
          answer.demandIs(await totalOf({}), answer.output.total, '/total');
          for (const [index, { gameType, count }] of answer.output.items.slice(0, COUNTED_TYPES).entries()) {
            if (gameType !== null) answer.demandIs(await totalOf({ gameType }), count, `/items/${index}/count`);
          }
        },
      ),
    'counts a new game at once': () =>
      demandCounted(
        read,
        ({ total }) => total,
        () => session.records.publish(typeStats, { title: 'counted by type' }),
        '',
        '/total',
      ),
  };
};

/** A record is related to others, each once. */
export const relates = (getRelated: Operation, session: VerifySession): Effects => {
  const demandOthers = async (limit: number): Promise<void> => {
    const { id } = await session.records.record(getRelated);
    const all = await session.prepare<ListedPage>(session.partner(getRelated, 'list'), { limit: 1, page: 1 });
    const answer = await session.call<Pick<ListedPage, 'items'>>(getRelated, { gameId: id, limit });
    const ids = idsOf(answer.output.items);
    const wrong = ids.filter((one, index) => one === id || ids.indexOf(one) < index);
    const repeated = wrong.map((one): Finding => ({ expected: 'each other game once', came: show(one) }));
    demand(answer.reply, repeated);
    const wanted = Math.min(limit, all.total - 1);
    answer.demand(ids.length >= wanted && ids.length <= limit, `${wanted} games`, ids.length, '/items');
  };
  return Object.fromEntries(
    [FEW_RELATED, MAX_RELATED].map((limit) => [
      `names ${limit} others, each once, or all there are`,
      () => demandOthers(limit),
    ]),
  );
};

/** The feed of events has no gap, and announces changes. */
export const follows = (feed: Operation, session: VerifySession): Effects => {
  const read = (query: object) => session.call<EventPage>(feed, query);
  return {
    'goes on without a gap where a page ended': async () => {
      const first = (await read({ limit: 10 })).output;
      if (!first.hasMore) throw new Skip('there are too few events for a second page');
      const next = await read({ limit: 10, after: first.nextCursor });
      const positions = [...first.items, ...next.output.items].map(({ position }) => position);
      const isGapless = positions.every((position, index) => position === (positions[0] ?? 0) + index);
      next.demand(isGapless, 'positions without gaps', positions, '/items');
    },
    'has nothing after the last event but a cursor': async () =>
      (await read({ start: 'latest' })).demandOutput({ items: [], hasMore: false }),
    'tells of a record that was published, changed and deleted': async () => {
      const { nextCursor: after } = (await read({ start: 'latest' })).output;
      for (const list of session.lists) {
        const { id: recordId } = await session.records.publish(list);
        const title = session.records.title('announced');
        await session.prepare(session.partner(list, 'update'), { id: recordId, title });
        await session.prepare(session.partner(list, 'delete'), { id: recordId });
        const wanted = ['created', 'updated', 'deleted'].map((name) => `${list.router}.${name}`).join();
        await eventually(
          () => read({ after, recordId }),
          ({ items }) => items.map(({ type }) => type).join() === wanted,
          ({ items }) => [`the events ${wanted} about ${recordId}`, items, '/items'],
        );
      }
    },
  };
};

/** The service lists the failed calls of a key, if it records them. */
export const logs = (calls: Operation, session: VerifySession): Effects => ({
  'lists a call that was refused': async () => {
    const refused = await session.post(calls, { unknownMember: 1 });
    const answer = await session.call<FailedCalls>(calls, { requestId: failureMember(refused.json, 'requestId') });
    const { isRecorded, items } = answer.output;
    const expected = { operation: calls.id, reason: 'VALIDATION_FAILED', status: 400 };
    if (isRecorded) answer.demandHas([expected], items, '/items');
  },
});
