// A peer as its libraries' documentation builds it: tRPC with superjson and zod, drizzle for the queries.
import { initTRPC } from '@trpc/server';
import { createHTTPServer } from '@trpc/server/adapters/standalone';
import { and, asc, count, desc, eq, exists, gte, inArray, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/mysql2';
import superjson from 'superjson';
import { openPool, viewCounter } from '../subjects/store.mjs';
import { game, gamePage, gameSummary, idBytes, userProfile } from '../subjects/wire.mjs';
import { atMost, exactly, hashOf, newGameRow, rangeStart, slugsOf, sortColumns, tagsByGame } from './common.mjs';
import { FavoriteState, Game, GameIdInput, GameInput, GamePage, IdInput, ListInput, Profile } from './schemas.mjs';
import { apiKeys, counters, gameFavorites, gameReactions, games, gameTags, tags, users } from './tables.mjs';

const MOST_COUNTED = 10_000;
const pool = openPool(process.env.DATABASE_URL);
const db = drizzle(pool);
const countView = viewCounter(pool);

const conditions = (input, tagIds) => [
  ...(input.gameType === undefined ? [] : [eq(games.game_type, input.gameType)]),
  ...(input.timeRange === 'all' ? [] : [gte(games.created_at, rangeStart(input.timeRange))]),
  ...tagIds.map((tagId) =>
    exists(
      db
        .select({ one: sql`1` })
        .from(gameTags)
        .where(and(eq(gameTags.game_id, games.id), eq(gameTags.tag_id, tagId))),
    ),
  ),
];

const counter = async (name) => {
  const [row] = await db.select({ n: counters.n }).from(counters).where(eq(counters.name, name));
  return exactly(row?.n ?? 0);
};

const countGames = async (input, found) => {
  const filters = conditions(
    input,
    found.map((tag) => tag.id),
  );
  if (filters.length === 0) return counter('games');
  if (filters.length === 1 && input.gameType !== undefined) return counter(`games:${input.gameType}`);
  if (filters.length === 1 && found.length === 1) return exactly(found[0].game_count);
  const matches = db
    .select({ id: games.id })
    .from(games)
    .where(and(...filters))
    .limit(MOST_COUNTED + 1)
    .as('matches');
  const [{ total }] = await db.select({ total: count() }).from(matches);
  return atMost(total, MOST_COUNTED);
};

const summaryColumns = {
  id: games.id,
  title: games.title,
  view_count: games.view_count,
  like_count: games.like_count,
  dislike_count: games.dislike_count,
  favorite_count: games.favorite_count,
  created_at: games.created_at,
  updated_at: games.updated_at,
  cover_url: games.cover_url,
  game_type: games.game_type,
  is_free: games.is_free,
  version: games.version,
  author_id: users.id,
  author_nickname: users.nickname,
  author_avatar: users.avatar,
};
const detailColumns = {
  ...summaryColumns,
  description: games.description,
  original_author: games.original_author,
  extra_info: games.extra_info,
};

const tagsOf = async (on, ids) => {
  if (ids.length === 0) return new Map();
  return tagsByGame(
    await on
      .select({ game_id: gameTags.game_id, name: tags.name, slug: tags.slug })
      .from(gameTags)
      .innerJoin(tags, eq(tags.id, gameTags.tag_id))
      .where(inArray(gameTags.game_id, ids))
      .orderBy(gameTags.position),
  );
};

const list = async (input) => {
  const slugs = input.tagSlugs ?? [];
  const found =
    slugs.length === 0
      ? []
      : await db.select({ id: tags.id, game_count: tags.game_count }).from(tags).where(inArray(tags.slug, slugs));
  const { columns, direction } = sortColumns(input.sortBy);
  const order = direction === 'asc' ? asc : desc;
  const tagIds = found.map((tag) => tag.id);
  const page = db
    .select(Object.fromEntries(columns.map((column) => [column, games[column]])))
    .from(games)
    .where(and(...conditions(input, tagIds)))
    .orderBy(...columns.map((column) => order(games[column])))
    .limit(input.limit + 1)
    .offset((input.page - 1) * input.limit)
    .as('p');
  const query = db
    .select(summaryColumns)
    .from(page)
    .innerJoin(games, eq(games.id, page.id))
    .innerJoin(users, eq(users.id, games.author_id))
    .orderBy(...columns.map((column) => order(page[column])));
  const [rows, total] = await Promise.all([query, countGames(input, found)]);
  const shown = rows.slice(0, input.limit);
  const tagLists = await tagsOf(
    db,
    shown.map((row) => row.id),
  );
  const items = shown.map((row) => gameSummary(row, tagLists.get(row.id.toString('hex')) ?? []));
  return gamePage(input, items, rows, total);
};

const findGame = async (on, id, viewer) => {
  const own = viewer && {
    favorited: sql`${gameFavorites.user_id} IS NOT NULL`.mapWith(Number),
    reaction: gameReactions.type,
  };
  let query = on
    .select({ ...detailColumns, ...own })
    .from(games)
    .innerJoin(users, eq(users.id, games.author_id))
    .$dynamic();
  if (viewer) {
    query = query
      .leftJoin(gameFavorites, and(eq(gameFavorites.game_id, games.id), eq(gameFavorites.user_id, viewer)))
      .leftJoin(gameReactions, and(eq(gameReactions.game_id, games.id), eq(gameReactions.user_id, viewer)));
  }
  const [row] = await query.where(eq(games.id, id));
  const tagLists = await tagsOf(on, [id]);
  return game(row, tagLists.get(id.toString('hex')) ?? []);
};

const toggleFavorite = ({ gameId }, user) =>
  db.transaction(async (tx) => {
    const id = idBytes(gameId);
    const [{ before }] = await tx
      .select({ before: games.favorite_count })
      .from(games)
      .where(eq(games.id, id))
      .for('update');
    const [{ affectedRows }] = await tx
      .delete(gameFavorites)
      .where(and(eq(gameFavorites.user_id, user), eq(gameFavorites.game_id, id)));
    const favorited = affectedRows === 0;
    if (favorited) await tx.insert(gameFavorites).values({ user_id: user, game_id: id });
    const favoriteCount = before + (favorited ? 1 : -1);
    await tx.update(games).set({ favorite_count: favoriteCount }).where(eq(games.id, id));
    return { gameId, favorited, favoriteCount };
  });

const ensureTags = async (tx, names) => {
  const bySlug = slugsOf(names);
  const slugs = [...bySlug.keys()];
  if (slugs.length === 0) return [];
  await tx
    .insert(tags)
    .ignore()
    .values(slugs.map((slug) => ({ slug, name: bySlug.get(slug) })));
  const found = await tx.select().from(tags).where(inArray(tags.slug, slugs));
  return slugs.map((slug) => found.find((tag) => tag.slug === slug));
};

const create = (input, user) =>
  db.transaction(async (tx) => {
    const found = await ensureTags(tx, input.tagNames);
    const tagIds = found.map((tag) => tag.id);
    const addOne = (table, column) => tx.update(table).set({ [column]: sql`${table[column]} + 1` });
    if (tagIds.length > 0) await addOne(tags, 'game_count').where(inArray(tags.id, tagIds));
    await addOne(users, 'game_count').where(eq(users.id, user));
    await addOne(counters, 'n').where(inArray(counters.name, ['games', `games:${input.gameType ?? ''}`]));
    const row = newGameRow(input, found, user);
    await tx.insert(games).values(row);
    if (tagIds.length > 0) {
      const links = tagIds.map((tagId, position) => ({
        game_id: row.id,
        tag_id: tagId,
        position,
        game_type: row.game_type,
      }));
      await tx.insert(gameTags).values(links);
    }
    return findGame(tx, row.id, user);
  });

const t = initTRPC.context().create({ transformer: superjson });

const withUser = t.procedure.use(async ({ ctx, next }) => {
  const hash = hashOf(ctx.authorization);
  const [key] = await db.select({ user: apiKeys.user_id }).from(apiKeys).where(eq(apiKeys.key_hash, hash));
  return next({ ctx: { user: key.user } });
});

const router = t.router({
  game: t.router({
    list: t.procedure
      .input(ListInput)
      .output(GamePage)
      .query(({ input }) => list(input)),
    getById: t.procedure
      .input(IdInput)
      .output(Game)
      .query(async ({ input }) => {
        const found = await findGame(db, idBytes(input.id));
        countView(input.id);
        return found;
      }),
    toggleFavorite: withUser
      .input(GameIdInput)
      .output(FavoriteState)
      .mutation(({ input, ctx }) => toggleFavorite(input, ctx.user)),
    create: withUser
      .input(GameInput)
      .output(Game)
      .mutation(({ input, ctx }) => create(input, ctx.user)),
  }),
  user: t.router({
    getProfile: t.procedure
      .input(IdInput)
      .output(Profile)
      .query(async ({ input }) => {
        const [row] = await db
          .select()
          .from(users)
          .where(eq(users.id, idBytes(input.id)));
        return userProfile(row);
      }),
  }),
});

createHTTPServer({
  router,
  basePath: '/api/trpc/',
  // All servers are asked by POST.
  allowMethodOverride: true,
  createContext: ({ req }) => ({ authorization: req.headers.authorization }),
}).listen(Number(process.env.PORT), '127.0.0.1');
