import { MAX_FOUND_USERS } from '../../../../../contract/index.ts';
import { type Check, checkOf } from '../../check.ts';
import { demand, demandOutput, demandThat, OUTPUT } from '../../findings/expect.ts';
import { differences, show, Skip } from '../../findings/finding.ts';
import type { Operation } from '../../contract/operation.ts';
import type { CurrentUser, FoundUsers, ListedPage, VerifySession, RecordSummary, UserProfile } from '../../session.ts';
import { steadily } from '../../until-stable.ts';

/** Where a profile counts the records of a router. */
const COUNTS: Readonly<Record<string, 'gameCount' | 'imagePostCount'>> = { game: 'gameCount', image: 'imagePostCount' };
const LATEST = 100;

const pick = (from: object, names: readonly string[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(from).filter(([name]) => names.includes(name)));

/** Checks of what reading the current user does. */
export const meChecks = (me: Operation, session: VerifySession): Check[] => [
  checkOf(me, 'effect', 'tells what the key allows', async () => {
    const { output, reply } = await session.call<CurrentUser>(me, {});
    const came = output.apiKey.scopes.filter((scope) => !session.isWithheld(scope));
    const expected = [...session.caller.scopes].filter((scope) => !session.isWithheld(scope));
    demand(reply, differences(expected.toSorted(), came.toSorted(), `${OUTPUT}/apiKey/scopes`));
  }),
];

/** Checks of what reading a profile does. */
export const getProfileChecks = (getProfile: Operation, session: VerifySession): Check[] => {
  const lists = session.lists;
  return [
    checkOf(getProfile, 'effect', 'shows the key’s user to everyone', () =>
      steadily(
        () => session.me(),
        async () => {
          const me = await session.me();
          const { output, reply } = await session.call<UserProfile>(getProfile, { id: me.id }, { anonymous: true });
          demand(reply, differences(pick(me, Object.keys(output)), output, OUTPUT));
        },
      ),
    ),
    checkOf(getProfile, 'effect', 'shows authors as their records do', async () => {
      await session.authors();
      for (const list of lists) {
        const [sample] = await session.samples(list).catch(() => []);
        if (!sample) continue;
        const { id } = sample.author;
        await steadily(
          () => session.prepare(getProfile, { id }),
          async () => {
            const { author } = await session.prepare<RecordSummary>(session.partner(list, 'getById'), {
              id: sample.id,
            });
            const { output, reply } = await session.call<UserProfile>(getProfile, { id });
            demandOutput(reply, author, output);
          },
        );
      }
    }),
    checkOf(getProfile, 'effect', 'counts the records of an author', async () => {
      await session.authors();
      for (const list of lists) {
        const [sample] = await session.samples(list).catch(() => []);
        const count = COUNTS[list.router];
        if (!sample || !count) continue;
        const { id } = sample.author;
        await steadily(
          () => session.prepare(getProfile, { id }),
          async () => {
            const { items } = await session.prepare<ListedPage>(list, { limit: LATEST, page: 1 });
            const seen = items.filter(({ author }) => author.id === id).length;
            const { output, reply } = await session.call<UserProfile>(getProfile, { id });
            const finding = { expected: `at least ${seen}`, came: String(output[count]), at: `${OUTPUT}/${count}` };
            demandThat(output[count] >= seen, reply, finding);
          },
        );
      }
    }),
  ];
};

const inCapitals = (text: string): string => text.replaceAll(/[a-z]/g, (letter) => letter.toUpperCase());

/** Checks of what searching users does. */
export const searchChecks = (search: Operation, session: VerifySession): Check[] => {
  const check = (name: string, run: () => Promise<void>): Check => checkOf(search, 'effect', name, run);
  const demandFound = async (user: FoundUsers['items'][number], query: string): Promise<void> => {
    const input = { query, limit: MAX_FOUND_USERS };
    const { output, reply } = await session.call<FoundUsers>(search, input);
    const found = output.items.find(({ id }) => id === user.id);
    // Namesakes beyond the limit are not to be seen.
    if (!found && output.hasMore) return;
    const { id, nickname } = user;
    demand(reply, differences({ id, nickname }, found && pick(found, ['id', 'nickname']), `${OUTPUT}/items`));
  };
  return [
    check('finds the key’s user by the nickname', async () => {
      const me = await session.me();
      await demandFound(me, me.nickname);
    }),
    check('finds authors by their nicknames, also in capitals', async () => {
      for (const author of await session.authors()) {
        await demandFound(author, author.nickname);
        await demandFound(author, inCapitals(author.nickname));
      }
    }),
    check('finds nobody by what no nickname holds', async () => {
      const { output, reply } = await session.call<FoundUsers>(search, {
        query: session.chance.hex('user').slice(0, 30),
        limit: MAX_FOUND_USERS,
      });
      demandOutput(reply, { items: [], hasMore: false }, output);
    }),
    check('finds no more than it is asked for', async () => {
      const [author] = await session.authors();
      if (!author) throw new Skip('there is no user to read');
      const [character = ''] = Array.from(author.nickname.trim());
      const { output, reply } = await session.call<FoundUsers>(search, { query: character, limit: 1 });
      const finding = { expected: 'at most 1 user', came: show(output.items.length), at: `${OUTPUT}/items` };
      demandThat(output.items.length <= 1, reply, finding);
    }),
  ];
};
