import { isAppRoute, type AppRoute, type AppRouter } from '@ts-rest/core';
import { type Contract, contract, type ProcedureMetadata } from '../../contract/index.ts';
import type { Context } from '../context.ts';
import { gameHandlers } from '../game/handlers.ts';
import { imageHandlers } from '../image/handlers.ts';
import type { Caller } from '../key/verifier.ts';
import type { Handlers } from '../procedure.ts';
import { userHandlers } from '../user/handlers.ts';

type AllHandlers = { [Name in keyof Contract]: Handlers<Contract[Name]> };

/** A procedure as it is served. */
export interface Procedure extends ProcedureMetadata {
  route: AppRoute;
  handle: (input: unknown, caller: Caller | undefined) => Promise<unknown>;
}

/** The procedures that are served, by their ids. */
export type Procedures = ReadonlyMap<string, Procedure>;

/** Every procedure of a contract, wherever it is nested. */
export const proceduresOf = (routes: AppRouter): AppRoute[] =>
  Object.values(routes).flatMap((entry) => (isAppRoute(entry) ? [entry] : proceduresOf(entry)));

/** The procedures of the contract with their handlers. */
export const servedProcedures = (c: Context): Procedures => {
  const handlers: AllHandlers = { game: gameHandlers(c), image: imageHandlers(c), user: userHandlers(c) };
  return new Map(
    proceduresOf(contract).map((route) => {
      const metadata = route.metadata as ProcedureMetadata;
      const [router, name] = metadata.id.split('.') as [keyof AllHandlers, never];
      return [metadata.id, { ...metadata, route, handle: handlers[router][name] }];
    }),
  );
};
