import type { Contract } from '../../contract/index.ts';
import { pageView } from '../content/view.ts';
import type { Handlers } from '../auth/procedure.ts';
import * as games from './service.ts';
import type { GameContext } from './service.ts';
import { gameSummaryView, gameView } from './view.ts';

export const gameHandlers = (c: GameContext): Handlers<Contract['game']> => ({
  list: async (input, call) => pageView(input, await games.listGames(c, input, call), gameSummaryView),
  getById: async ({ id }, call) => gameView(await games.getGame(c, id, call)),
  create: (input, call) => games.createGame(c, input, call, gameView),
  batchCreate: (input, call) => games.createGames(c, input.games, call, (made) => ({ items: made.map(gameView) })),
  toggleFavorite: ({ gameId }, call) => games.toggleGameFavorite(c, gameId, call, (state) => ({ gameId, ...state })),
  toggleReaction: ({ gameId, type }, call) =>
    games.toggleGameReaction(c, gameId, type, call, (state) => ({ gameId, ...state })),
  getTypeStats: (_, call) => games.countTypes(c, call),
  getRelated: async ({ gameId, limit }, call) => ({
    items: (await games.relatedGames(c, gameId, limit, call)).map(gameSummaryView),
  }),
});
