import { type Contract, type Procedure as ContractProcedure, procedures } from '../../contract/index.ts';
import { eventHandlers } from '../event/handlers.ts';
import { gameHandlers } from '../game/handlers.ts';
import { imageHandlers } from '../image/handlers.ts';
import type { Call, Handlers } from '../call/procedure.ts';
import { userHandlers } from '../user/handlers.ts';
import { webhookHandlers } from '../event/webhook/handlers.ts';

type AllHandlers = { [Name in keyof Contract]: Handlers<Contract[Name]> };

/** The dependencies of each router's handlers. */
export interface Routers {
  game: Parameters<typeof gameHandlers>[0];
  image: Parameters<typeof imageHandlers>[0];
  user: Parameters<typeof userHandlers>[0];
  event: Parameters<typeof eventHandlers>[0];
  webhook: Parameters<typeof webhookHandlers>[0];
}

/** A procedure as it is served. */
export interface Procedure extends ContractProcedure {
  handle: (input: unknown, call: Call) => Promise<unknown>;
}

/** The procedures that are served, by their ids. */
export type Procedures = ReadonlyMap<string, Procedure>;

/** The procedures of the contract with their handlers. */
export const servedProcedures = (c: Routers): Procedures => {
  const handlers: AllHandlers = {
    game: gameHandlers(c.game),
    image: imageHandlers(c.image),
    user: userHandlers(c.user),
    event: eventHandlers(c.event),
    webhook: webhookHandlers(c.webhook),
  };
  return new Map(
    procedures.map((procedure) => {
      const { id, router, name } = procedure;
      return [id, { ...procedure, handle: handlers[router as keyof AllHandlers][name as never] }];
    }),
  );
};
