import type { Contract } from '../../contract/index.ts';
import { pageView } from '../content/view.ts';
import type { Context } from '../context.ts';
import type { Handlers } from '../procedure.ts';
import * as games from './service.ts';
import { gameSummaryView, gameView } from './view.ts';

export const gameHandlers = (c: Context): Handlers<Contract['game']> => ({
  list: async (input, caller) => pageView(input, await games.listGames(c, input, caller?.userId), gameSummaryView),
  getById: async ({ id }, caller) => gameView(await games.getGame(c, id, caller?.userId)),
  create: async (input, { userId }) => {
    const [game] = await games.createGames(c, [input], userId);
    return gameView(game!);
  },
  batchCreate: async (input, { userId }) => ({
    items: (await games.createGames(c, input.games, userId)).map(gameView),
  }),
  toggleFavorite: async ({ gameId }, { userId }) => ({
    gameId,
    ...(await games.toggleGameFavorite(c, gameId, userId)),
  }),
  toggleReaction: async ({ gameId, type }, { userId }) => ({
    gameId,
    ...(await games.toggleGameReaction(c, gameId, userId, type)),
  }),
  getTypeStats: () => games.countTypes(c),
  getRelated: async ({ gameId, limit }, caller) => ({
    items: (await games.relatedGames(c, gameId, limit, caller?.userId)).map(gameSummaryView),
  }),
});
