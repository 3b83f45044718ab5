import { MAX_RELATED } from '../../../contract/index.ts';
import { type Check, checkOf } from '../check.ts';
import { demand, demandThat, OUTPUT } from '../expect.ts';
import { differences, type Finding, show } from '../finding.ts';
import type { Operation } from '../operation.ts';
import type { Page, Session, TypeStats } from '../session.ts';

const FEW_RELATED = 3;

/** Checks of what counting types does. */
export const typeStatsChecks = (typeStats: Operation, session: Session): Check[] => {
  const create = session.sibling(typeStats, 'create');
  const countsNew = async (): Promise<void> => {
    const before = await session.call<TypeStats>(typeStats, {});
    await session.publish(typeStats, { title: 'counted by type' });
    const { output, reply } = await session.call<TypeStats>(typeStats, {});
    const finding = { expected: `more than ${before.output.total} after one more`, came: String(output.total) };
    demandThat(output.total > before.output.total, reply, { ...finding, at: `${OUTPUT}/total` });
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
    ...(create ? [checkOf(typeStats, 'effect', 'counts a new game at once', countsNew, create.needs)] : []),
  ];
};

/** Checks of what listing related games does. */
export const relatedChecks = (getRelated: Operation, session: Session): Check[] =>
  [FEW_RELATED, MAX_RELATED].map((limit) =>
    checkOf(getRelated, 'effect', `names ${limit} others, each once, or all there are`, async () => {
      const { id } = await session.record(getRelated);
      const all = await session.prepare<Page>(session.partner(getRelated, 'list'), { limit: 1, page: 1 });
      const { output, reply } = await session.call<Pick<Page, 'items'>>(getRelated, { gameId: id, limit });
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
