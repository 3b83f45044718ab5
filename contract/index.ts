import { initContract } from '@ts-rest/core';
import { game } from './game.ts';
import { image } from './image.ts';
import { user } from './user.ts';

// Built before `c.router`: helpers called inside it lose `strictStatusCodes`.
const routes = { game, image, user };

/** The whole API. The server, the document, the SDKs and the contract tests are derived from it. */
export const contract = initContract().router(routes, { strictStatusCodes: true });
export type Contract = typeof contract;

export * from './errors.ts';
export { issuesOf, MAX_ISSUES } from './issues.ts';
export { type Access, BATCH_BODY_LIMIT, type ProcedureMetadata, type Scope, scopes } from './procedure.ts';
