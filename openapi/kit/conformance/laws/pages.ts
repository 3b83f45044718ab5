import type { Answer } from '../answer.ts';
import { type Effects, once } from '../check.ts';
import type { Operation } from '../contract/operation.ts';
import { inputMembers } from '../contract/places.ts';
import { demand, OUTPUT } from '../findings/expect.ts';
import { differences, type Finding, show, Skip } from '../findings/finding.ts';
import { MAX_PAGE_SIZE } from '../../../../contract/index.ts';
import { type Content, idsOf, type ListedPage, type RecordSummary } from '../records.ts';
import type { VerifySession } from '../session.ts';
import { steadily, watchList } from '../until-stable.ts';

/** A list's input without `limit` and `page`. */
type Query = Readonly<Record<string, unknown>> & { sortBy: string };

const PAGE_SIZE = 3;
/** The most pages of a walk. */
const MAX_PAGES = 4;
/** The number of records of a walk that ends with a partial page, one page before the last possible one. */
const WALKABLE = PAGE_SIZE * (MAX_PAGES - 2) + 1;
/** One more than the most records that a walk can meet. */
const WALKED = PAGE_SIZE * MAX_PAGES + 1;
const FEW = 5;
/** A word in the titles of the records to walk over. */
const WORD = 'walk';

/** The pages of a walk, by their numbers or from cursor to cursor. */
interface Walk {
  by: 'page' | 'cursor';
  pages: Answer<ListedPage>[];
}

const itemsOf = (pages: readonly Answer<ListedPage>[]): RecordSummary[] =>
  pages.flatMap(({ output }) => output.items as RecordSummary[]);

const walk = async (session: VerifySession, list: Operation, query: Query, by: Walk['by']): Promise<Walk> => {
  const pages: Answer<ListedPage>[] = [];
  let cursor: string | null = null;
  do {
    const position = { page: pages.length + 1, ...(cursor !== null && { cursor }) };
    const page: Answer<ListedPage> = await session.call(list, { ...query, ...position, limit: PAGE_SIZE });
    pages.push(page);
    if (by === 'cursor') cursor = page.output.nextCursor;
    if (!page.output.hasMore || (by === 'cursor' && cursor === null)) break;
  } while (pages.length < MAX_PAGES);
  return { by, pages };
};

/** The faults in the page numbers, totals and cursors of the pages. */
const pageFindings = ({ pages }: Walk, total: number): Finding[] =>
  pages.flatMap(({ output, reply }, index) => {
    const { items, totalRelation, hasMore, nextCursor } = output;
    const seen = itemsOf(pages.slice(0, index + 1)).length;
    const isExact = totalRelation === 'eq';
    const expected = { page: index + 1, limit: PAGE_SIZE, total, ...(isExact && { hasMore: seen < total }) };
    const isFull = !hasMore || items.length === PAGE_SIZE;
    const full = {
      expected: `${PAGE_SIZE} items where more follow`,
      came: String(items.length),
      at: `${OUTPUT}/items`,
    };
    const cursor = { expected: hasMore ? 'a cursor' : 'null', came: show(nextCursor), at: `${OUTPUT}/nextCursor` };
    return [
      ...differences(expected, output, OUTPUT, { more: 'allowed' }),
      ...(isFull ? [] : [full]),
      ...(hasMore === (nextCursor !== null) ? [] : [cursor]),
    ].map((finding) => ({ ...finding, exchange: reply }));
  });

/** The faults in the records of a walk, which must be the `wanted` ones, if given. */
const recordFindings = ({ by, pages }: Walk, wanted: readonly string[] | undefined): Finding[] => {
  const ids = idsOf(itemsOf(pages));
  const faulty = {
    repeatedly: ids.filter((id, index) => ids.indexOf(id) < index),
    never: wanted?.filter((id) => !ids.includes(id)) ?? [],
    'against the filter': wanted ? ids.filter((id) => !wanted.includes(id)) : [],
  };
  return Object.entries(faulty).flatMap(([how, some]) =>
    [...new Set(some)].map((id) => ({ expected: `each record once in the walk by ${by}`, came: `${show(id)} ${how}` })),
  );
};

/** The member by which a sort mode sorts: `createdAt`, or `likeCount` for `likes`. */
const sortMember = (sortBy: string): string =>
  sortBy === 'latest' || sortBy === 'oldest' ? 'createdAt' : `${sortBy.replace(/s$/, '')}Count`;

/** The fault in the order of the records. */
const orderFindings = ({ by, pages }: Walk, sortBy: string): Finding[] => {
  const member = sortMember(sortBy);
  const direction = sortBy === 'oldest' ? 'up' : 'down';
  const values = itemsOf(pages).map((item) => item[member as keyof RecordSummary] as string | number);
  const sorted = values.toSorted((a, b) => (a < b ? -1 : 1) * (direction === 'up' ? 1 : -1));
  if (values.every((value, index) => value === sorted[index])) return [];
  const expected = `${member} to go ${direction} in the walk by ${by}, sortBy ${show(sortBy)}`;
  return [{ expected, came: values.map(show).join(', ') }];
};

/** The first difference of two walks. */
const partingFindings = (byPage: Walk, byCursor: Walk): Finding[] => {
  const [ids, others] = [byPage, byCursor].map(({ pages }) => idsOf(itemsOf(pages))) as [string[], string[]];
  const index = Array.from({ length: Math.max(ids.length, others.length) }).findIndex((_, n) => ids[n] !== others[n]);
  if (index === -1) return [];
  const expected = `${show(ids[index])} as record ${index + 1} of the walk by cursor, as by page`;
  return [{ expected, came: show(others[index]) }];
};

/**
 * Walks through a list by page and by cursor, and compares. `wanted` are the ids of all records to meet, in any order;
 * without it, any records may appear.
 * @throws Mismatch, Skip
 */
export const walkBothWays = async (
  session: VerifySession,
  list: Operation,
  query: Query,
  wanted?: readonly string[],
): Promise<void> => {
  const byPage = await walk(session, list, query, 'page');
  const byCursor = await walk(session, list, query, 'cursor');
  const [first] = byPage.pages;
  if (!first) return;
  const total = wanted?.length ?? first.output.total;
  demand(first.reply, [
    ...[byPage, byCursor].flatMap((met) => recordFindings(met, wanted)),
    ...[byPage, byCursor].flatMap((met) => pageFindings(met, total)),
    ...orderFindings(byPage, query.sortBy),
    ...partingFindings(byPage, byCursor),
  ]);
};

/** Records of our own, one of them a favorite and another one liked, so that no two sort modes agree. */
const publishWalkable = async (session: VerifySession, list: Operation): Promise<Content[]> => {
  const titles = Array.from({ length: WALKABLE }, (_, n) => `${WORD} ${n + 1}`);
  const records = await session.records.publishAll(list, titles);
  const toggles = session.operations.filter(({ router, laws }) => router === list.router && laws.includes('toggles'));
  for (const [index, toggle] of toggles.entries()) {
    await session.prepare(toggle, { ...toggle.example.input, [toggle.idMember ?? 'id']: records[index + 1]?.id });
  }
  return records;
};

/** A walk meets each record once: own records or, without a key, those of others, which may move meanwhile. */
export const pages = (list: Operation, session: VerifySession): Effects => {
  const own = once(() => publishWalkable(session, list));
  const walkAll = async (sortBy: string): Promise<void> => {
    if (!session.records.publishes(list))
      return steadily(watchList(session, list, { sortBy }, WALKED), () => walkBothWays(session, list, { sortBy }));
    const wanted = idsOf(await own());
    return walkBothWays(session, list, { sortBy, ...session.records.query(WORD) }, wanted);
  };
  const sortModes =
    inputMembers(list)
      .find(({ name }) => name === 'sortBy')
      ?.schema.enum?.map(String) ?? [];
  const read = (query: object) => session.call<ListedPage>(list, { limit: FEW, page: 1, ...query });
  return {
    ...Object.fromEntries(
      sortModes.map((sortBy) => [
        `has each record once, by page and by cursor, sortBy ${sortBy}`,
        () => walkAll(sortBy),
      ]),
    ),
    'begins a long page with the records of a short one': () =>
      steadily(watchList(session, list, {}, MAX_PAGE_SIZE), async () => {
        const few = idsOf((await read({})).output.items);
        const page = await read({ limit: MAX_PAGE_SIZE });
        page.demandIs(few, idsOf(page.output.items).slice(0, few.length), '/items');
        const wanted = Math.min(page.output.total, MAX_PAGE_SIZE);
        const { length } = page.output.items;
        page.demand(length === wanted, `${wanted} items`, length, '/items');
      }),
    'goes by the cursor, whatever page comes with it': () =>
      steadily(watchList(session, list, {}, 1 + 2 * FEW), async () => {
        const { nextCursor: cursor } = (await read({})).output;
        if (cursor === null) throw new Skip('there are not enough records for a second page');
        const second = await read({ page: 2 });
        const page = await read({ cursor });
        page.demandIs(idsOf(second.output.items), idsOf(page.output.items), '/items');
      }),
  };
};
