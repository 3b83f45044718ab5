import type { TRPCBuiltRouter, TRPCMutationProcedure, TRPCQueryProcedure } from '@trpc/server';
import type { z } from 'zod';
import type { Contract, ErrorResponse, ProcedureMetadata } from '../contract/index.ts';

interface Route {
  body: z.ZodType<{ json?: unknown }, { json?: unknown }>;
  responses: { 200: z.ZodType<{ result: { data: { json?: unknown } } }> };
  metadata: Pick<ProcedureMetadata, 'effect'>;
}

type InputOf<R extends Route> = z.input<R['body']>['json'];

interface Signature<R extends Route> {
  /** `void` lets callers leave out what may be left out. */
  input: undefined extends InputOf<R> ? InputOf<R> | void : InputOf<R>;
  output: z.output<R['responses'][200]>['result']['data']['json'];
  meta: unknown;
}

type Procedure<R> = R extends Route
  ? R['metadata']['effect'] extends 'read'
    ? TRPCQueryProcedure<Signature<R>>
    : TRPCMutationProcedure<Signature<R>>
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
