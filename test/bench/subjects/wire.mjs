/** What all subjects answer: rows of the database as the contract wants them on the wire. */

/** The id of 16 bytes. */
export const idText = (bytes) => {
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
};

/** The 16 bytes of an id. */
export const idBytes = (id) => Buffer.from(id.replaceAll('-', ''), 'hex');

/** A stored instant, whose milliseconds prepared statements leave out when they are 0, as ISO 8601. */
export const isoTime = (stored) =>
  stored.length === 19
    ? `${stored.slice(0, 10)}T${stored.slice(11)}.000Z`
    : `${stored.slice(0, 10)}T${stored.slice(11)}Z`;

/** An instant as it is stored. */
export const storedTime = (time) => time.toISOString().slice(0, -1).replace('T', ' ');

/** A game as lists show it. `tags` are its tags in the author's order, with `name` and `slug`. */
export const gameSummary = (row, tags) => ({
  id: idText(row.id),
  title: row.title,
  tags: tags.map(({ name, slug }) => ({ name, slug })),
  author: { id: idText(row.author_id), nickname: row.author_nickname, avatar: row.author_avatar },
  viewCount: row.view_count,
  likeCount: row.like_count,
  dislikeCount: row.dislike_count,
  favoriteCount: row.favorite_count,
  viewer: row.favorited === undefined ? null : { favorited: row.favorited === 1, reaction: row.reaction ?? null },
  createdAt: isoTime(row.created_at),
  updatedAt: isoTime(row.updated_at),
  coverUrl: row.cover_url,
  gameType: row.game_type,
  isFree: row.is_free === 1,
  version: row.version,
});

/** A whole game. */
export const game = (row, tags) => {
  const extra = JSON.parse(row.extra_info);
  return {
    ...gameSummary(row, tags),
    description: row.description,
    extraInfo: {
      originalName: extra.originalName ?? null,
      originalAuthor: row.original_author,
      fileSize: extra.fileSize ?? null,
      platforms: extra.platforms ?? [],
      screenshots: extra.screenshots ?? [],
      downloads: (extra.downloads ?? []).map(({ name, url, password }) => ({ name, url, password: password ?? null })),
    },
  };
};

/** A user as everyone may see them. */
export const userProfile = (row) => ({
  id: idText(row.id),
  nickname: row.nickname,
  avatar: row.avatar,
  bio: row.bio,
  pronouns: row.pronouns,
  website: row.website,
  location: row.location,
  socialLinks: JSON.parse(row.social_links),
  gameCount: row.game_count,
  imagePostCount: row.image_post_count,
  createdAt: isoTime(row.created_at),
});

/** A page of games. `rows` holds one more than the page where there is a next one. */
export const gamePage = ({ page, limit }, items, rows, total) => {
  const last = rows[limit - 1];
  return {
    items,
    page,
    limit,
    ...total,
    hasMore: rows.length > limit,
    nextCursor: rows.length > limit ? Buffer.from(`${last.created_at} ${idText(last.id)}`).toString('base64url') : null,
  };
};
