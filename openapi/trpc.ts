import type {
  TRPCBuiltRouter,
  TRPCMutationProcedure,
  TRPCQueryProcedure,
  TRPCSubscriptionProcedure,
} from '@trpc/server';
import type { z } from 'zod';
import type {
  Contract,
  ErrorResponse,
  OutputOf,
  Route,
  SentOf,
  StreamRoute,
  TailSubscription,
} from '../contract/index.ts';

/** `void` lets callers omit an optional input. */
type Input<R extends Route> = undefined extends SentOf<R> ? SentOf<R> | void : SentOf<R>;

interface Shared {
  error: ErrorResponse['error']['json'];
  tail: z.input<typeof TailSubscription>;
}

type Procedure<R, S extends Shared> = R extends Route
  ? R['metadata']['effect'] extends 'read'
    ? TRPCQueryProcedure<{ input: Input<R>; output: OutputOf<R>; meta: unknown }>
    : TRPCMutationProcedure<{ input: Input<R>; output: OutputOf<R>; meta: unknown }>
  : R extends StreamRoute
    ? TRPCSubscriptionProcedure<{
        input: S['tail'] | void;
        // Events as they happen, each tracked by the cursor that leads to the next one.
        output: AsyncIterable<{ id: string; data: z.output<R['metadata']['message']>['json'] }>;
        meta: unknown;
      }>
    : never;

/**
 * The compiler writes the type of a function's result out in full, so that the declarations of the package need neither
 * zod nor the contract.
 */
const routerOf = <C, S extends Shared>() =>
  undefined as unknown as TRPCBuiltRouter<
    { ctx: object; meta: object; errorShape: S['error']; transformer: true },
    { [Name in keyof C]: { [Key in keyof C[Name]]: Procedure<C[Name][Key], S> } }
  >;
const router = routerOf<Contract, Shared>();

/**
 * The API as tRPC's clients know it, types only: `createTRPCClient<AppRouter>({ links: [httpBatchLink({ url,
 * transformer: superjson })] })` with `url` ending in `/api/trpc`.
 */
export type AppRouter = typeof router;
