import { createRequire } from 'node:module';
import { V7Generator } from 'uuidv7';
import type { Contract, InputOf } from '../../../contract/index.ts';
import type { Draft, Publication } from '../../content/write/publish.ts';
import type { StoredGame } from '../../game/kind.ts';
import { gameDraft } from '../../game/service.ts';
import type { StoredImagePost } from '../../image/kind.ts';
import { imagePostDraft } from '../../image/service.ts';
import { normalise } from '../../search/text.ts';
import type { UserRow } from '../../user/entity.ts';
import { distinct, Random, zipf } from './random.ts';
import { slugOf } from '../../content/tag/slug.ts';

/**
 * A language: lists of phrases. A phrase may name other lists in braces; one of their phrases replaces each name. Every
 * language has these lists, and others that only its own phrases name.
 */
export type Language = Record<Phrase, readonly string[]> & Record<string, readonly string[]>;

type Phrase =
  | 'gameTitle'
  | 'imageTitle'
  | 'description'
  | 'originalAuthor'
  | 'nickname'
  | 'bio'
  | 'location'
  | 'download'
  /** Tags that a site has from its beginning, the most frequent first. */
  | 'tag'
  /** Thousands of more special tags. */
  | 'rareTag';

const { japanese, chinese, english, korean } = createRequire(import.meta.url)('#words') as Record<
  'japanese' | 'chinese' | 'english' | 'korean',
  Language
>;

/** Each language, as often as its share of the records. */
export const languages: readonly Language[] = [japanese, japanese, chinese, chinese, english, korean];

const SLOT = /\{(\w+)\}/g;

/** Composes a text: one of the phrases of a list, with those that it names. */
export const compose = (language: Language, list: string, random: Random): string => {
  const phrases = language[list];
  if (!phrases) throw new TypeError(`no list "${list}"`);
  return random.pick(phrases).replaceAll(SLOT, (_, named: string) => compose(language, named, random));
};

const TAGS = 5000;

/** The names of all seeded tags, the most frequent first, the same for all seeds: a site has only one set of tags. */
export const tagNames = (): string[] => {
  const names = new Map<string, string>();
  const add = (name: string): void => {
    const slug = slugOf(name);
    if (!names.has(slug)) names.set(slug, name);
  };
  const usual = Math.max(...languages.map(({ tag }) => tag.length));
  for (let rank = 0; rank < usual; rank += 1) {
    for (const { tag } of languages) add(tag[rank] ?? tag[0] ?? '');
  }
  const random = new Random('tags');
  while (names.size < TAGS) add(compose(random.pick(languages), 'rareTag', random));
  return [...names.values()];
};

/** The options that determine every row of a seed. */
export interface SeedOptions {
  users: number;
  games: number;
  images: number;
  randomSeed: number;
  /** The latest date: all records were published in the two years before. */
  until: Date;
  /** The time to store for an event at a time, if another: it must keep the order. Ids hold the original time. */
  dated?: (time: Date) => Date;
}

/** A record with the users who liked it, and so on. */
export interface SeedRecord<Own extends object = object> extends Publication<Own> {
  favoritedBy: string[];
  likedBy: string[];
  dislikedBy: string[];
}

type Kind = 'users' | 'games' | 'images';
type GameInput = InputOf<Contract['game']['create']>;
type ImagePostInput = InputOf<Contract['image']['create']>;

const YEAR_MS = 365 * 86_400_000;
/** Users join in the year before the first record, so that no user acts before joining. */
const periods = {
  users: { begin: 3 * YEAR_MS, length: YEAR_MS },
  games: { begin: 2 * YEAR_MS, length: 2 * YEAR_MS },
  images: { begin: 2 * YEAR_MS, length: 2 * YEAR_MS },
};

const ORIGINAL_AUTHORS = 2000;
const MOST_TAGS = 8;
const GAME_TYPES = ['ADV', 'ADV', 'ADV', 'RPG', 'RPG', 'RPG', 'SLG', 'SLG', 'ACT', 'ACT', 'STG', 'PZL', 'SIM'];
const PLATFORMS = ['Windows', 'Android', 'macOS', 'Linux', 'iOS', 'Switch', 'Web'];
const PRONOUNS = ['she/her', 'he/him', 'they/them'];
const SITES = ['github', 'pixiv', 'x', 'bilibili', 'steam'];

const randomOf = ({ randomSeed }: SeedOptions, purpose: string): Random => new Random(`${randomSeed} ${purpose}`);

const maybe = <T>(random: Random, probability: number, make: () => T): T | undefined =>
  random.chance(probability) ? make() : undefined;

const several = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);

const imageUrl = (random: Random, folder: string): string =>
  `https://images.example.com/${folder}/${random.nextUint32().toString(16).padStart(8, '0')}.webp`;

/** The creation times of users or records of a seed, at about even intervals, and their ids, which sort alike. */
export function* creations(options: SeedOptions, kind: Kind): Generator<{ id: string; createdAt: Date }> {
  const count = options[kind];
  const { begin, length } = periods[kind];
  const random = randomOf(options, `${kind} ids`);
  const ids = new V7Generator(random);
  for (let index = 0; index < count; index += 1) {
    const passed = Math.floor(((index + random.fraction()) / count) * length);
    const time = new Date(options.until.getTime() - begin + passed);
    const id = ids.generateOrResetWithTs(time.getTime()).toString();
    yield { id, createdAt: options.dated?.(time) ?? time };
  }
}

/** The users of a seed, oldest first. */
export function* seedUsers(options: SeedOptions): Generator<Omit<UserRow, 'suspendedAt' | 'hiddenAt'>> {
  const random = randomOf(options, 'users');
  for (const { id, createdAt } of creations(options, 'users')) {
    const language = random.pick(languages);
    const nickname = compose(language, 'nickname', random);
    const handle = `user${random.between(1000, 9_999_999)}`;
    yield {
      id,
      nickname,
      bio: maybe(random, 0.5, () => compose(language, 'bio', random)) ?? null,
      pronouns: maybe(random, 0.2, () => random.pick(PRONOUNS)) ?? null,
      website: maybe(random, 0.2, () => `https://${handle}.example.com/`) ?? null,
      location: maybe(random, 0.5, () => compose(language, 'location', random)) ?? null,
      socialLinks: maybe(random, 0.4, () => ({ [random.pick(SITES)]: `@${handle}` })) ?? {},
      avatar: maybe(random, 0.7, () => imageUrl(random, 'avatars')) ?? null,
      gameCount: 0,
      imagePostCount: 0,
      searchText: normalise(nickname),
      createdAt,
      updatedAt: createdAt,
    };
  }
}

/** The games of a seed, oldest first, published, liked and so on by these users. */
export const seedGames = (options: SeedOptions, userIds: readonly string[]): Generator<SeedRecord<StoredGame>> => {
  const random = randomOf(options, 'original authors');
  const originalAuthor = zipf(
    several(ORIGINAL_AUTHORS, () => compose(random.pick(languages), 'originalAuthor', random)),
  );
  return records(options, 'games', userIds, (...made) => gameDraft(gameInput(originalAuthor, ...made)));
};

/** The image posts of a seed, oldest first, published, liked and so on by these users. */
export const seedImagePosts = (
  options: SeedOptions,
  userIds: readonly string[],
): Generator<SeedRecord<StoredImagePost>> =>
  records(options, 'images', userIds, (...made) => imagePostDraft(imagePostInput(...made)));

function* records<Own extends object>(
  options: SeedOptions,
  kind: Kind,
  userIds: readonly string[],
  draft: (random: Random, tagNames: string[]) => Draft<Own>,
): Generator<SeedRecord<Own>> {
  const random = randomOf(options, kind);
  const tag = zipf(tagNames());
  const author = zipf(userIds);
  for (const creation of creations(options, kind)) {
    const tags = distinct(random.between(0, MOST_TAGS), () => tag(random));
    yield { ...creation, authorId: author(random), draft: draft(random, tags), ...audience(random, userIds) };
  }
}

/** The likes, dislikes, favorites and views of a record: a few of each on average, hundreds on rare hits. */
const audience = (random: Random, userIds: readonly string[]) => {
  // Among n² records, one is n times as popular as the least popular ones.
  const popularity = 1 / Math.sqrt(1 - random.fraction());
  const users = (share: number): number => Math.min(Math.floor(popularity * share * random.fraction()), userIds.length);
  const choose = (count: number): string[] => distinct(count, () => random.pick(userIds));

  const viewCount = Math.floor(popularity * random.between(50, 150));
  const favoritedBy = choose(users(1.5));
  const likes = users(1.5);
  const dislikes = Math.min(users(0.4), userIds.length - likes);
  const reacting = choose(likes + dislikes);
  return {
    favoritedBy,
    likedBy: reacting.slice(0, likes),
    dislikedBy: reacting.slice(likes),
    counts: { viewCount, favoriteCount: favoritedBy.length, likeCount: likes, dislikeCount: dislikes },
  };
};

const gameInput = (originalAuthor: (random: Random) => string, random: Random, tags: string[]): GameInput => {
  const language = random.pick(languages);
  return {
    title: compose(language, 'gameTitle', random),
    description: maybe(random, 0.8, () => compose(language, 'description', random)),
    coverUrl: maybe(random, 0.9, () => imageUrl(random, 'covers')),
    gameType: maybe(random, 0.95, () => random.pick(GAME_TYPES)),
    isFree: random.chance(0.8),
    version: maybe(random, 0.85, () => `Ver${random.between(0, 3)}.${random.between(0, 20)}`),
    tagNames: tags,
    extraInfo: {
      originalName: maybe(random, 0.5, () => compose(random.pick(languages), 'gameTitle', random)),
      originalAuthor: maybe(random, 0.6, () => originalAuthor(random)),
      fileSize: maybe(random, 0.9, () => fileSize(random)),
      platforms: distinct(random.between(1, 3), () => random.pick(PLATFORMS)),
      screenshots: several(random.between(0, 4), () => imageUrl(random, 'screenshots')),
      downloads: several(random.between(0, 2), () => download(language, random)),
    },
  };
};

const fileSize = (random: Random): string =>
  random.chance(0.5) ? `${random.between(40, 990)}MB` : `${random.between(1, 24)}.${random.between(1, 9)}GB`;

const download = (language: Language, random: Random) => ({
  name: compose(language, 'download', random),
  url: `https://files.example.com/${random.nextUint32().toString(36)}.zip`,
  password: maybe(random, 0.3, () => random.nextUint32().toString(36)),
});

const imagePostInput = (random: Random, tags: string[]): ImagePostInput => {
  const language = random.pick(languages);
  return {
    title: compose(language, 'imageTitle', random),
    images: several(random.between(1, 6), () => imageUrl(random, 'posts')),
    description: maybe(random, 0.4, () => compose(language, 'description', random)),
    tagNames: tags,
  };
};
