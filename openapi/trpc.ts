import type {
  TRPCBuiltRouter,
  TRPCMutationProcedure,
  TRPCQueryProcedure,
  TRPCSubscriptionProcedure,
} from '@trpc/server';
import type { z } from 'zod';
import type { Contract, ErrorResponse, eventTail, OutputOf, Route, SentOf } from '../contract/index.ts';

interface Signature<R extends Route> {
  /** `void` lets callers leave out what may be left out. */
  input: undefined extends SentOf<R> ? SentOf<R> | void : SentOf<R>;
  output: OutputOf<R>;
  meta: unknown;
}

type Procedure<R> = R extends Route
  ? R['metadata']['effect'] extends 'read'
    ? TRPCQueryProcedure<Signature<R>>
    : TRPCMutationProcedure<Signature<R>>
  : never;

/** Events as they happen, each tracked by the cursor that leads to the next one. */
type Tail = TRPCSubscriptionProcedure<{
  input: z.input<(typeof eventTail)['input']> | void;
  output: AsyncIterable<{ id: string; data: z.output<(typeof eventTail)['output']> }>;
  meta: unknown;
}>;

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
  {
    [Name in keyof Contract]: { [Key in keyof Contract[Name]]: Procedure<Contract[Name][Key]> } & (Name extends 'event'
      ? { tail: Tail }
      : unknown);
  }
>;
