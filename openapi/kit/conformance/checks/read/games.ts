import { MAX_RELATED } from '../../../../../contract/index.ts';
import type { Effects } from '../../check.ts';
import { demand, OUTPUT } from '../../findings/expect.ts';
import { differences, type Finding, show } from '../../findings/finding.ts';
import type { Operation } from '../../contract/operation.ts';
import { demandCounted, steadily } from '../../until-stable.ts';
import type { ListedPage, VerifySession, TypeStats } from '../../session.ts';

const FEW_RELATED = 3;
/** The number of types that are counted by the list as well. */
const COUNTED_TYPES = 5;

/** The checks of the counts of types. */
export const typeStatsEffects = (typeStats: Operation, session: VerifySession): Effects => {
  const read = () => session.call<TypeStats>(typeStats, {});
  return {
    'counts every game once, the most frequent type first': async () => {
      const { output, reply } = await read();
      const counts = output.items.map(({ count }) => count);
      const types = output.items.map(({ gameType }) => gameType);
      const sum = counts.reduce((total, count) => total + count, output.otherCount);
      const sorted = counts.toSorted((a, b) => b - a);
      demand(reply, [
        ...differences(sum, output.total, `${OUTPUT}/total`),
        ...differences([...new Set(types)], types, `${OUTPUT}/items`),
        ...differences(sorted, counts, `${OUTPUT}/items`),
      ]);
    },
    'counts types as the list does': () =>
      steadily(
        () => session.prepare(typeStats, {}),
        async () => {
          const list = session.partner(typeStats, 'list');
          const totalOf = async (query: object): Promise<number> =>
            (await session.prepare<ListedPage>(list, { limit: 1, page: 1, ...query })).total;
          const { output, reply } = await read();
          demand(reply, differences(await totalOf({}), output.total, `${OUTPUT}/total`));
          for (const [index, { gameType, count }] of output.items.slice(0, COUNTED_TYPES).entries()) {
            if (gameType === null) continue;
            demand(reply, differences(await totalOf({ gameType }), count, `${OUTPUT}/items/${index}/count`));
          }
        },
      ),
    'counts a new game at once': () =>
      demandCounted(
        async () => {
          const { output, reply } = await read();
          return { output: output.total, reply };
        },
        () => session.publish(typeStats, { title: 'counted by type' }),
        '',
        `${OUTPUT}/total`,
      ),
  };
};

/** The checks of related games. */
export const relatedEffects = (getRelated: Operation, session: VerifySession): Effects => {
  const names = async (limit: number): Promise<void> => {
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
  };
  return Object.fromEntries(
    [FEW_RELATED, MAX_RELATED].map((limit) => [
      `names ${limit} others, each once, or all there are`,
      () => names(limit),
    ]),
  );
};
