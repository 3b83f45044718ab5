import type { z } from 'zod';
import type { Access } from '../contract/index.ts';
import type { Caller } from './key/verifier.ts';

/** The parts of a contract's route that its handler's type follows from. */
interface Route {
  body: z.ZodType<{ json?: unknown }>;
  responses: { 200: z.ZodType<{ result: { data: { json?: unknown } } }> };
  metadata: { access: Access };
}

/** The input of a procedure, as its contract parses it. */
export type InputOf<R extends Route> = z.output<R['body']>['json'];
/** The output of a procedure, as its contract describes it. */
export type OutputOf<R extends Route> = z.output<R['responses'][200]>['result']['data']['json'];
/** Who calls: certainly someone where a scope is needed. */
export type CallerOf<R extends Route> = R['metadata']['access'] extends 'public' ? Caller | undefined : Caller;

/** One function for each procedure of a router: contract input in, contract output out. */
export type Handlers<Router extends Record<string, Route>> = {
  [K in keyof Router]: (input: InputOf<Router[K]>, caller: CallerOf<Router[K]>) => Promise<OutputOf<Router[K]>>;
};
