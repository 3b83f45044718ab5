import type { Effects } from '../../check.ts';
import { demand, demandOutput, expectSuccess, OUTPUT } from '../../findings/expect.ts';
import { differences } from '../../findings/finding.ts';
import type { Operation } from '../../contract/operation.ts';
import type { ListedPage, VerifySession, RecordSummary } from '../../session.ts';
import { steadily } from '../../until-stable.ts';

/** A record without the member that any reader changes. */
const unviewed = ({ viewCount: _viewCount, ...record }: RecordSummary) => record;

/** A record as its list shows it, but for that, and for the images that lists shorten. */
const listedWithout = (record: RecordSummary): object =>
  Object.fromEntries(Object.entries(unviewed(record)).filter(([name]) => name !== 'images'));

/** The checks of reading a record that others published. */
export const sampleEffects = (getById: Operation, session: VerifySession): Effects => {
  const watch = (input: object) => async (): Promise<unknown> =>
    unviewed(await session.prepare<RecordSummary>(getById, input));
  return {
    'shows what the list shows of a record, and more': async () => {
      for (const { id } of await session.samples(getById)) {
        await steadily(watch({ id }), async () => {
          const { output, reply } = await session.call<RecordSummary>(getById, { id });
          const { items } = await session.prepare<ListedPage>(session.partner(getById, 'list'), {
            limit: 100,
            page: 1,
            tagSlugs: output.tags.slice(0, 10).map(({ slug }) => slug),
          });
          const listed = items.find((item) => item.id === id);
          if (listed) demandOutput(reply, listedWithout(listed), output);
        });
      }
    },
    'knows nobody without a key': async () => {
      const [sample] = await session.samples(getById);
      const { output, reply } = await session.call(getById, { id: sample?.id }, { anonymous: true });
      demandOutput(reply, { viewer: null }, output);
    },
    'answers a GET as it does a POST': async () => {
      const [sample] = await session.samples(getById);
      const json = { id: sample?.id };
      await steadily(watch(json), async () => {
        const post = await session.call<RecordSummary>(getById, json);
        const get = await session.get(getById, json);
        const came = expectSuccess(getById, get) as RecordSummary;
        demand(get, differences(unviewed(post.output), unviewed(came), OUTPUT));
      });
    },
  };
};
