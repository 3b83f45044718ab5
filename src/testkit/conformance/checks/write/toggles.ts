import { type Check, checkOf } from '../../check.ts';
import { demand, demandOutput, OUTPUT } from '../../findings/expect.ts';
import { differences } from '../../findings/finding.ts';
import type { Operation } from '../../contract/operation.ts';
import { type Content, type ListedPage, type VerifySession, TAG } from '../../session.ts';

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

/** The expected effects of the toggles on a new record. */
const favoriteSteps = {
  'on and off again': [
    { input: {}, state: { favorited: true, favoriteCount: 1 } },
    { input: {}, state: { favorited: false, favoriteCount: 0 } },
  ],
};
const reactionSteps = {
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
};

/** The state as records show it: what the caller did is in `viewer`. */
const shownState = (record: Content, state: Step['state']): object => {
  const viewer = record.viewer ?? {};
  const entries = Object.entries(state);
  const mine = entries.filter(([name]) => Object.hasOwn(viewer, name));
  const counts = entries.filter(([name]) => !Object.hasOwn(viewer, name));
  return { ...Object.fromEntries(counts), viewer: { ...viewer, ...Object.fromEntries(mine) } };
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

const toggleChecks =
  (sequences: Readonly<Record<string, Step[]>>) =>
  (toggle: Operation, session: VerifySession): Check[] =>
    Object.entries(sequences).map(([name, steps]) =>
      checkOf(toggle, 'effect', `switches ${name}, and every read agrees`, async () => {
        const record = await session.publish(toggle, { title: `${toggle.name} ${name}` });
        for (const { input, state } of steps) {
          const expected = { [toggle.idMember ?? 'id']: record.id, ...state };
          const { output, reply } = await session.call(toggle, { ...input, [toggle.idMember ?? 'id']: record.id });
          demand(reply, differences(expected, output, OUTPUT));
          await demandShown(session, toggle, record, state);
        }
      }),
    );

/** Checks that a favorite switched twice is as before, and counted rightly in between. */
export const favoriteChecks = toggleChecks(favoriteSteps);
/** Checks that a reaction switched on, over and off is counted rightly. */
export const reactionChecks = toggleChecks(reactionSteps);
