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

interface Signature<R extends Route> {
  /** `void` lets callers leave out what may be left out. */
  input: undefined extends SentOf<R> ? SentOf<R> | void : SentOf<R>;
  output: OutputOf<R>;
  meta: unknown;
}

/** Events as they happen, each tracked by the cursor that leads to the next one. */
type Subscription<R extends StreamRoute> = TRPCSubscriptionProcedure<{
  input: z.input<typeof TailSubscription> | void;
  output: AsyncIterable<{ id: string; data: z.output<R['metadata']['message']>['json'] }>;
  meta: unknown;
}>;

type Procedure<R> = R extends Route
  ? R['metadata']['effect'] extends 'read'
    ? TRPCQueryProcedure<Signature<R>>
    : TRPCMutationProcedure<Signature<R>>
  : R extends StreamRoute
    ? Subscription<R>
    : never;

interface Root {
  ctx: object;
  meta: object;
  errorShape: ErrorResponse['error']['json'];
  transformer: true;
}

/**
 * The API as tRPC's clients know it, types only: `createTRPCClient<AppRouter>({ links: [httpBatchLink({ url,
 * transformer: superjson })] })` with `url` ending in `/api/trpc`.
 */
export type AppRouter = TRPCBuiltRouter<
  Root,
  { [Name in keyof Contract]: { [Key in keyof Contract[Name]]: Procedure<Contract[Name][Key]> } }
>;
