// node calls.js 10|11: makes each call of 1.0.0 at CONTENT_GATEWAY_URL by the clients of this version of tRPC, and prints what came of them.
// It is compiled with the types of each release, in whose folder it lies then.
import { createTRPCClient, httpBatchLink, httpBatchStreamLink, httpLink, type TRPCClientError } from '@trpc/client';
import superjson from 'superjson';
import * as trpc10 from 'trpc-10-clients';
import type { AppRouter } from '../../../openapi/trpc.ts';

type Client = ReturnType<typeof createTRPCClient<AppRouter>>;
type Connect = (headers: Record<string, string>) => Client;

const { CONTENT_GATEWAY_URL, GATEWAY_FULL_KEY } = process.env;
const url = `${CONTENT_GATEWAY_URL}/api/trpc`;
const transformer = superjson;

/** The types are those of version 11. */
const older = (options: object): Client =>
  trpc10.createTRPCProxyClient({ transformer: trpc10.superjson, ...options } as never) as unknown as Client;

const clients: Record<string, Connect> = {
  'tRPC 11, single': (headers) => createTRPCClient({ links: [httpLink({ url, transformer, headers })] }),
  'tRPC 11, single by POST': (headers) =>
    createTRPCClient({ links: [httpLink({ url, transformer, headers, methodOverride: 'POST' })] }),
  'tRPC 11, batches': (headers) => createTRPCClient({ links: [httpBatchLink({ url, transformer, headers })] }),
  'tRPC 11, batches by POST': (headers) =>
    createTRPCClient({ links: [httpBatchLink({ url, transformer, headers, methodOverride: 'POST' })] }),
  'tRPC 11, streamed batches': (headers) =>
    createTRPCClient({ links: [httpBatchStreamLink({ url, transformer, headers })] }),
  'tRPC 10, single': (headers) => older({ links: [trpc10.httpLink({ url, headers })] }),
  'tRPC 10, batches': (headers) => older({ links: [trpc10.httpBatchLink({ url, headers })] }),
};

const failure = async (call: Promise<unknown>): Promise<string> => {
  try {
    await call;
    return 'done';
  } catch (error) {
    const { data } = error as TRPCClientError<AppRouter>;
    return `${data?.httpStatus} ${data?.reason}`;
  }
};

const play = async (name: string, connect: Connect): Promise<void> => {
  const say = (...words: unknown[]): void => console.log(`${name}: ${words.join(', ')}`);
  const { game, image, user } = connect({ Authorization: `Bearer ${GATEWAY_FULL_KEY}` });
  const anyone = connect({});

  const me = await user.me.query();
  const tag = name.toLowerCase().replaceAll(/\W+/g, '-');
  const [made, post] = await Promise.all([
    game.create.mutate({ title: '月と六ペンス', gameType: 'RPG', description: undefined, tagNames: ['海', tag] }),
    image.create.mutate({ title: '雨の夜', images: ['https://a.example/1.png'], tagNames: [tag] }),
  ]);
  say(made.title, made.gameType, made.tags.length, post.title, post.images.join(' '));
  const games = await game.batchCreate.mutate({ games: ['一', '二'].map((title) => ({ title, tagNames: [tag] })) });
  const posts = await image.batchCreate.mutate({ posts: [{ title: '三', images: ['https://a.example/3.png'] }] });
  say([...games.items, ...posts.items].map(({ title }) => title).join(' '));

  const favorites = [
    await game.toggleFavorite.mutate({ gameId: made.id }),
    await image.toggleFavorite.mutate({ imagePostId: post.id }),
  ];
  const reactions = [
    await game.toggleReaction.mutate({ gameId: made.id, type: 'like' }),
    await image.toggleReaction.mutate({ imagePostId: post.id, type: 'dislike' }),
  ];
  say(...favorites.map(({ favorited }) => favorited), ...reactions.map(({ reaction }) => reaction));
  const changed = await image.update.mutate({ id: post.id, title: '霧の夜' });
  const profile = await user.updateProfile.mutate({ bio: '星を見る人', location: undefined });
  const { avatar } = await user.updateAvatar.mutate({ avatar: '/avatars/demo.png' });
  say(changed.title, profile.bio, avatar);

  const [read, shown, related, list, album, stats, someone, found] = await Promise.all([
    anyone.game.getById.query({ id: made.id }),
    anyone.image.getById.query({ id: post.id }),
    anyone.game.getRelated.query({ gameId: made.id, limit: 2 }),
    anyone.game.list.query({ limit: 10, page: 1, tagSlugs: [tag], search: undefined }),
    anyone.image.list.query({ limit: 10, page: 1, tagSlugs: [tag] }),
    anyone.game.getTypeStats.query(),
    anyone.user.getProfile.query({ id: me.id }),
    user.search.query({ query: me.nickname, limit: 1 }),
  ]);
  say(read.id === made.id, read.likeCount, shown.dislikeCount, related.items.length);
  say(list.total, album.items[0]?.title, stats.total > 0, someone.nickname === found.items[0]?.nickname);
  say(
    ...(await Promise.all([
      failure(anyone.game.create.mutate({ title: 'x' })),
      failure(game.create.mutate({ title: '' })),
      failure(anyone.game.getById.query({ id: 'nothing' })),
    ])),
  );
};

for (const [name, connect] of Object.entries(clients)) {
  if (name.startsWith(`tRPC ${process.argv[2]},`)) await play(name, connect);
}
