import { type Check, checkOf } from '../../check.ts';
import { demand, demandOutput, expectSuccess, OUTPUT } from '../../findings/expect.ts';
import { differences } from '../../findings/finding.ts';
import type { Operation } from '../../contract/operation.ts';
import type { CallAnswer, ListedPage, VerifySession, RecordSummary } from '../../session.ts';
import { steadily } from '../../until-stable.ts';

// Records that others published, as the operations that read them show them.

/** The member that any reader changes. */
const VIEWED = 'viewCount';
/** The members that lists shorten. */
const SHORTENED = ['images'];

const without = (record: object, names: readonly string[]): object =>
  Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)));

const watchRecord = (session: VerifySession, getById: Operation, input: object) => async (): Promise<unknown> =>
  without(await session.prepare<RecordSummary>(getById, input), [VIEWED]);

/** Checks that reading a record shows what its list does. */
export const sampleChecks = (getById: Operation, session: VerifySession): Check[] => {
  const list = session.sibling(getById, 'list');
  if (!list) return [];
  return [
    checkOf(getById, 'effect', 'shows what the list shows of a record, and more', async () => {
      for (const { id } of await session.samples(getById)) {
        await steadily(watchRecord(session, getById, { id }), async () => {
          const { output, reply } = await session.call<RecordSummary>(getById, { id });
          const { items } = await session.prepare<ListedPage>(list, {
            limit: 100,
            page: 1,
            tagSlugs: output.tags.slice(0, 10).map(({ slug }) => slug),
          });
          const listed = items.find((item) => item.id === id);
          if (listed) demandOutput(reply, without(listed, [VIEWED, ...SHORTENED]), output);
        });
      }
    }),
    checkOf(getById, 'effect', 'knows nobody without a key', async () => {
      const [sample] = await session.samples(getById);
      const { output, reply } = await session.call(getById, { id: sample?.id }, { anonymous: true });
      demandOutput(reply, { viewer: null }, output);
    }),
    checkOf(getById, 'effect', 'answers a GET as it does a POST', async () => {
      const [sample] = await session.samples(getById);
      const json = { id: sample?.id };
      const input = encodeURIComponent(JSON.stringify({ json }));
      await steadily(watchRecord(session, getById, json), async () => {
        const post: CallAnswer<object> = await session.call(getById, json);
        const get = await session.send({ ...getById, path: `${getById.path}?input=${input}` }, { method: 'GET' });
        const came = expectSuccess(getById, get) as object;
        demand(get, differences(without(post.output, [VIEWED]), without(came, [VIEWED]), OUTPUT));
      });
    }),
  ];
};
