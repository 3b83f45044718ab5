import { setTimeout as sleep } from 'node:timers/promises';
import { type Contract, MAX_FOUND_USERS, type OutputOf } from '../../../../contract/index.ts';
import type { Effects } from '../check.ts';
import { longestTexts } from '../contract/faults.ts';
import type { Operation } from '../contract/operation.ts';
import { inputMembers } from '../contract/places.ts';
import { Mismatch, Skip } from '../findings/finding.ts';
import type { CurrentUser, ListedPage, RecordSummary } from '../records.ts';
import type { VerifySession } from '../session.ts';
import { steadily } from '../until-stable.ts';
import { capitals, pick } from '../values.ts';

type Profile = OutputOf<Contract['user']['getProfile']>;
type FoundUsers = OutputOf<Contract['user']['search']>;
type Members = Readonly<Record<string, unknown>>;

/** The member of a profile that counts the records of a router. */
const COUNTS: Readonly<Record<string, 'gameCount' | 'imagePostCount'>> = { game: 'gameCount', image: 'imagePostCount' };
const LATEST = 100;

/** The current user has the scopes that the key proves by its calls. */
export const permits = (me: Operation, session: VerifySession): Effects => ({
  'tells what the key allows': async () => {
    const answer = await session.call<CurrentUser>(me, {});
    const used = (scopes: Iterable<CurrentUser['apiKey']['scopes'][number]>): string[] =>
      [...scopes].filter((scope) => !session.isWithheld(scope)).toSorted();
    answer.demandIs(used(session.caller.scopes), used(answer.output.apiKey.scopes), '/apiKey/scopes');
  },
});

/** A profile agrees with its user and with the records of its user. */
export const profiles = (getProfile: Operation, session: VerifySession): Effects => {
  const { records } = session;
  /** Demands something of the author of a record of each list, while that profile stays unchanged. */
  const ofAuthors = async (demandOf: (sample: RecordSummary, list: Operation) => Promise<void>): Promise<void> => {
    await records.authors();
    for (const list of session.lists) {
      const [sample] = await records.samples(list).catch(() => []);
      if (!sample) continue;
      await steadily(
        () => session.prepare(getProfile, { id: sample.author.id }),
        () => demandOf(sample, list),
      );
    }
  };
  return {
    'shows the key’s user to everyone': () =>
      steadily(
        () => records.me(),
        async () => {
          const me = await records.me();
          const profile = await session.call<Profile>(getProfile, { id: me.id }, { anonymous: true });
          profile.demandIs(pick(me, Object.keys(profile.output)), profile.output);
        },
      ),
    'shows authors as their records do': () =>
      ofAuthors(async ({ id, author: { id: authorId } }, list) => {
        const { author } = await session.prepare<RecordSummary>(session.partner(list, 'getById'), { id });
        (await session.call<Profile>(getProfile, { id: authorId })).demandOutput(author);
      }),
    'counts the records of an author': () =>
      ofAuthors(async ({ author: { id } }, list) => {
        const member = COUNTS[list.router];
        if (!member) return;
        const { items } = await session.prepare<ListedPage>(list, { limit: LATEST, page: 1 });
        const seen = items.filter(({ author }) => author.id === id).length;
        const profile = await session.call<Profile>(getProfile, { id });
        const count = profile.output[member];
        profile.demand(count >= seen, `at least ${seen}`, count, `/${member}`);
      }),
  };
};

/** A search for users finds them by their nicknames, and respects the limit. */
export const finds = (search: Operation, session: VerifySession): Effects => {
  const { records } = session;
  const find = (query: string, limit = MAX_FOUND_USERS) => session.call<FoundUsers>(search, { query, limit });
  const demandFound = async ({ id, nickname }: FoundUsers['items'][number], query: string): Promise<void> => {
    const answer = await find(query);
    const user = answer.output.items.find((one) => one.id === id);
    // The user may come after the limit, behind namesakes.
    if (!user && answer.output.hasMore) return;
    answer.demandIs({ id, nickname }, user && pick(user, ['id', 'nickname']), '/items');
  };
  return {
    'finds the key’s user by the nickname': async () => {
      const me = await records.me();
      await demandFound(me, me.nickname);
    },
    'finds authors by their nicknames, also in capitals': async () => {
      for (const author of await records.authors()) {
        await demandFound(author, author.nickname);
        await demandFound(author, capitals(author.nickname));
      }
    },
    'finds nobody by what no nickname holds': async () =>
      (await find(session.random.hex('user').slice(0, 30))).demandOutput({ items: [], hasMore: false }),
    'finds no more than it is asked for': async () => {
      const [author] = await records.authors();
      if (!author) throw new Skip('there is no user to read');
      const [character = ''] = Array.from(author.nickname.trim());
      const answer = await find(character, 1);
      const { length } = answer.output.items;
      answer.demand(length <= 1, 'at most 1 user', length, '/items');
    },
  };
};

/** Other runs may change the profile of the same user: the check is repeated up to this number. */
const MAX_TRIALS = 5;
const PAUSE_MS = 150;
const LOCK = 'user.updateProfile';

/** The members of an input that can be cleared. */
const clearable = (update: Operation) => inputMembers(update).filter(({ nullable }) => nullable);

/** The clearable free texts of an input, at their longest, marked as those of a run. */
const longest = (update: Operation, { records }: VerifySession): Record<string, string> => {
  const names = clearable(update).map(({ name }) => name);
  const texts = longestTexts(update).flatMap(({ at, value }) => {
    const name = at.at(-1) ?? '';
    if (at.length !== 2 || !names.includes(name)) return [];
    const characters = Array.from(records.title('') + String(value)).slice(0, Array.from(String(value)).length);
    return [[name, characters.join('')] as const];
  });
  return Object.fromEntries(texts);
};

/** Calls an operation that changes the profile, and returns it without the members that others change meanwhile. */
const change = async (
  session: VerifySession,
  update: Operation,
  changes: Members,
  expected?: Members,
): Promise<Members> => {
  const answer = await session.call<CurrentUser>(update, changes);
  const { updatedAt: _, gameCount: __, imagePostCount: ___, ...profile } = answer.output;
  if (expected) answer.demandIs({ ...expected, ...changes }, profile);
  return profile;
};

/** The changes to make, one after another: to long texts or those of the example, then to null. */
const stepsOf = (update: Operation, session: VerifySession): Members[] => {
  const texts = longest(update, session);
  const changed = clearable(update)
    .map(({ name, sample }): [string, unknown] => [name, texts[name] ?? sample])
    .filter(([, value]) => value !== undefined);
  const nulls = Object.fromEntries(changed.map(([name]) => [name, null]));
  // At any time some text has the mark, so that another run sees that this one is at work.
  const marked = Object.keys(texts).slice(0, 2);
  const cleared = marked.length < 2 ? [nulls] : marked.map((name) => ({ ...nulls, [name]: texts[name] }));
  return [Object.fromEntries(changed), ...cleared];
};

/**
 * A change of the caller's profile changes the given members, and nothing else. The check changes only members that can
 * be cleared, for a moment. Meanwhile a text of the profile starts with the mark of the run, so that other runs wait.
 */
export const restores = (update: Operation, session: VerifySession): Effects => {
  const { records, random } = session;
  const lock = session.operations.find(({ id }) => id === LOCK) ?? update;
  const [mark = ''] = Object.entries(longest(lock, session)).at(-1) ?? [];
  const changeAndRestore = async (): Promise<void> => {
    const steps = stepsOf(update, session);
    const names = Object.keys(steps[0] ?? {});
    const isLocked = lock !== update && mark !== '';
    const me = await records.me();
    try {
      const before = await change(session, lock, isLocked ? { [mark]: records.title('') } : {});
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
        // When two runs meet, each waits for a time of its own.
        const chance = Number.parseInt(random.hex(`pause ${trial}`).slice(0, 4), 16);
        await sleep(PAUSE_MS + (chance % (PAUSE_MS * trial * 2)));
      }
    },
  };
};
