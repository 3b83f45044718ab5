import type { Effects } from '../check.ts';
import type { Operation } from '../contract/operation.ts';
import { type Content, idsOf, type ListedPage } from '../records.ts';
import type { VerifySession } from '../session.ts';
import { pick } from '../values.ts';

type Input = Readonly<Record<string, unknown>>;

/** A call of a toggle, and the resulting state. */
type Step = readonly [input: Input, state: Input];

const [LIKE, DISLIKE] = [{ type: 'like' }, { type: 'dislike' }];
const LIKED = { reaction: 'like', likeCount: 1, dislikeCount: 0 };
const DISLIKED = { reaction: 'dislike', likeCount: 0, dislikeCount: 1 };
const NEITHER = { reaction: null, likeCount: 0, dislikeCount: 0 };

/** Steps for a new record, by the names of toggles. */
const SEQUENCES: Readonly<Record<string, Readonly<Record<string, readonly Step[]>>>> = {
  toggleFavorite: {
    'on and off again': [
      [{}, { favorited: true, favoriteCount: 1 }],
      [{}, { favorited: false, favoriteCount: 0 }],
    ],
  },
  toggleReaction: {
    'a like on and off again': [
      [LIKE, LIKED],
      [LIKE, NEITHER],
    ],
    'a dislike on and off again': [
      [DISLIKE, DISLIKED],
      [DISLIKE, NEITHER],
    ],
    'a like over to a dislike': [
      [LIKE, LIKED],
      [DISLIKE, DISLIKED],
    ],
  },
};

/** The state as records show it: `viewer` holds the actions of the caller. */
const shownState = (record: Content, state: Input): object => {
  const own = record.viewer ?? {};
  const counts = Object.entries(state).filter(([name]) => !Object.hasOwn(own, name));
  return { ...Object.fromEntries(counts), viewer: { ...own, ...pick(state, Object.keys(own)) } };
};

/** A toggle switches on, over and off; counts stay right in between, and all reads agree. */
export const toggles = (toggle: Operation, session: VerifySession): Effects => {
  const demandSteps = async (name: string, steps: readonly Step[]): Promise<void> => {
    const record = await session.records.publish(toggle, { title: `${toggle.name} ${name}` });
    const id = { [toggle.idMember ?? 'id']: record.id };
    for (const [input, state] of steps) {
      const answer = await session.call(toggle, { ...input, ...id });
      answer.demandIs({ ...id, ...state }, answer.output);
      const expected = shownState(record, state);
      (await session.call(session.partner(toggle, 'getById'), { id: record.id })).demandOutput(expected);
      const query = { limit: 10, ...session.records.query() };
      const page = await session.call<ListedPage>(session.partner(toggle, 'list'), query);
      const index = idsOf(page.output.items).indexOf(record.id);
      page.demandHas(expected, page.output.items[index], `/items/${index}`);
    }
  };
  return Object.fromEntries(
    Object.entries(SEQUENCES[toggle.name] ?? {}).map(([name, steps]) => [
      `switches ${name}, and every read agrees`,
      () => demandSteps(name, steps),
    ]),
  );
};
