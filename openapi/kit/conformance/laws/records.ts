import { type Contract, MAX_SUMMARY_IMAGES, type OutputOf } from '../../../../contract/index.ts';
import type { Answer } from '../answer.ts';
import type { Effects } from '../check.ts';
import { longestTexts } from '../contract/faults.ts';
import type { Operation } from '../contract/operation.ts';
import { inputMembers, placesOf, withValue } from '../contract/places.ts';
import { demand, expectFailure, expectSuccess } from '../findings/expect.ts';
import { differences, show, Skip } from '../findings/finding.ts';
import { type Content, idsOf, type ListedPage, type RecordSummary, TAG } from '../records.ts';
import type { VerifySession } from '../session.ts';
import { demandCounted, eventually, MAX_TRIALS, steadily } from '../until-stable.ts';
import { pick } from '../values.ts';

type Input = Readonly<Record<string, unknown>>;
type Profile = OutputOf<Contract['user']['getProfile']>;

const UNTOUCHED = {
  viewCount: 0,
  likeCount: 0,
  dislikeCount: 0,
  favoriteCount: 0,
  viewer: { favorited: false, reaction: null },
};
/** The greatest position of a new record in the list, while others publish. */
const LATEST = 100;

/** A record without the member that any reader changes. */
const unviewed = ({ viewCount: _viewCount, ...record }: RecordSummary | Content) => record;

/** The members of a record that neither views nor changes of its author's profile change. */
const lasting = ({ viewCount: _viewCount, author: { id, nickname }, ...record }: Content) => ({
  ...record,
  author: { id, nickname },
});

/** The records of this run with a word in their titles, as a router's list finds them. @throws Mismatch, Skip */
const found = (session: VerifySession, operation: Operation, word = ''): Promise<Answer<ListedPage>> =>
  session.call<ListedPage>(session.partner(operation, 'list'), { limit: 10, ...session.records.query(word) });

/** @throws Mismatch unless a search for a word in the titles of this run finds exactly these records */
const demandFound = async (
  session: VerifySession,
  operation: Operation,
  word: string,
  wanted: readonly Pick<Content, 'id'>[],
): Promise<void> => {
  const page = await found(session, operation, word);
  page.demandIs(idsOf(wanted).toSorted(), idsOf(page.output.items).toSorted(), '/items');
  page.demandOutput({ total: wanted.length });
};

/** @throws Mismatch unless getById returns a record as before, apart from later views */
const demandReadBack = async (session: VerifySession, operation: Operation, record: Content): Promise<void> => {
  const getById = session.partner(operation, 'getById');
  const expected = lasting(record);
  (await session.call(getById, { id: record.id })).demandOutput(expected);
  const toOthers = await session.call(getById, { id: record.id }, { anonymous: true });
  toOthers.demandOutput({ ...expected, viewer: null });
};

/** @throws Mismatch unless the profile of a record's author counts a change */
const demandAuthorCounts = (
  session: VerifySession,
  { author }: Content,
  change: () => Promise<unknown>,
  wanted: 'more' | 'fewer',
): Promise<void> =>
  demandCounted(
    () => session.call<Profile>(session.operation('user.getProfile'), { id: author.id }),
    ({ gameCount, imagePostCount }) => gameCount + imagePostCount,
    change,
    'records of the author ',
    undefined,
    wanted,
  );

/** A read tells callers their own reactions and favorites, and no other caller's. */
export const viewer = (read: Operation, session: VerifySession): Effects => {
  const demandViewer = async (anonymous: boolean): Promise<void> => {
    if (!anonymous && session.caller.key === undefined) throw new Skip('it needs a key');
    const input =
      read.idMember === undefined ? { limit: 10, page: 1 } : { id: (await session.records.samples(read))[0]?.id };
    const answer = await session.call<ListedPage | Content>(read, input, { anonymous });
    const { output } = answer;
    const isPage = 'items' in output;
    const records = isPage ? output.items : [output];
    if (records.length === 0) throw new Skip('there are no records');
    const faulty = records.findIndex((record) => (record.viewer === null) !== anonymous);
    const at = isPage ? `/items/${faulty}/viewer` : '/viewer';
    answer.demand(faulty === -1, anonymous ? 'null' : 'what the caller did', records[faulty]?.viewer, at);
  };
  return {
    'knows nobody without a key': () => demandViewer(true),
    'knows the caller by the key': () => demandViewer(false),
  };
};

/** A record equals that of its list, by all reads. */
export const agrees = (getById: Operation, session: VerifySession): Effects => {
  /** Runs an action on records that others leave unchanged meanwhile. @throws Mismatch, Skip */
  const withEach = async (act: (input: { id: string }) => Promise<void>, most?: number): Promise<void> => {
    for (const { id } of (await session.records.samples(getById)).slice(0, most)) {
      const watch = async () => unviewed(await session.prepare<RecordSummary>(getById, { id }));
      await steadily(watch, () => act({ id }));
    }
  };
  return {
    'shows what the list shows of a record, and more': () =>
      withEach(async (input) => {
        const record = await session.call<RecordSummary>(getById, input);
        const tagSlugs = record.output.tags.slice(0, 10).map(({ slug }) => slug);
        const query = { limit: LATEST, page: 1, tagSlugs };
        const { items } = await session.prepare<ListedPage>(session.partner(getById, 'list'), query);
        const listed = (items as RecordSummary[]).find((item) => item.id === input.id);
        // Lists shorten images.
        if (listed) record.demandOutput({ ...unviewed(listed), ...pick(record.output, ['images']) });
      }),
    'answers a GET as it does a POST': () =>
      withEach(async (input) => {
        const post = await session.call<RecordSummary>(getById, input);
        const get = await session.get(getById, input);
        const came = expectSuccess(getById, get) as RecordSummary;
        demand(get, differences(unviewed(post.output), unviewed(came), '/result/data/json'));
      }, 1),
  };
};

/** A read counts a view, once per address and period. */
export const views = (getById: Operation, session: VerifySession): Effects => ({
  'counts a view soon': async () => {
    const { id } = await session.records.publish(getById, { title: 'viewed' });
    const { reply } = await session.call<Content>(getById, { id });
    // Repeats the request, also with the same request id.
    const headers = { 'X-Request-Id': reply.requestId };
    await eventually(
      () => session.call<Content>(getById, { id }, { headers }),
      ({ viewCount }) => viewCount > 0,
      () => ['a view to be counted by now', '0', '/viewCount'],
    );
  },
});

/** A list shows the first images of a post, and the count of all. */
export const shortens = (list: Operation, session: VerifySession): Effects => ({
  [`shows the first ${MAX_SUMMARY_IMAGES} images of a post, and counts all`]: async () => {
    const images = Array.from({ length: MAX_SUMMARY_IMAGES + 1 }, (_, n) => `https://images.example.com/${n}.webp`);
    const { id } = await session.records.publish(list, { title: 'in short', images });
    const page = await found(session, list, 'in short');
    const [post] = (page.output as OutputOf<Contract['image']['list']>).items;
    if (post?.id !== id) throw new Skip('the post is not found');
    const expected = { images: images.slice(0, MAX_SUMMARY_IMAGES), imageCount: images.length };
    page.demandIs(expected, pick(post, Object.keys(expected)), '/items/0');
  },
});

/** An input with free texts of the greatest length, except lists of texts, which would create such tags. */
const longestInput = (operation: Operation, { records }: VerifySession): Input => {
  const mark = records.title('');
  const body: unknown = { json: records.marked(operation.example.input) };
  const texts = longestTexts(operation).filter(({ at }) => !at.includes('0'));
  const { json } = texts.reduce((longer, { at, value }) => withValue(longer, at, value), body) as { json: Input };
  const rest = Array.from(String(json['title'])).slice(mark.length);
  return { ...json, title: mark + rest.join('') };
};

/** A published record is stored as sent, and at once read back, listed, found and counted. */
export const publishes = (create: Operation, session: VerifySession): Effects => {
  const { records } = session;
  const publish = (title: string): Promise<Answer<Content>> =>
    session.call(create, records.marked({ ...create.example.input, title }));
  /** @throws Mismatch unless the output equals the input in the members that both have */
  const demandStored = async (input: Input): Promise<void> => {
    const record = await session.call<Content>(create, input);
    record.demandOutput(pick(input, Object.keys(record.output)));
    record.demandIs((input['tagNames'] as string[]).length, record.output.tags.length, '/tags/length');
  };
  return {
    'stores what it is given': () => demandStored(records.marked(create.example.input)),
    'stores texts at their longest, counted in code points': () => demandStored(longestInput(create, session)),
    'begins with no counts and no reactions': async () => {
      const record = await publish('untouched');
      record.demandOutput({ ...UNTOUCHED, updatedAt: record.output.createdAt });
    },
    'is read back by getById': async () => demandReadBack(session, create, (await publish('read back')).output),
    'is found by the very next search': async () =>
      demandFound(session, create, 'sought', [(await publish('sought')).output]),
    'is among the latest of the list': async () => {
      const { id } = (await publish('latest')).output;
      const page = await session.call<ListedPage>(session.partner(create, 'list'), { limit: LATEST, page: 1 });
      const isFound = idsOf(page.output.items).includes(id);
      page.demand(isFound, `${show(id)} among the latest ${LATEST}`, 'others', '/items');
    },
    'counts for its author': async () => {
      await demandAuthorCounts(session, (await publish('counted')).output, () => publish('counted'), 'more');
    },
  };
};

/** Records published together are stored in their order, or not at all. */
export const publishesAll = (batchCreate: Operation, session: VerifySession): Effects => ({
  'stores all, in their order': async () => {
    const titles = ['batch one', 'batch two', 'batch three'];
    const batch = await session.call<{ items: Content[] }>(batchCreate, session.records.batch(batchCreate, titles));
    batch.demandOutput({ items: titles.map((title) => ({ title: session.records.title(title) })) });
    await demandFound(session, batchCreate, 'batch', batch.output.items);
  },
  'stores nothing when one of all is faulty': async () => {
    const input = session.records.batch(batchCreate, ['atomic one', 'atomic two', 'atomic three']);
    const [member = ''] = Object.keys(input);
    const reply = await session.post(batchCreate, withValue(input, [member, '1', 'title'], ''));
    const { issues = [] } = expectFailure(reply, 'VALIDATION_FAILED', batchCreate.id);
    const paths = issues.map(({ path }) => path);
    demand(reply, differences([`/${member}/1/title`], paths, '/error/json/data/issues'));
    await demandFound(session, batchCreate, 'atomic', []);
  },
});

/** A change of a record changes the given members, and nothing else; reads and searches show it at once. */
export const updates = (update: Operation, session: VerifySession): Effects => {
  const { records } = session;
  /** The members of objects that can be emptied. */
  const nested = placesOf(update).filter(
    ({ at, nullable, schema }) => at.length === 3 && at[2] !== '0' && (nullable || schema.type === 'array'),
  );
  return {
    'changes what is given and nothing else': async () => {
      const { updatedAt: _, ...record } = lasting(await records.publish(update, { title: 'before' }));
      const title = records.title('after');
      const answer = await session.call<Content>(update, { id: record.id, title });
      answer.demandOutput({ ...record, title });
      await demandReadBack(session, update, answer.output);
    },
    'changes nothing when nothing is given': async () => {
      const record = lasting(await records.publish(update, { title: 'unchanged' }));
      (await session.call(update, { id: record.id })).demandOutput(record);
    },
    'clears what is null': async () => {
      const { id } = await records.publish(update, { title: 'cleared' });
      const clearable = inputMembers(update).filter(({ nullable }) => nullable);
      const nulls = Object.fromEntries(clearable.map(({ name }) => [name, null]));
      (await session.call(update, { id, ...nulls })).demandOutput(nulls);
    },
    ...(nested.length > 0 && {
      'changes a nested member alone': async () => {
        const { updatedAt: _, ...record } = lasting(await records.publish(update, { title: 'nested' }));
        let expected: unknown = record;
        for (const { at, nullable } of nested) {
          const place = at.slice(1);
          const value = nullable ? null : [];
          expected = withValue(expected, place, value);
          const answer = await session.call<Content>(update, withValue({ id: record.id }, place, value));
          answer.demandOutput(expected as object);
          await demandReadBack(session, update, answer.output);
        }
      },
    }),
    'is found by the new title, and no more by the old one': async () => {
      const { id } = await records.publish(update, { title: 'former' });
      await session.call(update, { id, title: records.title('present') });
      await demandFound(session, update, 'present', [{ id }]);
      await demandFound(session, update, 'former', []);
    },
  };
};

/** A deleted record is no longer found or counted, and stays deleted. */
export const deletes = (remove: Operation, session: VerifySession): Effects => {
  const { records } = session;
  return {
    'is not found afterwards': async () => {
      const { id } = await records.publish(remove, { title: 'withdrawn' });
      (await session.call(remove, { id })).demandOutput({ id });
      for (const one of [session.partner(remove, 'getById'), remove]) {
        expectFailure(await session.post(one, { id }), remove.notFound!, one.id);
      }
      await demandFound(session, remove, 'withdrawn', []);
    },
    'leaves every list': async () => {
      const { id, author } = await records.publish(remove, { title: 'unlisted' });
      await session.call(remove, { id });
      for (const filter of [{}, { authorId: author.id }, { tagSlugs: [TAG] }]) {
        const query = { limit: LATEST, page: 1, ...filter };
        const page = await session.call<ListedPage>(session.partner(remove, 'list'), query);
        page.demand(!idsOf(page.output.items).includes(id), `a list without ${id}`, 'it', '/items');
      }
    },
    'counts no more for its author': async () => {
      const titles = Array.from({ length: MAX_TRIALS }, (_, n) => `discounted ${n}`);
      const left = await records.publishAll(remove, titles);
      await demandAuthorCounts(session, left[0]!, () => session.call(remove, { id: left.pop()!.id }), 'fewer');
    },
  };
};
