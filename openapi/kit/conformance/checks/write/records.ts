import type { Effects } from '../../check.ts';
import { demand, demandOutput, demandThat, expectFailure, OUTPUT } from '../../findings/expect.ts';
import { longestTexts } from '../../contract/faults.ts';
import { differences, show } from '../../findings/finding.ts';
import type { Operation } from '../../contract/operation.ts';
import { inputMembers, withValue } from '../../contract/places.ts';
import {
  type CallAnswer,
  type Content,
  type ListedPage,
  type VerifySession,
  TAG,
  type UserProfile,
} from '../../session.ts';
import { demandCounted, eventually } from '../../until-stable.ts';
import { pick } from '../../values.ts';

type RecordInput = Readonly<Record<string, unknown>>;

const UNTOUCHED = {
  viewCount: 0,
  likeCount: 0,
  dislikeCount: 0,
  favoriteCount: 0,
  viewer: { favorited: false, reaction: null },
};

const idsOf = (records: readonly Pick<Content, 'id'>[]): string[] => records.map(({ id }) => id).toSorted();

/** How far down the list a new record may be, while others publish. */
const LATEST = 100;

/** The members of a record that neither views nor changes of its author's profile change. */
const lasting = ({ viewCount: _viewCount, author: { id, nickname }, ...record }: Content) => ({
  ...record,
  author: { id, nickname },
});

/** @throws Mismatch unless a search for a word in the titles of this run finds these records and no others */
const demandFound = async (
  session: VerifySession,
  operation: Operation,
  word: string,
  wanted: readonly Pick<Content, 'id'>[],
): Promise<void> => {
  const query = { limit: 10, page: 1, search: `${session.run} ${word}`, tagSlugs: [TAG] };
  const { output, reply } = await session.call<ListedPage>(session.partner(operation, 'list'), query);
  demand(reply, differences(idsOf(wanted), idsOf(output.items), `${OUTPUT}/items`));
  demandOutput(reply, { total: wanted.length }, output);
};

/** @throws Mismatch unless getById answers a record as it was answered before, but for the views since then */
const demandReadBack = async (session: VerifySession, operation: Operation, record: Content): Promise<void> => {
  const getById = session.partner(operation, 'getById');
  const expected = lasting(record);
  const own = await session.call(getById, { id: record.id });
  demandOutput(own.reply, expected, own.output);
  const others = await session.call(getById, { id: record.id }, { anonymous: true });
  demandOutput(others.reply, { ...expected, viewer: null }, others.output);
};

/** The number of records of a user. */
const countRecords = async (session: VerifySession, id: string): Promise<CallAnswer<number>> => {
  const { output, reply } = await session.call<UserProfile>(session.operation('user.getProfile'), { id });
  return { output: output.gameCount + output.imagePostCount, reply };
};

/** An input whose free texts are as long as may be; lists of texts aside, which would make such tags. */
const longestInput = (operation: Operation, session: VerifySession): RecordInput => {
  const mark = session.title('');
  const body: unknown = { json: session.marked(operation.example.input) };
  const texts = longestTexts(operation).filter(({ at }) => !at.includes('0'));
  const { json } = texts.reduce((longer, { at, value }) => withValue(longer, at, value), body) as { json: RecordInput };
  const rest = Array.from(String(json['title'])).slice(mark.length);
  return { ...json, title: mark + rest.join('') };
};

/** The checks of publishing a record. */
export const createEffects = (create: Operation, session: VerifySession): Effects => {
  const publish = (title: string): Promise<CallAnswer<Content>> =>
    session.call(create, session.marked({ ...create.example.input, title }));
  /** @throws Mismatch unless the members of an input are in the output, where it has them */
  const stores = async (input: RecordInput): Promise<void> => {
    const { output, reply } = await session.call<Content>(create, input);
    demandOutput(reply, pick(input, Object.keys(output)), output);
    const { length } = input['tagNames'] as string[];
    demandOutput(reply, { tags: { length } }, { tags: { length: output.tags.length } });
  };
  return {
    'stores what it is given': () => stores(session.marked(create.example.input)),
    'stores texts at their longest, counted in code points': () => stores(longestInput(create, session)),
    'begins with no counts and no reactions': async () => {
      const { output, reply } = await publish('untouched');
      demandOutput(reply, { ...UNTOUCHED, updatedAt: output.createdAt }, output);
    },
    'is read back by getById': async () => {
      await demandReadBack(session, create, (await publish('read back')).output);
    },
    'is found by the very next search': async () => {
      await demandFound(session, create, 'sought', [(await publish('sought')).output]);
    },
    'is among the latest of the list': async () => {
      const { id } = (await publish('latest')).output;
      const list = session.partner(create, 'list');
      const { output, reply } = await session.call<ListedPage>(list, { limit: LATEST, page: 1 });
      const finding = { expected: `${show(id)} among the latest ${LATEST}`, came: 'others', at: `${OUTPUT}/items` };
      demandThat(idsOf(output.items).includes(id), reply, finding);
    },
    'counts for its author': async () => {
      const { author } = (await publish('counted')).output;
      await demandCounted(
        () => countRecords(session, author.id),
        () => publish('counted'),
        'records of the author ',
      );
    },
  };
};

/** The checks of publishing several records at once. */
export const batchCreateEffects = (batchCreate: Operation, session: VerifySession): Effects => ({
  'stores all, in their order': async () => {
    const titles = ['batch one', 'batch two', 'batch three'];
    const input = session.batch(batchCreate, titles);
    const { output, reply } = await session.call<{ items: Content[] }>(batchCreate, input);
    demandOutput(reply, { items: titles.map((title) => ({ title: session.title(title) })) }, output);
    await demandFound(session, batchCreate, 'batch', output.items);
  },
  'stores nothing when one of all is faulty': async () => {
    const input = session.batch(batchCreate, ['atomic one', 'atomic two', 'atomic three']);
    const [member = ''] = Object.keys(input);
    const reply = await session.post(batchCreate, withValue(input, [member, '1', 'title'], ''));
    const { issues = [] } = expectFailure(reply, 'VALIDATION_FAILED', batchCreate.id);
    const paths = issues.map(({ path }) => path);
    demand(reply, differences([`/${member}/1/title`], paths, '/error/json/data/issues'));
    await demandFound(session, batchCreate, 'atomic', []);
  },
});

/** The checks of changing a record. */
export const updateEffects = (update: Operation, session: VerifySession): Effects => ({
  'changes what is given and nothing else': async () => {
    const { updatedAt: _, ...record } = lasting(await session.publish(update, { title: 'before' }));
    const title = session.title('after');
    const { output, reply } = await session.call<Content>(update, { id: record.id, title });
    demandOutput(reply, { ...record, title }, output);
    await demandReadBack(session, update, output);
  },
  'changes nothing when nothing is given': async () => {
    const record = lasting(await session.publish(update, { title: 'unchanged' }));
    const { output, reply } = await session.call(update, { id: record.id });
    demandOutput(reply, record, output);
  },
  'clears what is null': async () => {
    const { id } = await session.publish(update, { title: 'cleared' });
    const clearable = inputMembers(update).filter(({ nullable }) => nullable);
    const nulls = Object.fromEntries(clearable.map(({ name }) => [name, null]));
    const { output, reply } = await session.call(update, { id, ...nulls });
    demandOutput(reply, nulls, output);
  },
  'is found by the new title, and no more by the old one': async () => {
    const { id } = await session.publish(update, { title: 'former' });
    await session.call(update, { id, title: session.title('present') });
    await demandFound(session, update, 'present', [{ id }]);
    await demandFound(session, update, 'former', []);
  },
});

/** The checks of views. */
export const viewEffects = (getById: Operation, session: VerifySession): Effects => ({
  'counts a view soon': async () => {
    const { id } = await session.publish(getById, { title: 'viewed' });
    const { reply } = await session.call<Content>(getById, { id });
    // The same request again and again, by its id, too.
    const headers = { 'X-Request-Id': reply.requestId };
    await eventually(
      () => session.call<Content>(getById, { id }, { headers }),
      ({ viewCount }) => viewCount > 0,
      () => ({ expected: 'a view to be counted by now', came: '0', at: `${OUTPUT}/viewCount` }),
    );
  },
});
