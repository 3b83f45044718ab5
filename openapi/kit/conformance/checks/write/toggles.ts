import type { Effects } from '../../check.ts';
import { demand, demandOutput, OUTPUT } from '../../findings/expect.ts';
import { differences } from '../../findings/finding.ts';
import type { Operation } from '../../contract/operation.ts';
import { type Content, type ListedPage, type VerifySession, TAG } from '../../session.ts';
import { pick } from '../../values.ts';

/** A call of a toggle and the state that it leads to. */
interface Step {
  input: Readonly<Record<string, unknown>>;
  state: Readonly<Record<string, unknown>>;
}

const LIKE = { type: 'like' };
const DISLIKE = { type: 'dislike' };
const LIKED = { reaction: 'like', likeCount: 1, dislikeCount: 0 };
const DISLIKED = { reaction: 'dislike', likeCount: 0, dislikeCount: 1 };
const NEITHER = { reaction: null, likeCount: 0, dislikeCount: 0 };

/** The state as records show it: what the caller did is in `viewer`. */
const shownState = (record: Content, state: Step['state']): object => {
  const viewer = record.viewer ?? {};
  const counts = Object.entries(state).filter(([name]) => !Object.hasOwn(viewer, name));
  return { ...Object.fromEntries(counts), viewer: { ...viewer, ...pick(state, Object.keys(viewer)) } };
};

/** @throws Mismatch unless getById and the list show a state of our record */
const demandShown = async (
  session: VerifySession,
  toggle: Operation,
  record: Content,
  state: Step['state'],
): Promise<void> => {
  const expected = shownState(record, state);
  const one = await session.call(session.partner(toggle, 'getById'), { id: record.id });
  demandOutput(one.reply, expected, one.output);
  const query = { limit: 10, page: 1, search: session.run, tagSlugs: [TAG] };
  const { output, reply } = await session.call<ListedPage>(session.partner(toggle, 'list'), query);
  const index = output.items.findIndex(({ id }) => id === record.id);
  demand(reply, differences(expected, output.items[index], `${OUTPUT}/items/${index}`, { more: 'allowed' }));
};

const toggleEffects =
  (sequences: Readonly<Record<string, Step[]>>) =>
  (toggle: Operation, session: VerifySession): Effects => {
    const switches = async (name: string, steps: readonly Step[]): Promise<void> => {
      const record = await session.publish(toggle, { title: `${toggle.name} ${name}` });
      const id = { [toggle.idMember ?? 'id']: record.id };
      for (const { input, state } of steps) {
        const { output, reply } = await session.call(toggle, { ...input, ...id });
        demand(reply, differences({ ...id, ...state }, output, OUTPUT));
        await demandShown(session, toggle, record, state);
      }
    };
    return Object.fromEntries(
      Object.entries(sequences).map(([name, steps]) => [
        `switches ${name}, and every read agrees`,
        () => switches(name, steps),
      ]),
    );
  };

/** Checks that a favorite switched twice is as before, and counted rightly in between. */
export const favoriteEffects = toggleEffects({
  'on and off again': [
    { input: {}, state: { favorited: true, favoriteCount: 1 } },
    { input: {}, state: { favorited: false, favoriteCount: 0 } },
  ],
});
/** Checks that a reaction switched on, over and off is counted rightly. */
export const reactionEffects = toggleEffects({
  'a like on and off again': [
    { input: LIKE, state: LIKED },
    { input: LIKE, state: NEITHER },
  ],
  'a dislike on and off again': [
    { input: DISLIKE, state: DISLIKED },
    { input: DISLIKE, state: NEITHER },
  ],
  'a like over to a dislike': [
    { input: LIKE, state: LIKED },
    { input: DISLIKE, state: DISLIKED },
  ],
});
