// A peer as its libraries' documentation builds it: Fastify with zod for requests and replies, kysely for the queries.
import fastify from 'fastify';
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod';
import { Kysely, MysqlDialect } from 'kysely';
import { z } from 'zod';
import { openPool, viewCounter } from '../subjects/store.mjs';
import { game, gamePage, gameSummary, idBytes, userProfile } from '../subjects/wire.mjs';
import { atMost, exactly, hashOf, newGameRow, rangeStart, slugsOf, sortColumns, tagsByGame } from './common.mjs';
import { FavoriteState, Game, GameIdInput, GameInput, GamePage, IdInput, ListInput, Profile } from './schemas.mjs';

const MOST_COUNTED = 10_000;
const pool = openPool(process.env.DATABASE_URL);
const db = new Kysely({ dialect: new MysqlDialect({ pool }) });
const countView = viewCounter(pool);

const filtered = (input, tagIds) => {
  let query = db.selectFrom('games as g');
  if (input.gameType !== undefined) query = query.where('g.game_type', '=', input.gameType);
  if (input.timeRange !== 'all') query = query.where('g.created_at', '>=', rangeStart(input.timeRange));
  for (const tagId of tagIds) {
    query = query.where(({ exists, selectFrom }) =>
      exists(
        selectFrom('game_tags as t')
          .select('t.game_id')
          .whereRef('t.game_id', '=', 'g.id')
          .where('t.tag_id', '=', tagId),
      ),
    );
  }
  return query;
};

const counter = async (name) => {
  const row = await db.selectFrom('counters').select('n').where('name', '=', name).executeTakeFirst();
  return exactly(row?.n ?? 0);
};

const count = async (input, tags) => {
  const filters = tags.length + (input.gameType === undefined ? 0 : 1) + (input.timeRange === 'all' ? 0 : 1);
  if (filters === 0) return counter('games');
  if (filters === 1 && input.gameType !== undefined) return counter(`games:${input.gameType}`);
  if (filters === 1 && tags.length === 1) return exactly(tags[0].game_count);
  const ids = tags.map((tag) => tag.id);
  const { total } = await db
    .selectFrom(
      filtered(input, ids)
        .select('g.id')
        .limit(MOST_COUNTED + 1)
        .as('matches'),
    )
    .select(({ fn }) => fn.countAll().as('total'))
    .executeTakeFirstOrThrow();
  return atMost(total, MOST_COUNTED);
};

const recordColumns = [
  'r.id',
  'r.title',
  'r.view_count',
  'r.like_count',
  'r.dislike_count',
  'r.favorite_count',
  'r.created_at',
  'r.updated_at',
  'r.cover_url',
  'r.game_type',
  'r.is_free',
  'r.version',
  'u.id as author_id',
  'u.nickname as author_nickname',
  'u.avatar as author_avatar',
];

const tagsOf = async (on, ids) => {
  if (ids.length === 0) return new Map();
  return tagsByGame(
    await on
      .selectFrom('game_tags as t')
      .innerJoin('tags as g', 'g.id', 't.tag_id')
      .select(['t.game_id', 'g.name', 'g.slug'])
      .where('t.game_id', 'in', ids)
      .orderBy('t.position')
      .execute(),
  );
};

const list = async (input) => {
  const slugs = input.tagSlugs ?? [];
  const tags =
    slugs.length === 0
      ? []
      : await db.selectFrom('tags').select(['id', 'game_count']).where('slug', 'in', slugs).execute();
  const { columns, direction } = sortColumns(input.sortBy);
  let page = filtered(
    input,
    tags.map((tag) => tag.id),
  ).select(columns.map((column) => `g.${column}`));
  for (const column of columns) page = page.orderBy(`g.${column}`, direction);
  let query = db
    .selectFrom(
      page
        .limit(input.limit + 1)
        .offset((input.page - 1) * input.limit)
        .as('p'),
    )
    .innerJoin('games as r', 'r.id', 'p.id')
    .innerJoin('users as u', 'u.id', 'r.author_id')
    .select(recordColumns);
  for (const column of columns) query = query.orderBy(`p.${column}`, direction);
  const [rows, total] = await Promise.all([query.execute(), count(input, tags)]);
  const shown = rows.slice(0, input.limit);
  const found = await tagsOf(
    db,
    shown.map((row) => row.id),
  );
  const items = shown.map((row) => gameSummary(row, found.get(row.id.toString('hex')) ?? []));
  return gamePage(input, items, rows, total);
};

const findGame = async (on, id, viewer) => {
  let query = on
    .selectFrom('games as r')
    .innerJoin('users as u', 'u.id', 'r.author_id')
    .select([...recordColumns, 'r.description', 'r.original_author', 'r.extra_info'])
    .where('r.id', '=', id);
  if (viewer) {
    query = query
      .leftJoin('game_favorites as f', (join) => join.onRef('f.game_id', '=', 'r.id').on('f.user_id', '=', viewer))
      .leftJoin('game_reactions as x', (join) => join.onRef('x.game_id', '=', 'r.id').on('x.user_id', '=', viewer))
      .select([({ eb }) => eb('f.user_id', 'is not', null).as('favorited'), 'x.type as reaction']);
  }
  const row = await query.executeTakeFirstOrThrow();
  const tags = await tagsOf(on, [id]);
  return game(row, tags.get(id.toString('hex')) ?? []);
};

const userOf = async (request) => {
  const hash = hashOf(request.headers.authorization);
  const key = await db.selectFrom('api_keys').select('user_id').where('key_hash', '=', hash).executeTakeFirstOrThrow();
  return key.user_id;
};

const toggleFavorite = ({ gameId }, user) =>
  db.transaction().execute(async (trx) => {
    const id = idBytes(gameId);
    const { favorite_count: before } = await trx
      .selectFrom('games')
      .select('favorite_count')
      .where('id', '=', id)
      .forUpdate()
      .executeTakeFirstOrThrow();
    const { numDeletedRows } = await trx
      .deleteFrom('game_favorites')
      .where('user_id', '=', user)
      .where('game_id', '=', id)
      .executeTakeFirst();
    const favorited = numDeletedRows === 0n;
    if (favorited) await trx.insertInto('game_favorites').values({ user_id: user, game_id: id }).execute();
    const favoriteCount = before + (favorited ? 1 : -1);
    await trx.updateTable('games').set({ favorite_count: favoriteCount }).where('id', '=', id).execute();
    return { gameId, favorited, favoriteCount };
  });

const ensureTags = async (trx, names) => {
  const bySlug = slugsOf(names);
  const slugs = [...bySlug.keys()];
  if (slugs.length === 0) return [];
  await trx
    .insertInto('tags')
    .ignore()
    .values(slugs.map((slug) => ({ slug, name: bySlug.get(slug) })))
    .execute();
  const found = await trx.selectFrom('tags').select(['id', 'name', 'slug']).where('slug', 'in', slugs).execute();
  return slugs.map((slug) => found.find((tag) => tag.slug === slug));
};

const create = (input, user) =>
  db.transaction().execute(async (trx) => {
    const tags = await ensureTags(trx, input.tagNames);
    const tagIds = tags.map((tag) => tag.id);
    const addOne = (column) => (eb) => ({ [column]: eb(column, '+', 1) });
    if (tagIds.length > 0) await trx.updateTable('tags').set(addOne('game_count')).where('id', 'in', tagIds).execute();
    await trx.updateTable('users').set(addOne('game_count')).where('id', '=', user).execute();
    const counters = ['games', `games:${input.gameType ?? ''}`];
    await trx.updateTable('counters').set(addOne('n')).where('name', 'in', counters).execute();
    const row = newGameRow(input, tags, user);
    await trx.insertInto('games').values(row).execute();
    if (tagIds.length > 0) {
      await trx
        .insertInto('game_tags')
        .values(
          tagIds.map((tagId, position) => ({ game_id: row.id, tag_id: tagId, position, game_type: row.game_type })),
        )
        .execute();
    }
    return findGame(trx, row.id, user);
  });

const app = fastify();
app.setValidatorCompiler(validatorCompiler);
app.setSerializerCompiler(serializerCompiler);

const procedure = (id, input, output, handle) =>
  app.post(
    `/api/trpc/${id}`,
    {
      schema: {
        body: z.object({ json: input }),
        response: { 200: z.object({ result: z.object({ data: z.object({ json: output }) }) }) },
      },
    },
    async (request) => ({ result: { data: { json: await handle(request.body.json, request) } } }),
  );

procedure('game.list', ListInput, GamePage, list);
procedure('game.getById', IdInput, Game, async ({ id }) => {
  const found = await findGame(db, idBytes(id));
  countView(id);
  return found;
});
procedure('user.getProfile', IdInput, Profile, async ({ id }) =>
  userProfile(await db.selectFrom('users').selectAll().where('id', '=', idBytes(id)).executeTakeFirstOrThrow()),
);
procedure('game.toggleFavorite', GameIdInput, FavoriteState, async (input, request) =>
  toggleFavorite(input, await userOf(request)),
);
procedure('game.create', GameInput, Game, async (input, request) => create(input, await userOf(request)));

await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });
