import { setTimeout as sleep } from 'node:timers/promises';
import type { Effects } from '../../check.ts';
import { demand, OUTPUT } from '../../findings/expect.ts';
import { longestTexts } from '../../contract/faults.ts';
import { differences, Mismatch } from '../../findings/finding.ts';
import type { Operation } from '../../contract/operation.ts';
import { inputMembers } from '../../contract/places.ts';
import type { CurrentUser, VerifySession } from '../../session.ts';
import { pick } from '../../values.ts';

type ProfileMembers = Readonly<Record<string, unknown>>;

/** Other runs may change the profile of the same user: so often the check is made again. */
const MAX_TRIALS = 5;
const PAUSE_MS = 150;
const LOCK = 'user.updateProfile';

/** The members of an input that can be cleared. */
const clearable = (update: Operation) => inputMembers(update).filter(({ nullable }) => nullable);

/** The free texts of an input that can be cleared, at their longest, marked as those of a run. */
const longest = (update: Operation, session: VerifySession): Record<string, string> => {
  const names = clearable(update).map(({ name }) => name);
  const texts = longestTexts(update).flatMap(({ at, value }) => {
    const name = at.at(-1) ?? '';
    if (at.length !== 2 || !names.includes(name)) return [];
    const characters = Array.from(session.title('') + String(value)).slice(0, Array.from(String(value)).length);
    return [[name, characters.join('')] as const];
  });
  return Object.fromEntries(texts);
};

/** Calls an operation that changes the profile, and answers it, but for what others change with it. */
const change = async (
  session: VerifySession,
  update: Operation,
  changes: ProfileMembers,
  expected?: ProfileMembers,
): Promise<ProfileMembers> => {
  const { output, reply } = await session.call<CurrentUser>(update, changes);
  const { updatedAt: _, gameCount: __, imagePostCount: ___, ...profile } = output;
  if (expected) demand(reply, differences({ ...expected, ...changes }, profile, OUTPUT));
  return profile;
};

/** The changes to make, one after another: to long texts or those of the example, then to null. */
const stepsOf = (update: Operation, session: VerifySession): ProfileMembers[] => {
  const texts = longest(update, session);
  const changed = clearable(update)
    .map(({ name, sample }): [string, unknown] => [name, texts[name] ?? sample])
    .filter(([, value]) => value !== undefined);
  const nulls = Object.fromEntries(changed.map(([name]) => [name, null]));
  // Some text keeps the mark all the time, so that another run sees that this one is at work.
  const marked = Object.keys(texts).slice(0, 2);
  const cleared = marked.length < 2 ? [nulls] : marked.map((name) => ({ ...nulls, [name]: texts[name] }));
  return [Object.fromEntries(changed), ...cleared];
};

/**
 * The checks of changing the caller's profile. Only members that can be cleared are changed, for a moment; while
 * they are, a text of the profile begins with the mark of the run, by which other runs see that they have to wait.
 */
export const profileEffects = (update: Operation, session: VerifySession): Effects => {
  const lock = session.operations.find(({ id }) => id === LOCK) ?? update;
  const [mark = ''] = Object.entries(longest(lock, session)).at(-1) ?? [];
  const changeAndRestore = async (): Promise<void> => {
    const steps = stepsOf(update, session);
    const names = Object.keys(steps[0] ?? {});
    const isLocked = lock !== update && mark !== '';
    const me = await session.me();
    try {
      const before = await change(session, lock, isLocked ? { [mark]: session.title('') } : {});
      for (const step of steps) await change(session, update, step, before);
    } finally {
      await change(session, update, pick(me, names));
      if (isLocked) await change(session, lock, pick(me, [mark]));
    }
  };
  return {
    'changes what is given and nothing else, and back again': async () => {
      for (let trial = 1; ; trial += 1) {
        try {
          return await changeAndRestore();
        } catch (error) {
          if (!(error instanceof Mismatch) || trial === MAX_TRIALS) throw error;
        }
        // Of two runs that meet, each waits for a time of its own.
        const chance = Number.parseInt(session.random.hex(`pause ${trial}`).slice(0, 4), 16);
        await sleep(PAUSE_MS + (chance % (PAUSE_MS * trial * 2)));
      }
    },
  };
};
