import type { Contract } from '../../contract/index.ts';
import { deleteRecord, getRecord } from '../content/service.ts';
import { pageView } from '../content/view.ts';
import type { Handlers } from '../auth/procedure.ts';
import { countTypes, gameDraft, type GameContext, listGames, relatedGames, updateGame } from './service.ts';
import { gameSummaryView, gameView } from './view.ts';

export const gameHandlers = (c: GameContext): Handlers<Contract['game']> => ({
  list: async (input, call) => pageView(input, await listGames(c, input, call), gameSummaryView),
  getById: async ({ id }, call) => gameView(await getRecord(c, id, call)),
  create: (input, call) => c.publisher.create(c.kind, gameDraft(input), call, gameView),
  batchCreate: ({ games }, call) =>
    c.publisher.createAll(c.kind, games.map(gameDraft), call, (made) => ({ items: made.map(gameView) })),
  update: (input, call) => updateGame(c, input, call),
  delete: ({ id }, call) => deleteRecord(c, id, call),
  toggleFavorite: ({ gameId }, call) => c.toggles.favorite(c.kind, gameId, call, (state) => ({ gameId, ...state })),
  toggleReaction: ({ gameId, type }, call) =>
    c.toggles.react(c.kind, gameId, type, call, (state) => ({ gameId, ...state })),
  getTypeStats: (_, call) => countTypes(c, call),
  getRelated: async ({ gameId, limit }, call) => ({
    items: (await relatedGames(c, gameId, limit, call)).map(gameSummaryView),
  }),
});
