import { counted } from '../../../../contract/text.ts';
import { MAX_PAGE_SIZE, timeRangeDays } from '../../../../contract/index.ts';
import type { Answer } from '../answer.ts';
import type { Effects } from '../check.ts';
import type { Operation } from '../contract/operation.ts';
import { inputMembers } from '../contract/places.ts';
import { show, Skip } from '../findings/finding.ts';
import { idsOf, type ListedPage, type RecordSummary } from '../records.ts';
import type { VerifySession } from '../session.ts';
import { steadily, watchList } from '../until-stable.ts';
import { capitals } from '../values.ts';
import { walkBothWays } from './pages.ts';

// The filters of a list, on the records of any author.

const DAY_MS = 86_400_000;
/** The tolerated difference between the clocks of the answering server and of the one that dated the records. */
const CLOCK_SLACK_MS = 5000;
const MAX_SEARCH = 100;
const FEW = 5;
const NOBODYS_TAG = 'a-tag-that-nobody-has';

type Page = Answer<ListedPage>;
type Query = Readonly<Record<string, unknown>>;

/** A list with its known records. */
class FilteredList {
  readonly #session: VerifySession;
  readonly #list: Operation;

  constructor(session: VerifySession, list: Operation) {
    this.#session = session;
    this.#list = list;
  }

  read(query: Query): Promise<Page> {
    return this.#session.call<ListedPage>(this.#list, { limit: MAX_PAGE_SIZE, page: 1, ...query });
  }

  /** One of the known records. @throws Skip if none is of the kind */
  async sampleWith(what: string, isFit: (sample: RecordSummary) => boolean): Promise<RecordSummary> {
    const sample = (await this.#session.records.samples(this.#list)).find(isFit);
    if (!sample) throw new Skip(`no record is known that has ${what}`);
    return sample;
  }

  /** Repeats a check when other callers change the answers to a query meanwhile. @throws Mismatch, Skip */
  steadily(query: Query, limit: number, run: () => Promise<void>): Promise<void> {
    return steadily(watchList(this.#session, this.#list, query, limit), run);
  }

  /** @throws Mismatch unless two queries find the same number of records */
  demandAlike(query: Query, other: Query): Promise<void> {
    return this.steadily(query, 1, async () => {
      const { total } = (await this.read(query)).output;
      (await this.read(other)).demandOutput({ total });
    });
  }

  /** @throws Mismatch if a query finds anything */
  async demandNothing(query: Query): Promise<void> {
    const nothing = { items: [], total: 0, totalRelation: 'eq', hasMore: false, nextCursor: null };
    (await this.read(query)).demandOutput(nothing);
  }

  /** Walks through the results of a query, by page and by cursor. @throws Mismatch, Skip */
  walk(query: Query & { sortBy: string }): Promise<void> {
    return this.steadily(query, MAX_PAGE_SIZE, () => walkBothWays(this.#session, this.#list, query));
  }
}

/** @throws Mismatch for the first record of a page whose member does not match a filter */
const demandEach = <T>(
  page: Page,
  expected: string,
  at: string,
  valueOf: (item: RecordSummary) => T,
  isFine: (value: T) => boolean,
): void => {
  const values = (page.output.items as RecordSummary[]).map(valueOf);
  const index = values.findIndex((value) => !isFine(value));
  page.demand(index === -1, expected, values[index], `/items/${index}/${at}`);
};

/** @throws Mismatch unless a page with room for all matching records has this one */
const demandAmong = (page: Page, { id }: RecordSummary, by: string): void => {
  const { hasMore, items } = page.output;
  const isFound = hasMore || items.some((item) => item.id === id);
  page.demand(isFound, `${show(id)} among what ${by} finds`, counted(items.length, 'other'), '/items');
};

const tagLaws = (list: FilteredList): Effects => {
  /** The first `n` tags of a record. */
  const tagged = async (n: number): Promise<{ sample: RecordSummary; tagSlugs: string[] }> => {
    const sample = await list.sampleWith(n === 1 ? 'a tag' : `${n} tags`, ({ tags }) => tags.length >= n);
    return { sample, tagSlugs: sample.tags.slice(0, n).map(({ slug }) => slug) };
  };
  const demandTagged = async (n: number): Promise<void> => {
    const { sample, tagSlugs } = await tagged(n);
    const page = await list.read({ tagSlugs });
    for (const wanted of tagSlugs) {
      const isFine = (tags: RecordSummary['tags']): boolean => tags.some(({ slug }) => slug === wanted);
      demandEach(page, `the tag ${show(wanted)}`, 'tags', ({ tags }) => tags, isFine);
    }
    demandAmong(page, sample, 'tagSlugs');
  };
  return {
    'has by tagSlugs what has the tag': () => demandTagged(1),
    'has by tagSlugs what has all of two tags': () => demandTagged(2),
    'has each record of a tag once, by page and by cursor': async () =>
      list.walk({ tagSlugs: (await tagged(1)).tagSlugs, sortBy: 'latest' }),
    'has nothing under a tag that nobody has': () => list.demandNothing({ tagSlugs: [NOBODYS_TAG] }),
  };
};

const typeOf = (item: RecordSummary): string | null => ('gameType' in item ? item.gameType : null);

const typeLaws = (list: FilteredList, { random }: VerifySession): Effects => {
  const typed = (): Promise<RecordSummary> => list.sampleWith('a type', (item) => typeOf(item) !== null);
  return {
    'has by gameType what is of the type': async () => {
      const sample = await typed();
      const gameType = typeOf(sample);
      const page = await list.read({ gameType });
      demandEach(page, show(gameType), 'gameType', typeOf, (type) => type === gameType);
      demandAmong(page, sample, 'gameType');
    },
    'takes small letters of a gameType for capitals': async () => {
      const gameType = `${typeOf(await typed())}`;
      const small = gameType.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
      await list.demandAlike({ gameType }, { gameType: small });
    },
    'has nothing of a gameType that nobody uses': () =>
      list.demandNothing({ gameType: random.hex('type').slice(0, 32) }),
  };
};

const authorIdOf = ({ author }: RecordSummary): string => author.id;

const authorLaws = (list: FilteredList, { random }: VerifySession): Effects => ({
  'has by authorId the records of the user, and all of them': async () => {
    const authorId = authorIdOf(await list.sampleWith('an author', () => true));
    await list.steadily({}, MAX_PAGE_SIZE, async () => {
      const all = await list.read({});
      const page = await list.read({ authorId });
      demandEach(page, show(authorId), 'author/id', authorIdOf, (id) => id === authorId);
      const own = (all.output.items as RecordSummary[]).filter((item) => authorIdOf(item) === authorId);
      page.demandIs(idsOf(own), idsOf(page.output.items.slice(0, own.length)), '/items');
    });
  },
  'has nothing of an unknown user': () => list.demandNothing({ authorId: random.uuid('author') }),
});

const dateOf = ({ createdAt }: RecordSummary): string => createdAt;

/** The time of the deployment when it answered, or this machine's. */
const clockOf = ({ reply }: Page): number => Date.parse(reply.headers.get('date') ?? '') || Date.now();

const rangeLaws = (list: FilteredList): Effects => {
  const ranges = Object.entries(timeRangeDays).toSorted(([, a], [, b]) => a - b);
  const demandRange = (timeRange: string, days: number): Promise<void> =>
    list.steadily({}, MAX_PAGE_SIZE, async () => {
      const all = await list.read({});
      const page = await list.read({ timeRange });
      const begins = clockOf(page) - days * DAY_MS;
      const isSince = (createdAt: string, slack: number): boolean => Date.parse(createdAt) >= begins + slack;
      const expected = `no record older than ${days} days`;
      demandEach(page, expected, 'createdAt', dateOf, (createdAt) => isSince(createdAt, -CLOCK_SLACK_MS));
      const younger = all.output.items.filter(({ createdAt }) => isSince(createdAt, CLOCK_SLACK_MS));
      page.demandIs(idsOf(younger), idsOf(page.output.items.slice(0, younger.length)), '/items');
    });
  return {
    ...Object.fromEntries(
      ranges.map(([timeRange, days]) => [
        `has by timeRange ${timeRange} what is no older, and all of that`,
        () => demandRange(timeRange, days),
      ]),
    ),
    'has no more in a shorter timeRange than in a longer one': () =>
      list.steadily({}, 1, async () => {
        let shorter = 0;
        for (const timeRange of [...ranges.map(([name]) => name), 'all']) {
          const page = await list.read({ timeRange, limit: 1 });
          const { total } = page.output;
          page.demand(total >= shorter, `at least ${shorter} in the range ${timeRange}`, total, '/total');
          shorter = total;
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

/** The first word of a title without its outermost characters, unless these combine with others. */
const partOf = (sample: RecordSummary): string => {
  const [word = ''] = wordsOf(sample);
  const characters = Array.from(word);
  const isPlain = word === word.normalize('NFKC') && !/\p{M}/u.test(word);
  return isPlain && characters.length > 2 ? characters.slice(1, -1).join('') : word;
};

const searchLaws = (list: FilteredList, { random }: VerifySession): Effects => {
  const titled = (): Promise<RecordSummary> =>
    list.sampleWith('a title to search for', (one) => wordsOf(one).length > 0);
  const demandFound = async (queryOf: (sample: RecordSummary) => Query): Promise<void> => {
    const sample = await titled();
    demandAmong(await list.read(queryOf(sample)), sample, 'search');
  };
  const demandAlike = async (other: (search: string) => string): Promise<void> => {
    const search = partOf(await titled());
    await list.demandAlike({ search }, { search: other(search) });
  };
  return {
    'finds a record by its title': () => demandFound((one) => ({ search: wordsOf(one).join(' ') })),
    'finds a record by a part of a word of its title': () =>
      demandFound((one) => ({ search: partOf(one), tagSlugs: one.tags.slice(0, 10).map(({ slug }) => slug) })),
    'finds the same in capitals': () => demandAlike(capitals),
    'finds the same where white space surrounds the words': () => demandAlike((search) => ` ${search}\u3000`),
    'finds nothing by what nothing holds': () => list.demandNothing({ search: random.hex('search') }),
    'takes a blank search for none': () =>
      list.steadily({}, FEW, async () => {
        const { total, items } = (await list.read({ limit: FEW })).output;
        const page = await list.read({ search: ' ', limit: FEW });
        page.demandOutput({ total, items: items.map(({ id }) => ({ id })) });
      }),
  };
};

/** The laws of the members of a list's input. */
const ofMembers: Readonly<Record<string, (list: FilteredList, session: VerifySession) => Effects>> = {
  tagSlugs: tagLaws,
  gameType: typeLaws,
  authorId: authorLaws,
  timeRange: rangeLaws,
  search: searchLaws,
};

/** Each filter returns all matching records, and only these. */
export const filters = (operation: Operation, session: VerifySession): Effects => {
  const list = new FilteredList(session, operation);
  const members = inputMembers(operation).flatMap(({ name }) => ofMembers[name] ?? []);
  return Object.assign({}, ...members.map((lawsOf) => lawsOf(list, session))) as Effects;
};
