// This program of a user calls by tRPC. It imports types of the package, and nothing that runs.
import { createTRPCClient, httpBatchLink, TRPCClientError } from '@trpc/client';
import type { AppRouter } from 'content-gateway/trpc';
import superjson from 'superjson';

const gateway = createTRPCClient<AppRouter>({
  links: [httpBatchLink({ url: `${process.argv[2]}/api/trpc`, transformer: superjson })],
});
const {
  items: [game],
} = await gateway.game.list.query({ limit: 1, page: 1 });
// @ts-expect-error: there is no such member, so that the types are not `any`.
if (game?.titel !== undefined) throw new Error('a member that the contract does not know');
try {
  await gateway.game.getById.query({ id: 'nothing' });
} catch (error) {
  if (!(error instanceof TRPCClientError)) throw error;
  const { data } = error as TRPCClientError<AppRouter>;
  console.log(game?.title, data?.reason);
}
