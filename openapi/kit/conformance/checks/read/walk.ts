import { demand, OUTPUT } from '../../findings/expect.ts';
import { differences, type Finding, show } from '../../findings/finding.ts';
import type { Operation } from '../../contract/operation.ts';
import type { CallAnswer, ListedPage, VerifySession } from '../../session.ts';

/** A list's input without `limit` and `page`. */
type WalkQuery = Readonly<Record<string, unknown>> & { sortBy: string };
type Item = ListedPage['items'][number];

const PAGE_SIZE = 3;
/** How far to walk. */
const MAX_PAGES = 4;
/** How many records a walk can meet, and still end with a page that is not full, one before the last. */
export const WALKABLE = PAGE_SIZE * (MAX_PAGES - 2) + 1;

/** How many records a walk can meet at all, and one more. */
export const WALKED = PAGE_SIZE * MAX_PAGES + 1;

/** The pages that were met, by their numbers or from cursor to cursor. */
interface Walk {
  by: 'page' | 'cursor';
  pages: CallAnswer<ListedPage>[];
}

const itemsOf = (pages: readonly CallAnswer<ListedPage>[]): Item[] =>
  pages.flatMap(({ output }) => output.items as Item[]);
const idsOf = ({ pages }: Walk): string[] => itemsOf(pages).map(({ id }) => id);

const walk = async (session: VerifySession, list: Operation, query: WalkQuery, by: Walk['by']): Promise<Walk> => {
  const pages: CallAnswer<ListedPage>[] = [];
  let cursor: string | null = null;
  do {
    const position = { page: pages.length + 1, ...(cursor !== null && { cursor }) };
    const answer: CallAnswer<ListedPage> = await session.call(list, { ...query, ...position, limit: PAGE_SIZE });
    pages.push(answer);
    const { hasMore, nextCursor } = answer.output;
    if (by === 'cursor') cursor = nextCursor;
    if (!hasMore || (by === 'cursor' && cursor === null)) break;
  } while (pages.length < MAX_PAGES);
  return { by, pages };
};

/** The faults in the page numbers, totals and cursors of the pages. */
const pageFindings = ({ pages }: Walk, total: number): Finding[] =>
  pages.flatMap(({ output, reply }, index) => {
    const { items, totalRelation, hasMore, nextCursor } = output;
    const seen = itemsOf(pages.slice(0, index + 1)).length;
    const expected = {
      page: index + 1,
      limit: PAGE_SIZE,
      total,
      ...(totalRelation === 'eq' && { hasMore: seen < total }),
    };
    const length = {
      expected: `${PAGE_SIZE} items where more follow`,
      came: String(items.length),
      at: `${OUTPUT}/items`,
    };
    const cursor = { expected: hasMore ? 'a cursor' : 'null', came: show(nextCursor), at: `${OUTPUT}/nextCursor` };
    return [
      ...differences(expected, output, OUTPUT, { more: 'allowed' }),
      ...(hasMore && items.length !== PAGE_SIZE ? [length] : []),
      ...(hasMore === (nextCursor !== null) ? [] : [cursor]),
    ].map((finding) => ({ ...finding, exchange: reply }));
  });

/** The faults in the records of a walk, which have to be the `wanted` ones, if those are known. */
const recordFindings = (met: Walk, wanted: readonly string[] | undefined): Finding[] => {
  const ids = idsOf(met);
  const findings = (came: string, wrong: readonly string[]): Finding[] =>
    [...new Set(wrong)].map((id) => ({
      expected: `each record once in the walk by ${met.by}`,
      came: `${show(id)} ${came}`,
    }));
  return [
    ...findings(
      'repeatedly',
      ids.filter((id, index) => ids.indexOf(id) < index),
    ),
    ...findings('never', wanted?.filter((id) => !ids.includes(id)) ?? []),
    ...findings('against the filter', wanted ? ids.filter((id) => !wanted.includes(id)) : []),
  ];
};

/** The member by which a sort mode sorts: `createdAt`, or `likeCount` for `likes`. */
const sortMember = (sortBy: string): string =>
  sortBy === 'latest' || sortBy === 'oldest' ? 'createdAt' : `${sortBy.replace(/s$/, '')}Count`;

/** The faults in the order of the records. */
const orderFindings = ({ by, pages }: Walk, sortBy: string): Finding[] => {
  const member = sortMember(sortBy);
  const direction = sortBy === 'oldest' ? 'up' : 'down';
  const values = itemsOf(pages).map((item) => item[member as keyof Item] as string | number);
  const sorted = values.toSorted((a, b) => (a < b ? -1 : 1) * (direction === 'up' ? 1 : -1));
  const index = values.findIndex((value, position) => value !== sorted[position]);
  if (index === -1) return [];
  const expected = `${member} to go ${direction} in the walk by ${by}, sortBy ${show(sortBy)}`;
  return [{ expected, came: values.map(show).join(', ') }];
};

/** Where two walks part. */
const partingFindings = (byPage: Walk, byCursor: Walk): Finding[] => {
  const [ids, others] = [idsOf(byPage), idsOf(byCursor)];
  const index = Array.from({ length: Math.max(ids.length, others.length) }).findIndex((_, n) => ids[n] !== others[n]);
  if (index === -1) return [];
  const expected = `${show(ids[index])} as record ${index + 1} of the walk by cursor, as by page`;
  return [{ expected, came: show(others[index]) }];
};

/**
 * Walks through a list by page and by cursor, and compares. `wanted` are the ids to meet, all of them, in any order;
 * without it, whatever there is.
 * @throws Mismatch, Skip
 */
export const walkBothWays = async (
  session: VerifySession,
  list: Operation,
  query: WalkQuery,
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
