import { MAX_RELATED } from '../../../../../contract/index.ts';
import { type Check, checkOf } from '../../check.ts';
import { demand, demandThat, OUTPUT } from '../../findings/expect.ts';
import { differences, type Finding, show } from '../../findings/finding.ts';
import type { Operation } from '../../contract/operation.ts';
import { steadily } from '../../until-stable.ts';
import type { ListedPage, VerifySession, TypeStats } from '../../session.ts';

const FEW_RELATED = 3;

/** The number of types that are counted by the list as well. */
const COUNTED_TYPES = 5;
/** Attempts to see a new game counted: other callers may remove a game at the same time. */
const MAX_TRIALS = 3;

/** A check that types are counted as the list counts them. */
const countsAsList = (typeStats: Operation, session: VerifySession): Check =>
  checkOf(typeStats, 'effect', 'counts types as the list does', async () => {
    await steadily(
      () => session.prepare(typeStats, {}),
      async () => {
        const list = session.partner(typeStats, 'list');
        const totalOf = async (query: object): Promise<number> =>
          (await session.prepare<ListedPage>(list, { limit: 1, page: 1, ...query })).total;
        const { output, reply } = await session.call<TypeStats>(typeStats, {});
        demand(reply, differences(await totalOf({}), output.total, `${OUTPUT}/total`));
        for (const [index, { gameType, count }] of output.items.slice(0, COUNTED_TYPES).entries()) {
          if (gameType === null) continue;
          demand(reply, differences(await totalOf({ gameType }), count, `${OUTPUT}/items/${index}/count`));
        }
      },
    );
  });

/** Checks of what counting types does. */
export const typeStatsChecks = (typeStats: Operation, session: VerifySession): Check[] => {
  const create = session.sibling(typeStats, 'create');
  const countsNew = async (): Promise<void> => {
    for (let trial = 1; ; trial += 1) {
      const before = await session.call<TypeStats>(typeStats, {});
      await session.publish(typeStats, { title: 'counted by type' });
      const { output, reply } = await session.call<TypeStats>(typeStats, {});
      const finding = { expected: `more than ${before.output.total} after one more`, came: String(output.total) };
      const isCounted = output.total > before.output.total;
      if (isCounted || trial === MAX_TRIALS) {
        demandThat(isCounted, reply, { ...finding, at: `${OUTPUT}/total` });
        return;
      }
    }
  };
  return [
    checkOf(typeStats, 'effect', 'counts every game once, the most frequent type first', async () => {
      const { output, reply } = await session.call<TypeStats>(typeStats, {});
      const counts = output.items.map(({ count }) => count);
      const types = output.items.map(({ gameType }) => gameType);
      const sum = counts.reduce((total, count) => total + count, output.otherCount);
      demand(reply, [
        ...differences(sum, output.total, `${OUTPUT}/total`),
        ...differences([...new Set(types)], types, `${OUTPUT}/items`),
        ...differences(
          counts.toSorted((a, b) => b - a),
          counts,
          `${OUTPUT}/items`,
        ),
      ]);
    }),
    countsAsList(typeStats, session),
    ...(create ? [checkOf(typeStats, 'effect', 'counts a new game at once', countsNew, create.needs)] : []),
  ];
};

/** Checks of what listing related games does. */
export const relatedChecks = (getRelated: Operation, session: VerifySession): Check[] =>
  [FEW_RELATED, MAX_RELATED].map((limit) =>
    checkOf(getRelated, 'effect', `names ${limit} others, each once, or all there are`, async () => {
      const { id } = await session.record(getRelated);
      const all = await session.prepare<ListedPage>(session.partner(getRelated, 'list'), { limit: 1, page: 1 });
      const { output, reply } = await session.call<Pick<ListedPage, 'items'>>(getRelated, { gameId: id, limit });
      const ids = output.items.map((item) => item.id);
      const wanted = Math.min(limit, all.total - 1);
      const wrong = ids.filter((one, index) => one === id || ids.indexOf(one) < index);
      const findings: Finding[] = wrong.map((one) => ({ expected: 'each other game once', came: show(one) }));
      if (ids.length < wanted || ids.length > limit) {
        findings.push({ expected: `${wanted} games`, came: String(ids.length), at: `${OUTPUT}/items` });
      }
      demand(reply, findings);
    }),
  );
