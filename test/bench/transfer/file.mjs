import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { gameLine, imageLine, userLine } from '../../../dist/src/admin/transfer/records.js';
import { END, FORMAT, MAX_LISTED, VERSION } from '../../../dist/src/admin/transfer/format.js';
import { seedGames, seedImagePosts, seedUsers } from '../../../dist/src/sandbox/seed/records.js';
import { storedIdToBytes, timeToDb } from '../../../dist/src/db/values.js';

const FLUSH_AT = 2 ** 20;
const MOST_USERS = 50_000;

/** What the file of a number of games holds. */
export const contentOf = (games) => ({
  users: Math.min(MOST_USERS, Math.ceil(games / 20)),
  games,
  images: Math.ceil(games / 10),
});

const rowOf = ({ id, authorId, createdAt, draft, counts }) => ({
  ...draft.columns,
  id: storedIdToBytes(id),
  author_id: storedIdToBytes(authorId),
  title: draft.title,
  view_count: counts.viewCount,
  created_at: timeToDb(createdAt),
  updated_at: timeToDb(createdAt),
});

/** Those who favorited a record or reacted to it, in as many parts as an export would tell of them. */
const audiencesOf = ({ favoritedBy, likedBy, dislikedBy }) => {
  const favorites = favoritedBy.toSorted();
  const liking = new Set(likedBy);
  const reacting = [...likedBy, ...dislikedBy].toSorted((a, b) => (a < b ? -1 : 1));
  const parts = Math.max(1, Math.ceil(Math.max(favorites.length, reacting.length) / MAX_LISTED));
  return Array.from({ length: parts }, (_, part) => {
    const [start, end] = [part * MAX_LISTED, (part + 1) * MAX_LISTED];
    const some = reacting.slice(start, end);
    return {
      favorites: favorites.slice(start, end),
      likes: some.filter((id) => liking.has(id)),
      dislikes: some.filter((id) => !liking.has(id)),
    };
  });
};

function* recordLines(of, records, view) {
  for (const record of records) {
    const [first, ...more] = audiencesOf(record);
    yield view(rowOf(record), [...record.draft.tagNames], first);
    for (const audience of more) {
      const lists = Object.entries(audience).filter(([, ids]) => ids.length > 0);
      yield { kind: 'audience', of, id: record.id, ...Object.fromEntries(lists) };
    }
  }
}

function* lines(games) {
  const options = { ...contentOf(games), randomSeed: 1, until: new Date('2026-04-01') };
  const ids = Array.from(seedUsers(options), ({ id }) => id);
  yield { format: FORMAT, version: VERSION, parts: ['users', 'games', 'images'], since: null, lastUser: ids.at(-1) };
  for (const { socialLinks, createdAt, ...user } of seedUsers(options)) {
    const time = timeToDb(createdAt);
    yield userLine({
      ...user,
      id: storedIdToBytes(user.id),
      social_links: JSON.stringify(socialLinks),
      suspended_at: null,
      hidden_at: null,
      created_at: time,
      updated_at: time,
    });
  }
  yield* recordLines('game', seedGames(options, ids), gameLine);
  yield* recordLines('image', seedImagePosts(options, ids), imageLine);
  yield END;
}

/** Writes a file as an export of so many games, a tenth as many image posts and at most 50 000 users would be, without a database. */
export const writeContent = async (path, games) => {
  const output = createWriteStream(path);
  let text = '';
  for (const line of lines(games)) {
    text += `${JSON.stringify(line)}\n`;
    if (text.length < FLUSH_AT) continue;
    if (!output.write(text)) await once(output, 'drain');
    text = '';
  }
  output.end(text);
  await once(output, 'close');
};
