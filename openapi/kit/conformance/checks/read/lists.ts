import { type Effects, once } from '../../check.ts';
import { demandOutput, demandThat, OUTPUT } from '../../findings/expect.ts';
import { show, Skip } from '../../findings/finding.ts';
import type { Operation } from '../../contract/operation.ts';
import { inputMembers } from '../../contract/places.ts';
import { type Content, type ListedPage, type VerifySession, TAG } from '../../session.ts';
import { steadily, watchList } from '../../until-stable.ts';
import { filterEffects } from './filters.ts';
import { WALKABLE, WALKED, walkBothWays } from './walk.ts';

/** In the titles of the records to walk over. */
const WORD = 'walk';
const NOBODYS_TAG = 'a-tag-that-nobody-has';

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

/** The checks of a list's orders: of own records or, without a key, of those of others, which may move meanwhile. */
const walkEffects = (list: Operation, session: VerifySession): Effects => {
  const own = once(() => publishWalkable(session, list));
  const canPublish = session.can(session.sibling(list, 'batchCreate')?.access ?? 'public');
  const walk = async (sortBy: string): Promise<void> => {
    if (!canPublish) {
      return steadily(watchList(session, list, { sortBy }, WALKED), () => walkBothWays(session, list, { sortBy }));
    }
    const wanted = (await own()).map(({ id }) => id);
    return walkBothWays(session, list, { sortBy, search: `${session.run} ${WORD}`, tagSlugs: [TAG] }, wanted);
  };
  const sortModes =
    inputMembers(list)
      .find(({ name }) => name === 'sortBy')
      ?.schema.enum?.map(String) ?? [];
  return Object.fromEntries(
    sortModes.map((sortBy) => [`has each record once, by page and by cursor, sortBy ${sortBy}`, () => walk(sortBy)]),
  );
};

/** The checks of a list. */
export const listEffects = (list: Operation, session: VerifySession): Effects => {
  /** @throws Mismatch unless the items tell of the caller, or tell nothing where there is none */
  const demandViewer = async (anonymous: boolean): Promise<void> => {
    if (!anonymous && session.caller.key === undefined) throw new Skip('it needs a key');
    const { output, reply } = await session.call<ListedPage>(list, { limit: 10, page: 1 }, { anonymous });
    if (output.items.length === 0) throw new Skip('there are no records');
    const faulty = output.items.findIndex(({ viewer }) => (viewer === null) !== anonymous);
    demandThat(faulty === -1, reply, {
      expected: anonymous ? 'null' : 'what the caller did',
      came: show(output.items[faulty]?.viewer),
      at: `${OUTPUT}/items/${faulty}/viewer`,
    });
  };
  return {
    ...walkEffects(list, session),
    'knows nobody without a key': () => demandViewer(true),
    'knows the caller by the key': () => demandViewer(false),
    'has nothing under a tag that nobody has': async () => {
      const { output, reply } = await session.call<ListedPage>(list, { limit: 10, page: 1, tagSlugs: [NOBODYS_TAG] });
      const nothing = { items: [], total: 0, totalRelation: 'eq', hasMore: false, nextCursor: null };
      demandOutput(reply, nothing, output);
    },
    ...filterEffects(list, session),
  };
};
