import { setTimeout as sleep } from 'node:timers/promises';
import { type Check, checkOf } from '../../check.ts';
import { demand, demandOutput, demandThat, expectFailure, OUTPUT } from '../../findings/expect.ts';
import { longestTexts } from '../../contract/faults.ts';
import { differences, show, Skip } from '../../findings/finding.ts';
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

type RecordInput = Readonly<Record<string, unknown>>;

const UNTOUCHED = {
  viewCount: 0,
  likeCount: 0,
  dislikeCount: 0,
  favoriteCount: 0,
  viewer: { favorited: false, reaction: null },
};
/** Views are counted with a delay of about a second. */
const COUNTED_WITHIN_MS = 10_000;
const COUNTING_PAUSE_MS = 250;

const idsOf = (records: readonly Pick<Content, 'id'>[]): string[] => records.map(({ id }) => id).toSorted();

/** How far down the list a new record may be, while others publish. */
const LATEST = 100;
/** So often a record is published to see it counted: who removes others meanwhile may make up for it. */
const MAX_TRIALS = 3;

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

/** The members of an input that the output has under the same name. */
const echoed = (input: RecordInput, output: object): object =>
  Object.fromEntries(Object.entries(input).filter(([name]) => Object.hasOwn(output, name)));

/** The number of records of a user. */
const countRecords = async (session: VerifySession, id: string): Promise<number> => {
  const getProfile = session.operations.find((operation) => operation.id === 'user.getProfile');
  if (!getProfile) throw new Skip('there is no user.getProfile to see it by');
  const { output } = await session.call<UserProfile>(getProfile, { id });
  return output.gameCount + output.imagePostCount;
};

/** An input whose free texts are as long as may be; lists of texts aside, which would make such tags. */
const longestInput = (operation: Operation, session: VerifySession): RecordInput => {
  const mark = session.title('');
  const input = longestTexts(operation)
    .filter(({ at }) => !at.includes('0'))
    .reduce<unknown>((body, { at, value }) => withValue(body, at, value), {
      json: session.marked(operation.example.input),
    });
  const { json } = input as { json: RecordInput };
  const rest = Array.from(String(json['title'])).slice(mark.length);
  return { ...json, title: mark + rest.join('') };
};

/** Checks of what publishing a record does. */
export const createChecks = (create: Operation, session: VerifySession): Check[] => {
  const check = (name: string, run: () => Promise<void>): Check => checkOf(create, 'effect', name, run);
  const publish = (title: string): Promise<CallAnswer<Content>> =>
    session.call(create, session.marked({ ...create.example.input, title }));
  return [
    check('stores what it is given', async () => {
      const input = session.marked(create.example.input);
      const { output, reply } = await session.call<Content>(create, input);
      demandOutput(reply, echoed(input, output), output);
      const { length } = input['tagNames'] as string[];
      demandOutput(reply, { tags: { length } }, { tags: { length: output.tags.length } });
    }),
    check('stores texts at their longest, counted in code points', async () => {
      const input = longestInput(create, session);
      const { output, reply } = await session.call<Content>(create, input);
      demandOutput(reply, echoed(input, output), output);
    }),
    check('begins with no counts and no reactions', async () => {
      const { output, reply } = await publish('untouched');
      demandOutput(reply, { ...UNTOUCHED, updatedAt: output.createdAt }, output);
    }),
    check('is read back by getById', async () => {
      await demandReadBack(session, create, (await publish('read back')).output);
    }),
    check('is found by the very next search', async () => {
      await demandFound(session, create, 'sought', [(await publish('sought')).output]);
    }),
    check('is among the latest of the list', async () => {
      const { id } = (await publish('latest')).output;
      const { output, reply } = await session.call<ListedPage>(session.partner(create, 'list'), {
        limit: LATEST,
        page: 1,
      });
      const finding = { expected: `${show(id)} among the latest ${LATEST}`, came: 'others', at: `${OUTPUT}/items` };
      demandThat(
        output.items.some((item) => item.id === id),
        reply,
        finding,
      );
    }),
    check('counts for its author', async () => {
      const { author } = (await publish('counted')).output;
      for (let trial = 1; ; trial += 1) {
        const before = await countRecords(session, author.id);
        const { reply } = await publish('counted');
        const after = await countRecords(session, author.id);
        const finding = { expected: `more than ${before} records of the author after one more`, came: String(after) };
        if (after > before || trial === MAX_TRIALS) {
          demandThat(after > before, reply, finding);
          return;
        }
      }
    }),
  ];
};

/** Checks of what publishing several records at once does. */
export const batchCreateChecks = (batchCreate: Operation, session: VerifySession): Check[] => {
  const check = (name: string, run: () => Promise<void>): Check => checkOf(batchCreate, 'effect', name, run);
  return [
    check('stores all, in their order', async () => {
      const titles = ['batch one', 'batch two', 'batch three'];
      const input = session.batch(batchCreate, titles);
      const { output, reply } = await session.call<{ items: Content[] }>(batchCreate, input);
      demandOutput(reply, { items: titles.map((title) => ({ title: session.title(title) })) }, output);
      await demandFound(session, batchCreate, 'batch', output.items);
    }),
    check('stores nothing when one of all is faulty', async () => {
      const input = session.batch(batchCreate, ['atomic one', 'atomic two', 'atomic three']);
      const [member = ''] = Object.keys(input);
      const faulty = withValue({ json: input }, ['json', member, '1', 'title'], '');
      const reply = await session.send(batchCreate, { body: JSON.stringify(faulty) });
      const { issues = [] } = expectFailure(reply, 'VALIDATION_FAILED', batchCreate.id);
      const paths = issues.map(({ path }) => path);
      demand(reply, differences([`/${member}/1/title`], paths, '/error/json/data/issues'));
      await demandFound(session, batchCreate, 'atomic', []);
    }),
  ];
};

/** Checks of what changing a record does. */
export const updateChecks = (update: Operation, session: VerifySession): Check[] => {
  const check = (name: string, run: () => Promise<void>): Check => checkOf(update, 'effect', name, run);
  const members = inputMembers(update).filter(({ name }) => name !== update.idMember);
  return [
    check('changes what is given and nothing else', async () => {
      const { updatedAt: _, ...record } = lasting(await session.publish(update, { title: 'before' }));
      const title = session.title('after');
      const { output, reply } = await session.call<Content>(update, { id: record.id, title });
      demandOutput(reply, { ...record, title }, output);
      await demandReadBack(session, update, output);
    }),
    check('changes nothing when nothing is given', async () => {
      const record = lasting(await session.publish(update, { title: 'unchanged' }));
      const { output, reply } = await session.call(update, { id: record.id });
      demandOutput(reply, record, output);
    }),
    check('clears what is null', async () => {
      const { id } = await session.publish(update, { title: 'cleared' });
      const nulls = Object.fromEntries(members.filter(({ nullable }) => nullable).map(({ name }) => [name, null]));
      const { output, reply } = await session.call(update, { id, ...nulls });
      demandOutput(reply, nulls, output);
    }),
    check('is found by the new title, and no more by the old one', async () => {
      const { id } = await session.publish(update, { title: 'former' });
      await session.call(update, { id, title: session.title('present') });
      await demandFound(session, update, 'present', [{ id }]);
      await demandFound(session, update, 'former', []);
    }),
  ];
};

/** Checks of what reading a record does. */
export const getByIdChecks = (getById: Operation, session: VerifySession): Check[] => {
  const create = session.sibling(getById, 'create');
  const run = async (): Promise<void> => {
    const { id } = await session.publish(getById, { title: 'viewed' });
    const viewed = await session.call<Content>(getById, { id });
    if (viewed.output.viewCount > 0) return;
    // The same request again and again, by its id, too.
    const headers = { 'X-Request-Id': viewed.reply.requestId };
    for (const deadline = Date.now() + COUNTED_WITHIN_MS; ;) {
      await sleep(COUNTING_PAUSE_MS);
      const { output, reply } = await session.call<Content>(getById, { id }, { headers });
      if (output.viewCount > 0) return;
      const finding = { expected: 'a view to be counted by now', came: '0', at: `${OUTPUT}/viewCount` };
      demandThat(Date.now() < deadline, reply, finding);
    }
  };
  return create ? [checkOf(getById, 'effect', 'counts a view soon', run, create.needs)] : [];
};
