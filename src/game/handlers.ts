import type { Contract } from '../../contract/index.ts';
import { pageView } from '../content/view.ts';
import type { Context } from '../context.ts';
import type { Handlers } from '../procedure.ts';
import * as games from './service.ts';
import { gameSummaryView, gameView } from './view.ts';

export const gameHandlers = (c: Context): Handlers<Contract['game']> => ({
  list: async (input, call) => pageView(input, await games.listGames(c, input, call), gameSummaryView),
  getById: async ({ id }, call) => gameView(await games.getGame(c, id, call)),
  create: async (input, call) => {
    const [game] = await games.createGames(c, [input], call);
    return gameView(game!);
  },
  batchCreate: async (input, call) => ({
    items: (await games.createGames(c, input.games, call)).map(gameView),
  }),
  toggleFavorite: async ({ gameId }, call) => ({
    gameId,
    ...(await games.toggleGameFavorite(c, gameId, call)),
  }),
  toggleReaction: async ({ gameId, type }, call) => ({
    gameId,
    ...(await games.toggleGameReaction(c, gameId, type, call)),
  }),
  getTypeStats: (_, call) => games.countTypes(c, call),
  getRelated: async ({ gameId, limit }, call) => ({
    items: (await games.relatedGames(c, gameId, limit, call)).map(gameSummaryView),
  }),
});
