import { MAX_PAGE_SIZE, timeRangeDays } from '../../../../../contract/index.ts';
import { type Check, checkOf } from '../../check.ts';
import { demand, demandOutput, demandThat, OUTPUT } from '../../findings/expect.ts';
import { differences, show, Skip } from '../../findings/finding.ts';
import type { Operation } from '../../contract/operation.ts';
import { inputMembers } from '../../contract/places.ts';
import type { CallAnswer, ListedPage, VerifySession, RecordSummary } from '../../session.ts';
import { steadily, watchList } from '../../until-stable.ts';
import { walkBothWays } from './walk.ts';

// The checks of a list's filters, on the records of any author.

const DAY_MS = 86_400_000;
/** The tolerated difference between the clocks of the answering server and of the one that dated the records. */
const CLOCK_SLACK_MS = 5000;
const MAX_SEARCH = 100;
const FEW = 5;

type FilterQuery = Readonly<Record<string, unknown>>;

const read = (session: VerifySession, list: Operation, query: FilterQuery): Promise<CallAnswer<ListedPage>> =>
  session.call<ListedPage>(list, { limit: MAX_PAGE_SIZE, page: 1, ...query });

/** Whether a list takes a member. */
const takes = (list: Operation, member: string): boolean => inputMembers(list).some(({ name }) => name === member);

/** @throws Mismatch for the first record of a page that is not as a filter says */
const demandEach = (
  { output, reply }: CallAnswer<ListedPage>,
  expected: string,
  at: string,
  isFine: (item: RecordSummary) => boolean,
  shown: (item: RecordSummary) => unknown,
): void => {
  const index = output.items.findIndex((item) => !isFine(item));
  const item = output.items[index];
  if (item) demand(reply, [{ expected, came: show(shown(item)), at: `${OUTPUT}/items/${index}/${at}` }]);
};

/** @throws Mismatch unless a page, on which all records fit, has this one */
const demandAmong = ({ output, reply }: CallAnswer<ListedPage>, { id }: RecordSummary, by: string): void => {
  const isThere = output.hasMore || output.items.some((item) => item.id === id);
  demandThat(isThere, reply, {
    expected: `${show(id)} among what ${by} finds`,
    came: `${output.items.length} others`,
    at: `${OUTPUT}/items`,
  });
};

/** @throws Mismatch unless two pages say that there are equally many */
const demandSameTotal = (
  { output: { total } }: CallAnswer<ListedPage>,
  { output, reply }: CallAnswer<ListedPage>,
): void => demandOutput(reply, { total }, output);

const hasTag =
  (slug: string) =>
  ({ tags }: RecordSummary): boolean =>
    tags.some((tag) => tag.slug === slug);

const tagChecks = (list: Operation, session: VerifySession): Check[] => {
  const check = (name: string, run: () => Promise<void>): Check => checkOf(list, 'effect', name, run);
  /** A record with `n` tags. */
  const tagged = async (n: number): Promise<{ sample: RecordSummary; slugs: string[] }> => {
    const sample = (await session.samples(list)).find(({ tags }) => tags.length >= n);
    if (!sample) throw new Skip(`no record is known that has ${n === 1 ? 'a tag' : `${n} tags`}`);
    return { sample, slugs: sample.tags.slice(0, n).map(({ slug }) => slug) };
  };
  const filters = async (n: number): Promise<void> => {
    const { sample, slugs } = await tagged(n);
    const page = await read(session, list, { tagSlugs: slugs });
    for (const slug of slugs) demandEach(page, `the tag ${show(slug)}`, 'tags', hasTag(slug), ({ tags }) => tags);
    demandAmong(page, sample, 'tagSlugs');
  };
  return [
    check('has by tagSlugs what has the tag', () => filters(1)),
    check('has by tagSlugs what has all of two tags', () => filters(2)),
    check('has each record of a tag once, by page and by cursor', async () => {
      const { slugs } = await tagged(1);
      const query = { tagSlugs: slugs, sortBy: 'latest' };
      await steadily(watchList(session, list, query, MAX_PAGE_SIZE), () => walkBothWays(session, list, query));
    }),
  ];
};

const typeOf = (item: RecordSummary): string | null => ('gameType' in item ? item.gameType : null);

const typeChecks = (list: Operation, session: VerifySession): Check[] => {
  if (!takes(list, 'gameType')) return [];
  const check = (name: string, run: () => Promise<void>): Check => checkOf(list, 'effect', name, run);
  const typed = async (): Promise<{ sample: RecordSummary; gameType: string }> => {
    for (const sample of await session.samples(list)) {
      const gameType = typeOf(sample);
      if (gameType !== null) return { sample, gameType };
    }
    throw new Skip('no record is known that has a type');
  };
  return [
    check('has by gameType what is of the type', async () => {
      const { sample, gameType } = await typed();
      const page = await read(session, list, { gameType });
      demandEach(page, show(gameType), 'gameType', (item) => typeOf(item) === gameType, typeOf);
      demandAmong(page, sample, 'gameType');
    }),
    check('takes small letters of a gameType for capitals', async () => {
      const { gameType } = await typed();
      const small = gameType.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
      await steadily(watchList(session, list, { gameType }, 1), async () => {
        const capitals = await read(session, list, { gameType });
        demandSameTotal(capitals, await read(session, list, { gameType: small }));
      });
    }),
    check('has nothing of a gameType that nobody uses', async () => {
      const { output, reply } = await read(session, list, { gameType: session.chance.hex('type').slice(0, 32) });
      demandOutput(reply, { items: [], total: 0 }, output);
    }),
  ];
};

/** The time of the deployment when it answered, or ours. */
const clockOf = ({ reply }: CallAnswer<ListedPage>): number =>
  Date.parse(reply.headers.get('date') ?? '') || Date.now();

const rangeChecks = (list: Operation, session: VerifySession): Check[] => {
  if (!takes(list, 'timeRange')) return [];
  const ranges = Object.entries(timeRangeDays) as [string, number][];
  return [
    ...ranges.map(([timeRange, days]) =>
      checkOf(list, 'effect', `has by timeRange ${timeRange} what is no older, and all of that`, () =>
        steadily(watchList(session, list, {}, MAX_PAGE_SIZE), async () => {
          const all = await read(session, list, {});
          const page = await read(session, list, { timeRange });
          const begins = clockOf(page) - days * DAY_MS;
          const isWithin = ({ createdAt }: RecordSummary, slack: number): boolean =>
            Date.parse(createdAt) >= begins + slack;
          const expected = `no record older than ${days} days`;
          demandEach(
            page,
            expected,
            'createdAt',
            (item) => isWithin(item, -CLOCK_SLACK_MS),
            (item) => item.createdAt,
          );
          const wanted = all.output.items.filter((item) => isWithin(item, CLOCK_SLACK_MS));
          demand(
            page.reply,
            differences(
              wanted.map(({ id }) => id),
              page.output.items.slice(0, wanted.length).map(({ id }) => id),
              `${OUTPUT}/items`,
            ),
          );
        }),
      ),
    ),
    checkOf(list, 'effect', 'has no more in a shorter timeRange than in a longer one', () =>
      steadily(watchList(session, list, {}, 1), async () => {
        let shorter = 0;
        for (const timeRange of [...ranges.toSorted(([, a], [, b]) => a - b).map(([name]) => name), 'all']) {
          const { output, reply } = await read(session, list, { timeRange, limit: 1 });
          const finding = {
            expected: `at least ${shorter} in the range ${timeRange}`,
            came: String(output.total),
            at: `${OUTPUT}/total`,
          };
          demandThat(output.total >= shorter, reply, finding);
          shorter = output.total;
        }
      }),
    ),
  ];
};

/** The words of a title, as many as a search may hold. */
const wordsOf = ({ title }: RecordSummary): string[] => {
  const words = title.split(/\s+/u).filter((word) => word !== '');
  let length = 0;
  return words.filter((word) => (length += 1 + Array.from(word).length) <= MAX_SEARCH);
};

/** The first word of a title without its outermost characters, if these stand for themselves. */
const partOf = (sample: RecordSummary): string => {
  const [word = ''] = wordsOf(sample);
  const characters = Array.from(word);
  const isPlain = word === word.normalize('NFKC') && !/\p{M}/u.test(word);
  return isPlain && characters.length > 2 ? characters.slice(1, -1).join('') : word;
};

const searchChecks = (list: Operation, session: VerifySession): Check[] => {
  if (!takes(list, 'search')) return [];
  const check = (name: string, run: () => Promise<void>): Check => checkOf(list, 'effect', name, run);
  const sampleOf = async (): Promise<RecordSummary> => {
    const sample = (await session.samples(list)).find((one) => wordsOf(one).length > 0);
    if (!sample) throw new Skip('no record is known that has a title to search for');
    return sample;
  };
  const alike = async (other: (search: string) => string): Promise<void> => {
    const search = partOf(await sampleOf());
    await steadily(watchList(session, list, { search }, 1), async () => {
      demandSameTotal(await read(session, list, { search }), await read(session, list, { search: other(search) }));
    });
  };
  return [
    check('finds a record by its title', async () => {
      const sample = await sampleOf();
      demandAmong(await read(session, list, { search: wordsOf(sample).join(' ') }), sample, 'search');
    }),
    check('finds a record by a part of a word of its title', async () => {
      const sample = await sampleOf();
      const page = await read(session, list, {
        search: partOf(sample),
        ...(takes(list, 'tagSlugs') && { tagSlugs: sample.tags.slice(0, 10).map(({ slug }) => slug) }),
      });
      demandAmong(page, sample, 'search');
    }),
    check('finds the same in capitals', () =>
      alike((search) => search.replaceAll(/[a-z]/g, (letter) => letter.toUpperCase())),
    ),
    check('finds the same where white space surrounds the words', () => alike((search) => ` ${search}\u3000`)),
    check('finds nothing by what nothing holds', async () => {
      const { output, reply } = await read(session, list, { search: session.chance.hex('search') });
      demandOutput(reply, { items: [], total: 0 }, output);
    }),
    check('takes a blank search for none', () =>
      steadily(watchList(session, list, {}, FEW), async () => {
        const all = await read(session, list, { limit: FEW });
        const { output, reply } = await read(session, list, { search: ' ', limit: FEW });
        demandOutput(reply, { total: all.output.total, items: all.output.items.map(({ id }) => ({ id })) }, output);
      }),
    ),
  ];
};

const pageChecks = (list: Operation, session: VerifySession): Check[] => [
  checkOf(list, 'effect', 'begins a long page with the records of a short one', () =>
    steadily(watchList(session, list, {}, MAX_PAGE_SIZE), async () => {
      const few = await read(session, list, { limit: FEW });
      const { output, reply } = await read(session, list, {});
      const [expected, came] = [few.output.items, output.items.slice(0, few.output.items.length)].map((items) =>
        items.map(({ id }) => id),
      );
      demand(reply, differences(expected, came, `${OUTPUT}/items`));
      const counted = output.items.length === Math.min(output.total, MAX_PAGE_SIZE);
      const finding = {
        expected: `${Math.min(output.total, MAX_PAGE_SIZE)} items`,
        came: String(output.items.length),
        at: `${OUTPUT}/items`,
      };
      demandThat(counted, reply, finding);
    }),
  ),
  checkOf(list, 'effect', 'goes by the cursor, whatever page comes with it', () =>
    steadily(watchList(session, list, {}, 1 + 2 * FEW), async () => {
      const { nextCursor } = (await read(session, list, { limit: FEW })).output;
      if (nextCursor === null) throw new Skip('there are not enough records for a second page');
      const second = await read(session, list, { limit: FEW, page: 2 });
      const { output, reply } = await read(session, list, { limit: FEW, page: 1, cursor: nextCursor });
      const [expected, came] = [second.output.items, output.items].map((items) => items.map(({ id }) => id));
      demand(reply, differences(expected, came, `${OUTPUT}/items`));
    }),
  ),
];

/** Checks of the filters of a list. */
export const filterChecks = (list: Operation, session: VerifySession): Check[] => [
  ...(takes(list, 'tagSlugs') ? tagChecks(list, session) : []),
  ...typeChecks(list, session),
  ...rangeChecks(list, session),
  ...searchChecks(list, session),
  ...pageChecks(list, session),
];
