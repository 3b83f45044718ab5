// The bare limit: what the same answers cost at least, where every request has a round trip of its own. node:http and
// prepared statements of mysql2; no validation, no log, no headers beyond type and length.
import { createServer } from 'node:http';
import { V7Generator } from 'uuidv7';
import { searchText } from '../../../dist/src/search/text.js';
import { slugOf } from '../../../dist/src/tag/slug.js';
import * as statements from './statements.mjs';
import { execute, keyVerifier, openPool, tagDictionary, transaction, viewCounter } from './store.mjs';
import { game, gamePage, gameSummary, idBytes, storedTime, userProfile } from './wire.mjs';

const { create, toggle } = statements;
const pool = openPool(process.env.DATABASE_URL);
const tagsOf = tagDictionary(pool);
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
  let tags = [];
  if (input.tagSlugs?.length > 0) {
    const { sql, parameters } = statements.tagQuery(input.tagSlugs);
    tags = (await execute(pool, sql, parameters)).toSorted((a, b) => a.n - b.n);
  }
  const { sql, parameters, isBounded } = statements.list(input, tags);
  const rows = await execute(pool, sql, parameters);
  const shown = rows.length > input.limit ? rows.slice(0, input.limit) : rows;
  const found = await tagsOf(shown);
  const items = shown.map((row, index) => gameSummary(row, found[index]));
  return gamePage(input, items, rows, rows[0]?.total ?? 0, isBounded);
};

const getById = async ({ id }) => {
  const rows = await execute(pool, statements.gamesById(1, false), [idBytes(id)]);
  const [tags] = await tagsOf(rows);
  countView(id);
  return game(rows[0], tags);
};

const getProfile = async ({ id }) => {
  const [row] = await execute(pool, statements.profile, [idBytes(id)]);
  return userProfile(row);
};

const toggleFavorite = ({ gameId }, user) =>
  transaction(pool, async (connection) => {
    const id = idBytes(gameId);
    const [{ favorite_count: before }] = await execute(connection, toggle.lock, [id]);
    const { affectedRows: removed } = await execute(connection, toggle.remove, [user, id]);
    if (removed === 0) await execute(connection, toggle.add, [user, id]);
    const favoriteCount = before + (removed === 0 ? 1 : -1);
    await execute(connection, toggle.store, [favoriteCount, id]);
    return { gameId, favorited: removed === 0, favoriteCount };
  });

/** The tags with these names, made where they do not exist, by their slugs. */
const ensureTags = async (connection, names) => {
  const bySlug = new Map(names.map((name) => [slugOf(name), name]));
  const slugs = [...bySlug.keys()].toSorted(byName);
  if (slugs.length === 0) return new Map();
  const find = async (wanted) => execute(connection, statements.tagsBySlug(wanted.length), wanted);
  const tags = new Map((await find(slugs)).map((tag) => [tag.slug, tag]));
  const missing = slugs.filter((slug) => !tags.has(slug));
  if (missing.length > 0) {
    const rows = missing.flatMap((slug) => [slug, bySlug.get(slug)]);
    await execute(connection, create.addTags(missing.length), rows);
    for (const tag of await find(missing)) tags.set(tag.slug, tag);
  }
  return tags;
};

const rowOf = (input, tags, user, now) => {
  const { originalAuthor = null, ...extra } = input.extraInfo ?? {};
  return [
    idBytes(ids.generateOrResetCore(now.getTime(), 10_000).toString()),
    user,
    input.title,
    input.description ?? null,
    searchText([input.title, extra.originalName, originalAuthor, ...tags.map((tag) => tag.name)]),
    storedTime(now),
    storedTime(now),
    input.coverUrl ?? null,
    input.gameType ?? null,
    (input.isFree ?? true) ? 1 : 0,
    input.version ?? null,
    originalAuthor,
    JSON.stringify(extra),
  ];
};

const publish = (inputs, user) =>
  transaction(pool, async (connection) => {
    const now = new Date();
    const known = await ensureTags(
      connection,
      inputs.flatMap((input) => input.tagNames ?? []),
    );
    const tags = inputs.map((input) => [...new Set((input.tagNames ?? []).map(slugOf))].map((slug) => known.get(slug)));
    const counted = [...tally(tags.flat().map((tag) => tag.id))].toSorted(([a], [b]) => a - b);
    if (counted.length > 0) {
      const parameters = [...counted.flat(), ...counted.map(([id]) => id)];
      await execute(connection, create.countTags(counted.length), parameters);
    }
    await execute(connection, create.countAuthors(1), [user, inputs.length, user]);
    const counters = tally(inputs.flatMap(({ gameType }) => ['games', `games:${gameType ?? ''}`]));
    for (const [name, n] of [...counters].toSorted(([a], [b]) => byName(a, b)))
      await execute(connection, create.count, [n, name]);

    const rows = inputs.map((input, index) => rowOf(input, tags[index], user, now));
    await execute(connection, create.games(rows.length), rows.flat());
    const links = rows.flatMap(([id], index) => tags[index].map((tag, position) => [id, tag.id, position]));
    if (links.length > 0) await execute(connection, create.links(links.length), links.flat());

    const keys = rows.map(([id]) => id);
    const stored = await execute(connection, statements.gamesById(keys.length, true), [...keys, user, user]);
    const byId = new Map(stored.map((row) => [row.id.toString('hex'), row]));
    return keys.map((key, index) => game(byId.get(key.toString('hex')), tags[index]));
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
