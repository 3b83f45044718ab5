import { searches } from './searches.mjs';

const PAGE = { page: 1, limit: 20 };
const sorts = ['latest', 'oldest', 'views', 'likes', 'favorites'];
/** No answer of a list with one filter, nor of getRelated, may take the database longer than this, at a million games. */
const CAP_US = 5000;
/** No median latency may grow more than this from the smallest to the largest database, for what is named in the issue. */
const MOST_GROWTH = 1.3;
const flat = { mostGrowth: MOST_GROWTH };
const capped = { capUs: CAP_US };

const list = (name, inputs, limits = {}) => ({ name, procedure: 'game.list', inputs, ...limits });

/** A query of one filter by each sort. Those of a short time range are capped, but not flat: it holds more games. */
const sorted = (name, filters, limits) =>
  sorts.map((sortBy) =>
    list(
      `${name}, ${sortBy}`,
      filters.map((filter) => ({ ...PAGE, ...filter, sortBy })),
      { ...capped, ...limits?.(sortBy) },
    ),
  );

/** The queries whose growth is watched; tags are of the same rank in each database. */
export const growthQueries = ({ gameIds, tags, types }) => {
  const tagged = (from, to) => tags.slice(from, to).map(({ slug }) => ({ tagSlugs: [slug] }));
  const popular = tagged(0, 8);
  const typed = types.filter((type) => type !== '').map((gameType) => ({ gameType }));
  const pairs = tags.slice(0, 6).map(({ slug }, index) => ({ ...PAGE, tagSlugs: [slug, tags[11 - index].slug] }));
  const deep = (name, filters) =>
    list(
      name,
      filters.map((filter) => ({ ...filter, page: 500, limit: 20 })),
      flat,
    );
  const withTag = (filter) => popular.map((tag) => ({ ...PAGE, ...tag, ...filter }));
  return [
    ...sorted('all', [{}], () => flat),
    ...sorted('type', typed, (sortBy) => (sortBy === 'latest' ? flat : {})),
    ...sorted('popular tag', popular, (sortBy) => (sortBy === 'latest' ? flat : {})),
    ...sorted('mid tag', tagged(150, 170)),
    ...sorted('rare tag', tagged(1500, 1520)),
    ...['day', 'week', 'month', 'year'].flatMap((timeRange) => sorted(timeRange, [{ timeRange }])),
    list('two popular tags', pairs, flat),
    list(
      'popular and mid tag',
      withTag({}).map((input, index) => ({
        ...input,
        tagSlugs: [...input.tagSlugs, tags[150 + index].slug],
      })),
    ),
    list('popular tag and type', withTag({ gameType: 'RPG' })),
    list('popular tag and week', withTag({ timeRange: 'week' })),
    list(
      'rare tag and type',
      tagged(1500, 1520).map((tag) => ({ ...PAGE, ...tag, gameType: 'RPG' })),
    ),
    deep('page 500, all', [{}]),
    deep('page 500, type', typed.slice(0, 1)),
    deep('page 500, views', [{ sortBy: 'views' }]),
    deep('page 500, popular tag', popular.slice(0, 1)),
    { name: 'getById', procedure: 'game.getById', inputs: gameIds.slice(0, 500).map((id) => ({ id })), ...flat },
    {
      name: 'getRelated',
      procedure: 'game.getRelated',
      inputs: gameIds.slice(0, 500).map((gameId) => ({ gameId, limit: 6 })),
      ...flat,
      ...capped,
    },
    { name: 'getTypeStats', procedure: 'game.getTypeStats', inputs: [{}], ...flat },
  ];
};

/** The searches, each a query of its own. */
export const searchQueries = () =>
  searches.map(({ kind, search }) => list(`${kind}: ${search}`, [{ ...PAGE, search }]));
