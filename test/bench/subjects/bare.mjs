// The bare limit: what the same answers cost at least, where every request has a round trip of its own. node:http and
// prepared statements of mysql2; no validation, no log, no headers beyond type and length.
import { createServer } from 'node:http';
import { V7Generator } from 'uuidv7';
import { searchText } from '../../../dist/src/search/text.js';
import { slugOf } from '../../../dist/src/content/tag/slug.js';
import * as statements from './statements.mjs';
import {
  countedTags,
  execute,
  keyVerifier,
  openPool,
  planNumbers,
  tagDictionary,
  transaction,
  viewCounter,
  WITHOUT_AUTOCOMMIT,
} from './store.mjs';
import { game, gamePage, gameSummary, idBytes, storedTime, userProfile } from './wire.mjs';

const { create, toggle } = statements;
const pool = openPool(process.env.DATABASE_URL);
const writers = openPool(process.env.DATABASE_URL, [WITHOUT_AUTOCOMMIT]);
const tagsOf = tagDictionary(pool);
const countedTagsOf = countedTags(pool);
const numbersOf = planNumbers(pool);
const userOf = keyVerifier(pool);
const countView = viewCounter(pool);
const ids = new V7Generator();

/** The order in which all servers lock rows. */
const byName = (a, b) => (a < b ? -1 : 1);

const tally = (keys) => {
  const counts = new Map();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
};

const list = async (input) => {
  const since = statements.sinceOf(input.timeRange);
  const tags = input.tagSlugs?.length > 0 ? await countedTagsOf(input.tagSlugs) : [];
  const numbers = await numbersOf(input, since);
  const { filter, sql, parameters } = statements.list(input, since, tags, numbers);
  const rows = await execute(pool, sql, parameters);
  const shown = rows.length > input.limit ? rows.slice(0, input.limit) : rows;
  const found = await tagsOf(shown);
  const items = shown.map((row, index) => gameSummary(row, found[index]));
  return gamePage(input, items, rows, statements.totalOf(filter, rows[0]));
};

const getById = async ({ id }) => {
  const rows = await execute(pool, statements.gamesById(1), [idBytes(id)]);
  const [tags] = await tagsOf(rows);
  countView(id);
  return game(rows[0], tags);
};

const getProfile = async ({ id }) => {
  const [row] = await execute(pool, statements.profile, [idBytes(id)]);
  return userProfile(row);
};

const toggleFavorite = ({ gameId }, user) =>
  transaction(writers, async (connection) => {
    const id = idBytes(gameId);
    const [stored] = await execute(connection, toggle.lock, [user, id]);
    const favorited = stored.user_id === null;
    if (favorited) await execute(connection, toggle.add, [user, id]);
    else await execute(connection, toggle.remove, [user, id]);
    const favoriteCount = stored.favorite_count + (favorited ? 1 : -1);
    await execute(connection, toggle.store, [favoriteCount, id]);
    return { gameId, favorited, favoriteCount };
  });

const rowOf = (input, tags, user, now) => {
  const { originalAuthor = null, ...extra } = input.extraInfo ?? {};
  return {
    id: idBytes(ids.generateOrResetCore(now.getTime(), 10_000).toString()),
    author_id: user,
    title: input.title,
    view_count: 0,
    like_count: 0,
    dislike_count: 0,
    favorite_count: 0,
    search_text: searchText([input.title, extra.originalName, originalAuthor, ...tags.map((tag) => tag.name)]),
    tag_ids: tags.map((tag) => tag.id).join(','),
    created_at: storedTime(now),
    updated_at: storedTime(now),
    description: input.description ?? null,
    cover_url: input.coverUrl ?? null,
    game_type: input.gameType ?? null,
    is_free: (input.isFree ?? true) ? 1 : 0,
    version: input.version ?? null,
    original_author: originalAuthor,
    extra_info: JSON.stringify(extra),
  };
};

/** What stands for games in the search index. */
const GAMES = 1;

/** The bytes by which the search index sorts. */
const searchKey = (now, id) => {
  const key = Buffer.allocUnsafe(22);
  key.writeUIntBE(now.getTime(), 0, 6);
  key.set(id, 6);
  return key;
};

const labelsOf = ({ game_type: type }, tags) =>
  [...(type === null ? [] : [`type=${type}`]), ...tags.map(({ id }) => `tag=${id}`)].join('\n');

/** Publishes games with tags, all of which exist. */
const publish = (inputs, user) =>
  transaction(writers, async (connection) => {
    const now = new Date();
    const slugLists = inputs.map((input) => [...new Set(input.tagNames.map(slugOf))]);
    const slugs = [...new Set(slugLists.flat())].toSorted(byName);
    const found = await execute(connection, create.authorAndTags(slugs.length), [...slugs, user]);
    const [author] = found;
    const known = new Map(found.map(({ id, name, slug }) => [slug, { id, name, slug }]));
    const tags = slugLists.map((own) => own.map((slug) => known.get(slug)));
    const counted = [...tally(tags.flat().map((tag) => tag.id))].toSorted(([a], [b]) => a - b);
    const tagIds = counted.map(([id]) => id);
    const [[, most]] = counted;
    if (counted.every(([, n]) => n === most)) {
      await execute(connection, create.countEqually(tagIds.length), [inputs.length, most, user, ...tagIds]);
    } else {
      await execute(connection, create.countAll(tagIds.length), [inputs.length, ...counted.flat(), user, ...tagIds]);
    }

    const rows = inputs.map((input, index) => rowOf(input, tags[index], user, now));
    await execute(
      connection,
      create.games(rows.length),
      rows.flatMap((row) => Object.values(row)),
    );
    const links = rows.flatMap((row, index) =>
      tags[index].map((tag, position) => [row.id, tag.id, position, row.game_type]),
    );
    await execute(connection, create.links(links.length), links.flat());
    const documents = rows.map((row, index) => [
      GAMES,
      0,
      searchKey(now, row.id),
      row.search_text,
      labelsOf(row, tags[index]),
    ]);
    await execute(connection, create.tail(documents.length), documents.flat());
    const counters = [...tally(inputs.flatMap(({ gameType }) => ['games', `games:${gameType ?? ''}`]))];
    await execute(connection, create.counters(counters.length), counters.toSorted(([a], [b]) => byName(a, b)).flat());

    const own = { author_nickname: author.nickname, author_avatar: author.avatar, favorited: 0, reaction: null };
    return rows.map((row, index) => game({ ...row, ...own }, tags[index]));
  });

const procedures = {
  '/api/trpc/game.list': list,
  '/api/trpc/game.getById': getById,
  '/api/trpc/user.getProfile': getProfile,
  '/api/trpc/game.toggleFavorite': toggleFavorite,
  '/api/trpc/game.create': async (input, user) => (await publish([input], user))[0],
  '/api/trpc/game.batchCreate': async ({ games }, user) => ({ items: await publish(games, user) }),
};

const answer = async (request, response, body) => {
  const { authorization } = request.headers;
  const user = authorization === undefined ? undefined : await userOf(authorization);
  const json = await procedures[request.url](JSON.parse(body).json, user);
  const text = Buffer.from(JSON.stringify({ result: { data: { json } } }));
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': text.length }).end(text);
};

const server = createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const body = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
    answer(request, response, body).catch((error) => {
      console.error(error);
      response.writeHead(500).end();
    });
  });
});
server.listen(Number(process.env.PORT), '127.0.0.1');
