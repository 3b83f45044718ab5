import { Random, zipf } from '../../../dist/src/sandbox/seed/random.js';
import { batchText, requestText, toolText } from './load.mjs';
import { searches } from './searches.mjs';

const FILTERS = 200;
const DRAWS = 5000;
const TOGGLED_GAMES = 2000;
const PAGES = 300;
const SEARCHED_TAGS = 16;
const POPULAR_TAGS = 100;
const BATCHES = 50;
const LISTS_OF_A_BATCH = 20;
const MIXED = 20_000;
/** Callers who toggle the same game. */
const RIVALS = 64;
const LATEST = { page: 1, limit: 20 };

const several = (count, make) => Array.from({ length: count }, (_, index) => make(index));

/** Two hundred different filters, sorts and pages, the simple ones first. */
export const listInputs = ({ tags, types }) => {
  const random = new Random('list mix');
  const popular = tags.slice(0, 20);
  const mid = tags.slice(100, 200);
  const sorts = ['views', 'likes', 'favorites', 'oldest'];
  const pick = (items) => random.pick(items);
  const kinds = [
    () => ({ page: random.between(1, 10) }),
    () => ({ gameType: pick(types), page: random.between(1, 3) }),
    () => ({ sortBy: pick(sorts), page: random.between(1, 3) }),
    () => ({ tagSlugs: [pick(popular).slug], page: random.between(1, 3) }),
    () => ({ gameType: pick(types), sortBy: 'views' }),
    () => ({ timeRange: pick(['week', 'month']), sortBy: pick(['views', 'likes']) }),
    () => ({ tagSlugs: [pick(mid).slug] }),
    () => ({ tagSlugs: [pick(popular).slug], sortBy: 'views' }),
    () => ({ tagSlugs: [popular[random.between(0, 9)].slug, popular[random.between(10, 19)].slug] }),
    () => ({ page: pick([50, 100, 500]) }),
  ];
  const inputs = new Map([[JSON.stringify(LATEST), LATEST]]);
  for (let index = 0; inputs.size < FILTERS; index += 1) {
    const input = { ...LATEST, ...kinds[index % kinds.length]() };
    inputs.set(JSON.stringify(input), input);
  }
  return [...inputs.values()];
};

/** A game to publish, with three tags that exist, popular ones more often. */
const gameInput = ({ tags, types }, random) => {
  const draw = zipf(tags);
  const names = new Set();
  while (names.size < 3) names.add(draw(random).name);
  const number = random.nextUint32();
  return {
    title: `星降る王国の伝説 ${number}`,
    description: 'あなたは王国最後の勇者。図書館の地下で失われた剣が見つかった。',
    coverUrl: `https://images.example.com/covers/${number}.webp`,
    gameType: random.pick(types.filter((type) => type !== '')),
    isFree: true,
    version: 'Ver1.2',
    tagNames: [...names],
    extraInfo: {
      originalName: 'The Legend of the Starlit Kingdom',
      originalAuthor: `Studio ${number % 1000}`,
      fileSize: '1.5GB',
      platforms: ['Windows', 'Linux'],
      screenshots: [`https://images.example.com/screenshots/${number}.webp`],
      downloads: [{ name: 'Mirror 1', url: `https://files.example.com/${number}.zip`, password: 'open' }],
    },
  };
};

/**
 * The operations that are timed, by name: the procedure, its inputs with the keys to send in turn, `isWrite`, and
 * - `settleMs`: how long after the last answer the server still works on what it was asked
 * - `textOf`: makes the request of an input, where it is not a plain call of `procedure`
 */
export const operationsOf = (samples) => {
  const { gameIds, userIds, keys, tags } = samples;
  const random = new Random('operations');
  const draw = zipf(listInputs(samples));
  const anonymous = (inputs) => inputs.map((input) => ({ input }));
  const games = several(500, () => gameInput(samples, random));
  const tagged = (tagsOf) => games.map((game, index) => ({ ...game, tagNames: tagsOf(index).map(({ name }) => name) }));
  const rare = tags.slice(POPULAR_TAGS);
  const rarelyTagged = tagged((index) => [0, 1].map((n) => rare[(2 * index + n) % rare.length]));
  const equallyTagged = tagged(() => tags.slice(0, 2));
  const batches = several(4, (index) => ({ games: games.slice(index * 100, index * 100 + 100) }));
  const words = [...searches.map(({ search }) => search), ...tags.slice(0, SEARCHED_TAGS).map(({ name }) => name)];
  const by = (key, inputs) => inputs.map((input) => ({ input, key }));
  return {
    list: { procedure: 'game.list', calls: anonymous([LATEST]) },
    listMix: {
      procedure: 'game.list',
      calls: anonymous(several(DRAWS, () => draw(random))),
    },
    getById: {
      procedure: 'game.getById',
      calls: anonymous(gameIds.map((id) => ({ id }))),
      settleMs: 1200,
    },
    getProfile: {
      procedure: 'user.getProfile',
      calls: anonymous(userIds.map((id) => ({ id }))),
    },
    toggleFavorite: {
      procedure: 'game.toggleFavorite',
      calls: by(
        keys[0],
        gameIds.slice(0, TOGGLED_GAMES).map((gameId) => ({ gameId })),
      ),
      isWrite: true,
    },
    hotToggle: {
      procedure: 'game.toggleFavorite',
      calls: keys.slice(0, RIVALS).map((key) => ({ input: { gameId: gameIds[0] }, key })),
      isWrite: true,
    },
    create: { procedure: 'game.create', calls: by(keys[0], games), isWrite: true },
    createRareTags: { procedure: 'game.create', calls: by(keys[0], rarelyTagged), isWrite: true },
    createSameTags: { procedure: 'game.create', calls: by(keys[0], equallyTagged), isWrite: true },
    batchCreate100: {
      procedure: 'game.batchCreate',
      calls: by(keys[0], batches),
      isWrite: true,
    },
    page500: { procedure: 'game.list', calls: anonymous([{ page: 500, limit: 20 }]) },
    getRelated: {
      procedure: 'game.getRelated',
      calls: anonymous(gameIds.map((gameId) => ({ gameId, limit: 6 }))),
    },
    search: { procedure: 'game.list', calls: anonymous(words.map((search) => ({ ...LATEST, search }))) },
    userSearch: {
      procedure: 'user.search',
      calls: by(
        keys[0],
        words.map((query) => ({ query, limit: 10 })),
      ),
    },
    listPages: {
      procedure: 'game.list',
      calls: anonymous(several(PAGES, (index) => ({ page: index + 1, limit: 20 }))),
    },
    batch20: {
      calls: anonymous(several(BATCHES, () => several(LISTS_OF_A_BATCH, () => draw(random)))),
      textOf: (inputs) => batchText('game.list', inputs),
    },
    mcp: {
      calls: anonymous(several(DRAWS, () => draw(random))),
      textOf: (input) => toolText('game_list', input),
    },
  };
};

/** The requests of an operation as they go over the wire. */
export const requestsOf = ({ procedure, calls, textOf }) =>
  calls.map(({ input, key }) => (textOf ? textOf(input) : requestText(procedure, input, key)));

/** The requests of an operation without keys: each caller adds its own where `isKeyed`. */
const unsignedRequestsOf = (operation) =>
  requestsOf({ ...operation, calls: operation.calls.map(({ input }) => ({ input })) }).map((text, index) => ({
    text,
    isKeyed: operation.calls[index].key !== undefined,
  }));

/** How many of a hundred requests of the mix are of which operation. */
const MIX = {
  listMix: 30,
  getById: 25,
  getProfile: 8,
  search: 4,
  userSearch: 3,
  getRelated: 8,
  toggleFavorite: 10,
  hotToggle: 2,
  create: 4,
  batch20: 2,
  mcp: 4,
};

/** Requests of all operations, mixed. */
const mixed = (operations) => {
  const random = new Random('mix');
  const wheel = Object.entries(MIX).flatMap(([name, share]) => Array.from({ length: share }, () => name));
  const requests = Object.fromEntries(Object.keys(MIX).map((name) => [name, unsignedRequestsOf(operations[name])]));
  return several(MIXED, () => random.pick(requests[random.pick(wheel)]));
};

/** The requests of crowds: of an operation, or of `mix`. */
export const crowdRequestsOf = (operations, name) =>
  name === 'mix' ? mixed(operations) : unsignedRequestsOf(operations[name]);
