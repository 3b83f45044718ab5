import { MAX_PAGE_SIZE, timeRangeDays } from '../../../../../contract/index.ts';
import type { Effects } from '../../check.ts';
import { demand, demandOutput, demandThat, OUTPUT } from '../../findings/expect.ts';
import { differences, show, Skip } from '../../findings/finding.ts';
import type { Operation } from '../../contract/operation.ts';
import { inputMembers } from '../../contract/places.ts';
import type { CallAnswer, ListedPage, VerifySession, RecordSummary } from '../../session.ts';
import { steadily, watchList } from '../../until-stable.ts';
import { capitals } from '../../values.ts';
import { walkBothWays } from './walk.ts';

// The checks of a list's filters, on the records of any author.

const DAY_MS = 86_400_000;
/** The tolerated difference between the clocks of the answering server and of the one that dated the records. */
const CLOCK_SLACK_MS = 5000;
const MAX_SEARCH = 100;
const FEW = 5;
const ITEMS = `${OUTPUT}/items`;
const NOTHING = { items: [], total: 0 };

type Page = CallAnswer<ListedPage>;
type FilterQuery = Readonly<Record<string, unknown>>;

const read = (session: VerifySession, list: Operation, query: FilterQuery): Promise<Page> =>
  session.call<ListedPage>(list, { limit: MAX_PAGE_SIZE, page: 1, ...query });

/** One of the records that are known. @throws Skip if there is none of the kind */
const sampleWith = async (
  session: VerifySession,
  list: Operation,
  what: string,
  isFit: (sample: RecordSummary) => boolean,
): Promise<RecordSummary> => {
  const sample = (await session.samples(list)).find(isFit);
  if (!sample) throw new Skip(`no record is known that has ${what}`);
  return sample;
};

/** @throws Mismatch for the first record of a page that is not as a filter says */
const demandEach = <T>(
  { output, reply }: Page,
  expected: string,
  at: string,
  valueOf: (item: RecordSummary) => T,
  isFine: (value: T) => boolean,
): void => {
  const values = (output.items as RecordSummary[]).map(valueOf);
  const index = values.findIndex((value) => !isFine(value));
  demandThat(index === -1, reply, { expected, came: show(values[index]), at: `${ITEMS}/${index}/${at}` });
};

/** @throws Mismatch unless a page, on which all records fit, has this one */
const demandAmong = ({ output, reply }: Page, { id }: RecordSummary, by: string): void =>
  demandThat(output.hasMore || output.items.some((item) => item.id === id), reply, {
    expected: `${show(id)} among what ${by} finds`,
    came: `${output.items.length} others`,
    at: ITEMS,
  });

/** @throws Mismatch unless a page begins with the given records */
const demandFirst = ({ output, reply }: Page, wanted: readonly { id: string }[]): void => {
  const [expected, came] = [wanted, output.items.slice(0, wanted.length)].map((items) => items.map(({ id }) => id));
  demand(reply, differences(expected, came, ITEMS));
};

const tagEffects = (list: Operation, session: VerifySession): Effects => {
  /** The first `n` tags of a record. */
  const tagged = async (n: number): Promise<{ sample: RecordSummary; tagSlugs: string[] }> => {
    const sample = await sampleWith(session, list, n === 1 ? 'a tag' : `${n} tags`, ({ tags }) => tags.length >= n);
    return { sample, tagSlugs: sample.tags.slice(0, n).map(({ slug }) => slug) };
  };
  const filters = async (n: number): Promise<void> => {
    const { sample, tagSlugs } = await tagged(n);
    const page = await read(session, list, { tagSlugs });
    for (const wanted of tagSlugs) {
      const isFine = (tags: RecordSummary['tags']): boolean => tags.some(({ slug }) => slug === wanted);
      demandEach(page, `the tag ${show(wanted)}`, 'tags', ({ tags }) => tags, isFine);
    }
    demandAmong(page, sample, 'tagSlugs');
  };
  return {
    'has by tagSlugs what has the tag': () => filters(1),
    'has by tagSlugs what has all of two tags': () => filters(2),
    'has each record of a tag once, by page and by cursor': async () => {
      const { tagSlugs } = await tagged(1);
      const query = { tagSlugs, sortBy: 'latest' };
      await steadily(watchList(session, list, query, MAX_PAGE_SIZE), () => walkBothWays(session, list, query));
    },
  };
};

const typeOf = (item: RecordSummary): string | null => ('gameType' in item ? item.gameType : null);

const typeEffects = (list: Operation, session: VerifySession): Effects => {
  const typed = (): Promise<RecordSummary> => sampleWith(session, list, 'a type', (item) => typeOf(item) !== null);
  return {
    'has by gameType what is of the type': async () => {
      const sample = await typed();
      const gameType = typeOf(sample);
      const page = await read(session, list, { gameType });
      demandEach(page, show(gameType), 'gameType', typeOf, (type) => type === gameType);
      demandAmong(page, sample, 'gameType');
    },
    'takes small letters of a gameType for capitals': async () => {
      const gameType = `${typeOf(await typed())}`;
      const small = gameType.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
      await steadily(watchList(session, list, { gameType }, 1), async () => {
        const { total } = (await read(session, list, { gameType })).output;
        const { output, reply } = await read(session, list, { gameType: small });
        demandOutput(reply, { total }, output);
      });
    },
    'has nothing of a gameType that nobody uses': async () => {
      const { output, reply } = await read(session, list, { gameType: session.random.hex('type').slice(0, 32) });
      demandOutput(reply, NOTHING, output);
    },
  };
};

/** The time of the deployment when it answered, or ours. */
const clockOf = ({ reply }: Page): number => Date.parse(reply.headers.get('date') ?? '') || Date.now();

const rangeEffects = (list: Operation, session: VerifySession): Effects => {
  const ranges = Object.entries(timeRangeDays).toSorted(([, a], [, b]) => a - b);
  const has = (timeRange: string, days: number): Promise<void> =>
    steadily(watchList(session, list, {}, MAX_PAGE_SIZE), async () => {
      const all = await read(session, list, {});
      const page = await read(session, list, { timeRange });
      const begins = clockOf(page) - days * DAY_MS;
      const isSince = (createdAt: string, slack: number): boolean => Date.parse(createdAt) >= begins + slack;
      demandEach(
        page,
        `no record older than ${days} days`,
        'createdAt',
        ({ createdAt }) => createdAt,
        (createdAt) => isSince(createdAt, -CLOCK_SLACK_MS),
      );
      demandFirst(
        page,
        all.output.items.filter(({ createdAt }) => isSince(createdAt, CLOCK_SLACK_MS)),
      );
    });
  return {
    ...Object.fromEntries(
      ranges.map(([timeRange, days]) => [
        `has by timeRange ${timeRange} what is no older, and all of that`,
        () => has(timeRange, days),
      ]),
    ),
    'has no more in a shorter timeRange than in a longer one': () =>
      steadily(watchList(session, list, {}, 1), async () => {
        let shorter = 0;
        for (const timeRange of [...ranges.map(([name]) => name), 'all']) {
          const { output, reply } = await read(session, list, { timeRange, limit: 1 });
          demandThat(output.total >= shorter, reply, {
            expected: `at least ${shorter} in the range ${timeRange}`,
            came: String(output.total),
            at: `${OUTPUT}/total`,
          });
          shorter = output.total;
        }
      }),
  };
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

const searchEffects = (list: Operation, session: VerifySession): Effects => {
  const titled = (): Promise<RecordSummary> =>
    sampleWith(session, list, 'a title to search for', (one) => wordsOf(one).length > 0);
  const alike = async (other: (search: string) => string): Promise<void> => {
    const search = partOf(await titled());
    await steadily(watchList(session, list, { search }, 1), async () => {
      const { total } = (await read(session, list, { search })).output;
      const { output, reply } = await read(session, list, { search: other(search) });
      demandOutput(reply, { total }, output);
    });
  };
  return {
    'finds a record by its title': async () => {
      const sample = await titled();
      demandAmong(await read(session, list, { search: wordsOf(sample).join(' ') }), sample, 'search');
    },
    'finds a record by a part of a word of its title': async () => {
      const sample = await titled();
      const tagSlugs = sample.tags.slice(0, 10).map(({ slug }) => slug);
      demandAmong(await read(session, list, { search: partOf(sample), tagSlugs }), sample, 'search');
    },
    'finds the same in capitals': () => alike(capitals),
    'finds the same where white space surrounds the words': () => alike((search) => ` ${search}\u3000`),
    'finds nothing by what nothing holds': async () => {
      const { output, reply } = await read(session, list, { search: session.random.hex('search') });
      demandOutput(reply, NOTHING, output);
    },
    'takes a blank search for none': () =>
      steadily(watchList(session, list, {}, FEW), async () => {
        const { total, items } = (await read(session, list, { limit: FEW })).output;
        const { output, reply } = await read(session, list, { search: ' ', limit: FEW });
        demandOutput(reply, { total, items: items.map(({ id }) => ({ id })) }, output);
      }),
  };
};

const pageEffects = (list: Operation, session: VerifySession): Effects => ({
  'begins a long page with the records of a short one': () =>
    steadily(watchList(session, list, {}, MAX_PAGE_SIZE), async () => {
      const few = await read(session, list, { limit: FEW });
      const page = await read(session, list, {});
      demandFirst(page, few.output.items);
      const { items, total } = page.output;
      const wanted = Math.min(total, MAX_PAGE_SIZE);
      const finding = { expected: `${wanted} items`, came: String(items.length), at: ITEMS };
      demandThat(items.length === wanted, page.reply, finding);
    }),
  'goes by the cursor, whatever page comes with it': () =>
    steadily(watchList(session, list, {}, 1 + 2 * FEW), async () => {
      const { nextCursor } = (await read(session, list, { limit: FEW })).output;
      if (nextCursor === null) throw new Skip('there are not enough records for a second page');
      const second = await read(session, list, { limit: FEW, page: 2 });
      const page = await read(session, list, { limit: FEW, page: 1, cursor: nextCursor });
      const [expected, came] = [second, page].map(({ output }) => output.items.map(({ id }) => id));
      demand(page.reply, differences(expected, came, ITEMS));
    }),
});

/** The checks of members of a list's input. */
const ofMembers: Readonly<Record<string, typeof tagEffects>> = {
  tagSlugs: tagEffects,
  gameType: typeEffects,
  timeRange: rangeEffects,
  search: searchEffects,
};

/** The checks of the filters of a list. */
export const filterEffects = (list: Operation, session: VerifySession): Effects => ({
  ...Object.fromEntries(
    inputMembers(list).flatMap(({ name }) => Object.entries(ofMembers[name]?.(list, session) ?? {})),
  ),
  ...pageEffects(list, session),
});
