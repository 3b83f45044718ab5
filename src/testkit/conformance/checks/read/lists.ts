import { type Check, checkOf, once } from '../../check.ts';
import { demandOutput, demandThat, OUTPUT } from '../../findings/expect.ts';
import { show, Skip } from '../../findings/finding.ts';
import type { Operation } from '../../contract/operation.ts';
import { inputMembers } from '../../contract/places.ts';
import { type Content, type ListedPage, type VerifySession, TAG } from '../../session.ts';
import { steadily, watchList } from '../../until-stable.ts';
import { filterChecks } from './filters.ts';
import { WALKABLE, WALKED, walkBothWays } from './walk.ts';

/** In the titles of the records to walk over. */
const WORD = 'walk';
const NOBODYS_TAG = 'a-tag-that-nobody-has';

/** The sort modes of a list, as its input names them. */
const sortModes = (list: Operation): string[] =>
  inputMembers(list)
    .find(({ name }) => name === 'sortBy')
    ?.schema.enum?.map(String) ?? [];

/** Records of our own, one of which is favored and another one liked, so that no two sort modes agree. */
const publishWalkable = async (session: VerifySession, list: Operation): Promise<Content[]> => {
  const titles = Array.from({ length: WALKABLE }, (_, n) => `${WORD} ${n + 1}`);
  const records = await session.publishAll(list, titles);
  const toggles = session.operations.filter(({ router, name }) => router === list.router && name.startsWith('toggle'));
  for (const [index, toggle] of toggles.entries()) {
    await session.prepare(toggle, { ...toggle.example.input, [toggle.idMember ?? 'id']: records[index + 1]?.id });
  }
  return records;
};

/** Walks over the records of others. Their new records may move the pages meanwhile. */
const walkPublic = (session: VerifySession, list: Operation, sortBy: string): Promise<void> =>
  steadily(watchList(session, list, { sortBy }, WALKED), () => walkBothWays(session, list, { sortBy }));

const walkChecks = (list: Operation, session: VerifySession): Check[] => {
  const own = once(() => publishWalkable(session, list));
  const canPublish = session.can(session.sibling(list, 'batchCreate')?.access ?? 'public');
  return sortModes(list).map((sortBy) =>
    checkOf(list, 'effect', `has each record once, by page and by cursor, sortBy ${sortBy}`, async () => {
      if (!canPublish) return walkPublic(session, list, sortBy);
      const wanted = (await own()).map(({ id }) => id);
      return walkBothWays(session, list, { sortBy, search: `${session.run} ${WORD}`, tagSlugs: [TAG] }, wanted);
    }),
  );
};

/** A check of what the items of a list tell about the caller. */
const viewerCheck = (list: Operation, session: VerifySession, anonymous: boolean): Check =>
  checkOf(list, 'effect', anonymous ? 'knows nobody without a key' : 'knows the caller by the key', async () => {
    if (!anonymous && session.caller.key === undefined) throw new Skip('it needs a key');
    const { output, reply } = await session.call<ListedPage>(list, { limit: 10, page: 1 }, { anonymous });
    if (output.items.length === 0) throw new Skip('there are no records');
    const faulty = output.items.findIndex(({ viewer }) => (viewer === null) !== anonymous);
    const came = show(output.items[faulty]?.viewer);
    const finding = {
      expected: anonymous ? 'null' : 'what the caller did',
      came,
      at: `${OUTPUT}/items/${faulty}/viewer`,
    };
    demandThat(faulty === -1, reply, finding);
  });

/** Checks of what a list is good for. */
export const listChecks = (list: Operation, session: VerifySession): Check[] => [
  ...walkChecks(list, session),
  viewerCheck(list, session, true),
  viewerCheck(list, session, false),
  checkOf(list, 'effect', 'has nothing under a tag that nobody has', async () => {
    const { output, reply } = await session.call<ListedPage>(list, { limit: 10, page: 1, tagSlugs: [NOBODYS_TAG] });
    const nothing = { items: [], total: 0, totalRelation: 'eq', hasMore: false, nextCursor: null };
    demandOutput(reply, nothing, output);
  }),
  ...filterChecks(list, session),
];
