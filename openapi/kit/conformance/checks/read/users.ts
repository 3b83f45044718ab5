import { MAX_FOUND_USERS } from '../../../../../contract/index.ts';
import type { Effects } from '../../check.ts';
import { demand, demandOutput, demandThat, OUTPUT } from '../../findings/expect.ts';
import { differences, show, Skip } from '../../findings/finding.ts';
import type { Operation } from '../../contract/operation.ts';
import type { CurrentUser, FoundUsers, ListedPage, VerifySession, RecordSummary, UserProfile } from '../../session.ts';
import { steadily } from '../../until-stable.ts';
import { capitals, pick } from '../../values.ts';

/** Where a profile counts the records of a router. */
const COUNTS: Readonly<Record<string, 'gameCount' | 'imagePostCount'>> = { game: 'gameCount', image: 'imagePostCount' };
const LATEST = 100;

/** The checks of the current user. */
export const meEffects = (me: Operation, session: VerifySession): Effects => ({
  'tells what the key allows': async () => {
    const { output, reply } = await session.call<CurrentUser>(me, {});
    const [expected, came] = [[...session.caller.scopes], output.apiKey.scopes].map((scopes) =>
      scopes.filter((scope) => !session.isWithheld(scope)).toSorted(),
    );
    demand(reply, differences(expected, came, `${OUTPUT}/apiKey/scopes`));
  },
});

/** The checks of profiles. */
export const getProfileEffects = (getProfile: Operation, session: VerifySession): Effects => {
  /** Demands something of the author of a record of each list, while that profile stays as it is. */
  const ofAuthors = async (demandOf: (sample: RecordSummary, list: Operation) => Promise<void>): Promise<void> => {
    await session.authors();
    for (const list of session.lists) {
      const [sample] = await session.samples(list).catch(() => []);
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
        () => session.me(),
        async () => {
          const me = await session.me();
          const { output, reply } = await session.call<UserProfile>(getProfile, { id: me.id }, { anonymous: true });
          demand(reply, differences(pick(me, Object.keys(output)), output, OUTPUT));
        },
      ),
    'shows authors as their records do': () =>
      ofAuthors(async ({ id, author: { id: authorId } }, list) => {
        const { author } = await session.prepare<RecordSummary>(session.partner(list, 'getById'), { id });
        const { output, reply } = await session.call<UserProfile>(getProfile, { id: authorId });
        demandOutput(reply, author, output);
      }),
    'counts the records of an author': () =>
      ofAuthors(async ({ author: { id } }, list) => {
        const count = COUNTS[list.router];
        if (!count) return;
        const { items } = await session.prepare<ListedPage>(list, { limit: LATEST, page: 1 });
        const seen = items.filter(({ author }) => author.id === id).length;
        const { output, reply } = await session.call<UserProfile>(getProfile, { id });
        const finding = { expected: `at least ${seen}`, came: String(output[count]), at: `${OUTPUT}/${count}` };
        demandThat(output[count] >= seen, reply, finding);
      }),
  };
};

/** The checks of the search for users. */
export const userSearchEffects = (search: Operation, session: VerifySession): Effects => {
  const find = (query: string, limit: number) => session.call<FoundUsers>(search, { query, limit });
  const demandFound = async ({ id, nickname }: FoundUsers['items'][number], query: string): Promise<void> => {
    const { output, reply } = await find(query, MAX_FOUND_USERS);
    const found = output.items.find((user) => user.id === id);
    // Namesakes beyond the limit are not to be seen.
    if (!found && output.hasMore) return;
    demand(reply, differences({ id, nickname }, found && pick(found, ['id', 'nickname']), `${OUTPUT}/items`));
  };
  return {
    'finds the key’s user by the nickname': async () => {
      const me = await session.me();
      await demandFound(me, me.nickname);
    },
    'finds authors by their nicknames, also in capitals': async () => {
      for (const author of await session.authors()) {
        await demandFound(author, author.nickname);
        await demandFound(author, capitals(author.nickname));
      }
    },
    'finds nobody by what no nickname holds': async () => {
      const { output, reply } = await find(session.random.hex('user').slice(0, 30), MAX_FOUND_USERS);
      demandOutput(reply, { items: [], hasMore: false }, output);
    },
    'finds no more than it is asked for': async () => {
      const [author] = await session.authors();
      if (!author) throw new Skip('there is no user to read');
      const [character = ''] = Array.from(author.nickname.trim());
      const { output, reply } = await find(character, 1);
      const finding = { expected: 'at most 1 user', came: show(output.items.length), at: `${OUTPUT}/items` };
      demandThat(output.items.length <= 1, reply, finding);
    },
  };
};
