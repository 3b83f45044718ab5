import type { InputOf, OutputOf, Route } from '../contract/index.ts';
import type { Caller } from './key/verifier.ts';

/** Who calls: certainly someone where a scope is needed. */
export type CallerOf<R extends Route> = R['metadata']['access'] extends 'public' ? Caller | undefined : Caller;

/** One function for each procedure of a router: contract input in, contract output out. */
export type Handlers<Router extends Record<string, Route>> = {
  [K in keyof Router]: (input: InputOf<Router[K]>, caller: CallerOf<Router[K]>) => Promise<OutputOf<Router[K]>>;
};
