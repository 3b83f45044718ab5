/**
 * @engines sqlite
 * @tier fast
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createTRPCClient, httpBatchLink, httpBatchStreamLink, httpLink, type TRPCClientError } from '@trpc/client';
import superjson from 'superjson';
import type { AppRouter } from '../../openapi/trpc.ts';
import { startApp, type TestUser } from '../harness/app/app.ts';
import * as trpc10 from 'trpc-10-clients';

const app = await startApp();
afterAll(() => app.stop());

const url = `${app.url}/api/trpc`;
let user: TestUser;
beforeAll(async () => {
  user = await app.aUser({ nickname: '明美' });
});

type Client = ReturnType<typeof createTRPCClient<AppRouter>>;
type Failed = TRPCClientError<AppRouter>;
type Transformer = typeof superjson;

/** What differs between the links: the headers of a key, and what else they are told. */
interface Setup {
  key?: string;
}

const links = { httpLink, httpBatchLink, httpBatchStreamLink };
const newer = (name: keyof typeof links, transformer: Transformer, methodOverride?: 'POST') =>
  [
    `tRPC 11 ${name}${methodOverride ? ' by POST' : ''}, superjson ${transformer === superjson ? 2 : 1}`,
    ({ key }: Setup = {}): Client => {
      const headers = key === undefined ? {} : { Authorization: `Bearer ${key}` };
      return createTRPCClient<AppRouter>({ links: [links[name]({ url, transformer, headers, methodOverride })] });
    },
  ] as const;

const olderLinks = { httpLink: trpc10.httpLink, httpBatchLink: trpc10.httpBatchLink };
const older = (name: keyof typeof olderLinks, transformer: unknown) =>
  [
    `tRPC 10 ${name}, superjson ${transformer === superjson ? 2 : 1}`,
    ({ key }: Setup = {}): Client => {
      const headers = key === undefined ? {} : { Authorization: `Bearer ${key}` };
      const create = trpc10.createTRPCProxyClient as unknown as (options: object) => Client;
      return create({ transformer, links: [olderLinks[name]({ url, headers })] });
    },
  ] as const;

const superjson1 = trpc10.superjson as unknown as Transformer;

/** What a call that fails is answered with. */
const failure = async (promise: Promise<unknown>): Promise<NonNullable<Failed['shape']>> => {
  try {
    await promise;
  } catch (error) {
    const { shape } = error as Failed;
    if (!shape) throw error;
    return shape;
  }
  throw new Error('it did not fail');
};

describe.each([
  newer('httpLink', superjson),
  newer('httpBatchLink', superjson),
  newer('httpBatchStreamLink', superjson),
  newer('httpLink', superjson, 'POST'),
  newer('httpBatchLink', superjson, 'POST'),
  newer('httpBatchStreamLink', superjson, 'POST'),
  newer('httpLink', superjson1),
  newer('httpBatchLink', superjson1),
  newer('httpBatchStreamLink', superjson1),
  older('httpLink', superjson),
  older('httpBatchLink', superjson),
  older('httpLink', superjson1),
  older('httpBatchLink', superjson1),
])('%s', (_name, connect) => {
  test('queries and mutations', async () => {
    const client = connect({ key: user.key });
    const made = await client.game.create.mutate({ title: '月と六ペンス', tagNames: ['海'] });
    expect(made).toMatchObject({ title: '月と六ペンス', author: { nickname: '明美' }, gameType: null });
    expect(await client.game.getById.query({ id: made.id })).toEqual(made);
    const state = await client.game.toggleReaction.mutate({ gameId: made.id, type: 'like' });
    expect(state).toEqual({ gameId: made.id, reaction: 'like', likeCount: 1, dislikeCount: 0 });
  });

  test('procedures without input', async () => {
    const client = connect({ key: user.key });
    expect((await client.user.me.query()).id).toBe(user.id);
    expect((await connect().game.getTypeStats.query()).total).toEqual(expect.any(Number));
  });

  test('undefined members are as if left out', async () => {
    const client = connect({ key: user.key });
    const title = 'undefined members';
    const made = await client.game.create.mutate({
      title,
      description: undefined,
      extraInfo: { originalName: undefined, platforms: ['Linux'] },
    });
    expect(made.extraInfo).toMatchObject({ originalName: null, platforms: ['Linux'] });
    const { items } = await client.game.list.query({ limit: 5, page: 1, search: title, gameType: undefined });
    expect(items[0]?.id).toBe(made.id);
  });

  test('several calls at once, of which some fail', async () => {
    const client = connect();
    const game = await app.aGame();
    const [found, missing, refused, faulty] = await Promise.allSettled([
      client.game.getById.query({ id: game.id }),
      client.game.getById.query({ id: 'nowhere' }),
      client.user.me.query(),
      client.game.list.query({ limit: 0, page: 1 }),
    ]);
    expect(found).toMatchObject({ status: 'fulfilled', value: { id: game.id } });
    expect(missing).toMatchObject({ reason: { shape: { data: { reason: 'GAME_NOT_FOUND', httpStatus: 404 } } } });
    expect(refused).toMatchObject({ reason: { shape: { data: { reason: 'KEY_MISSING', path: 'user.me' } } } });
    expect(faulty).toMatchObject({
      reason: { shape: { data: { reason: 'VALIDATION_FAILED', issues: [{ path: '/limit' }] } } },
    });
  });

  test('every kind of error', async () => {
    const reader = await app.aUser({ scopes: ['user:read'] });
    const anonymous = connect();
    const shapes = [
      await failure(anonymous.game.create.mutate({ title: 'x' })),
      await failure(connect({ key: 'nonsense' }).game.list.query({ limit: 1, page: 1 })),
      await failure(connect({ key: reader.key }).game.create.mutate({ title: 'x' })),
      await failure(connect({ key: user.key }).game.create.mutate({ title: '' })),
      await failure(anonymous.game.getById.query({ id: 'nowhere' })),
      await failure(anonymous.user.getProfile.query({ id: 'nobody' })),
      await failure((anonymous.game as unknown as { nothing: Client['user']['me'] }).nothing.query()),
      await failure(anonymous.game.list.query({ limit: 100, page: 1000 })),
    ];
    expect(shapes.map(({ code, data }) => [data.reason, data.httpStatus, data.code, code])).toEqual([
      ['KEY_MISSING', 401, 'UNAUTHORIZED', -32_001],
      ['KEY_MALFORMED', 401, 'UNAUTHORIZED', -32_001],
      ['SCOPE_MISSING', 403, 'FORBIDDEN', -32_003],
      ['VALIDATION_FAILED', 400, 'BAD_REQUEST', -32_600],
      ['GAME_NOT_FOUND', 404, 'NOT_FOUND', -32_004],
      ['USER_NOT_FOUND', 404, 'NOT_FOUND', -32_004],
      ['PROCEDURE_NOT_FOUND', 404, 'NOT_FOUND', -32_004],
      ['PAGE_TOO_DEEP', 404, 'NOT_FOUND', -32_004],
    ]);
  });
});

// Only compiled, never called: the types of the router are those of the contract.
export const compiles = async (client: Client): Promise<void> => {
  const game = await client.game.getById.query({ id: 'x' });
  game.extraInfo.downloads satisfies { name: string; url: string; password: string | null }[];
  // @ts-expect-error -- a write is no query
  await client.game.create.query({ title: 'x' });
  // @ts-expect-error -- limit and page are required
  await client.game.list.query({});
  // @ts-expect-error -- there is no such member
  await client.image.create.mutate({ title: 'x', images: ['https://a.example/1.png'], cover: 'y' });
};
