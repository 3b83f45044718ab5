import { MAX_FOUND_USERS } from '../../../contract/index.ts';
import { type Check, checkOf } from '../check.ts';
import { demand, OUTPUT } from '../expect.ts';
import { longestTexts } from '../faults.ts';
import { differences } from '../finding.ts';
import type { Operation } from '../operation.ts';
import { inputMembers } from '../places.ts';
import type { CurrentUser, FoundUsers, Session, UserProfile } from '../session.ts';

type Members = Readonly<Record<string, unknown>>;

const pick = (from: object, names: readonly string[]): Members =>
  Object.fromEntries(Object.entries(from).filter(([name]) => names.includes(name)));

/** Checks of what reading the current user does. */
export const meChecks = (me: Operation, session: Session): Check[] => [
  checkOf(me, 'effect', 'tells what the key allows', async () => {
    const { output, reply } = await session.call<CurrentUser>(me, {});
    const expected = [...session.caller.scopes].toSorted();
    demand(reply, differences(expected, output.apiKey.scopes.toSorted(), `${OUTPUT}/apiKey/scopes`));
  }),
];

/** Checks of what reading a profile does. */
export const getProfileChecks = (getProfile: Operation, session: Session): Check[] => [
  checkOf(getProfile, 'effect', 'shows the key’s user to everyone', async () => {
    const me = await session.me();
    const { output, reply } = await session.call<UserProfile>(getProfile, { id: me.id }, { anonymous: true });
    demand(reply, differences(pick(me, Object.keys(output)), output, OUTPUT));
  }),
];

/** Checks of what searching users does. */
export const searchChecks = (search: Operation, session: Session): Check[] => [
  checkOf(search, 'effect', 'finds the key’s user by the nickname', async () => {
    const { id, nickname, avatar } = await session.me();
    const input = { query: nickname, limit: MAX_FOUND_USERS };
    const { output, reply } = await session.call<FoundUsers>(search, input);
    const found = output.items.find((user) => user.id === id);
    // Namesakes beyond the limit are not to be seen.
    if (!found && output.hasMore) return;
    demand(reply, differences({ id, nickname, avatar }, found, `${OUTPUT}/items`));
  }),
];

/**
 * Checks of what changing the caller's profile does. Only members that can be cleared are changed, for a moment: to a
 * value as long as may be or, where not every text will do, to that of the example.
 */
export const profileChecks = (update: Operation, session: Session): Check[] => [
  checkOf(update, 'effect', 'changes what is given and nothing else, and back again', async () => {
    const longest = Object.fromEntries(longestTexts(update).map(({ at, value }) => [at.at(-1), value]));
    const changed = inputMembers(update)
      .filter(({ nullable }) => nullable)
      .map(({ name, sample }): [string, unknown] => [name, longest[name] ?? sample])
      .filter(([, value]) => value !== undefined);
    const change = async (changes: Members, expected?: Members): Promise<Members> => {
      const { output, reply } = await session.call<CurrentUser>(update, changes);
      const { updatedAt: _, ...profile } = output;
      if (expected) demand(reply, differences({ ...expected, ...changes }, profile, OUTPUT));
      return profile;
    };
    const names = changed.map(([name]) => name);
    const before = await change(pick(await session.me(), names));
    try {
      await change(Object.fromEntries(changed), before);
      await change(Object.fromEntries(names.map((name) => [name, null])), before);
    } finally {
      await change(pick(before, names), before);
    }
  }),
];
