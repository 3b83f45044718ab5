// Every limit that the API sets for its callers: schemas, messages, the document, the service and the conformance kit import
// it from here. A lower limit breaks callers; the comment on each limit says why it is not higher.

/**
 * Pages end at page × limit = this, and counting stops at it: the work for a page grows with the records before it, that
 * for a total with the records counted. A cursor has neither, and reaches any depth.
 */
export const MAX_PAGE_DEPTH = 10_000;
/** The number of a page: beyond any that there is, and no larger than an `int` of most languages. */
export const MAX_PAGE = 2_147_483_647;
/** Records per page: more than a screen shows. */
export const MAX_PAGE_SIZE = 100;
/** Tags to filter by: each tag is one more join, and few records have more tags in common. */
export const MAX_FILTER_TAGS = 10;

/** Events per page: a copy that is a day behind catches up in minutes. */
export const MAX_EVENTS = 100;
/**
 * How far back the start `recent` lies: further than the replicas that lists are read from may lag. A copy that first takes
 * this cursor, then the lists, misses nothing.
 */
export const RECENT_EVENTS_SECONDS = 120;

/** Open tails of events that a caller, a key or an address, may have: an office that shares one has a screen each. */
export const MAX_TAILS = 200;
/** The longest `maxDuration` of a tail: a day. Longer ones have no end. */
export const MAX_TAIL_SECONDS = 86_400;

/** Related games: the two to four rows that a page shows beside a game. */
export const MAX_RELATED = 24;
/** One row of related games. */
export const DEFAULT_RELATED = 6;
/** Types with a count of their own: more than a menu can show. The list is bounded since anyone may invent types. */
export const MAX_COUNTED_TYPES = 500;
/** Users that a search finds: a person who has not found the user by then types another letter. */
export const MAX_FOUND_USERS = 50;

/** Records per batch: they are stored in one transaction, which holds locks and a connection for as long as it lasts. */
export const MAX_BATCH_RECORDS = 100;
/** Calls in a batch of tRPC's: they run side by side, and one request is not to take all connections for long. */
export const MAX_BATCH_CALLS = 20;

/** Webhooks of a user: one for each thing that a site does with events. */
export const MAX_WEBHOOKS = 20;
/** Deliveries per page: a screen or two of a list that is read by people. */
export const MAX_DELIVERIES = 100;
/** Hours for which the old secret of a webhook signs as well: a deployment is rolled out by then. */
export const ROTATION_HOURS = 24;
/** Secrets of a webhook that sign at once: a receiver checks each signature. */
export const MAX_SIGNING_SECRETS = 4;

/** Keys per page: a screen or two of a list that is read by people. */
export const MAX_KEY_PAGE = 100;
/** Active keys beyond which a user makes none. One for each program of a site, twice while they are rotated. */
export const MAX_KEYS = 100;
/** The longest lifetime in days of a key that its user makes: ten years. */
export const MAX_KEY_DAYS = 3650;
export const DEFAULT_KEY_DAYS = 90;
/** Hours for which an old key works beside the one that takes its place, at most: a month, which the slowest deployment takes. */
export const MAX_OVERLAP_HOURS = 720;
/** Days for which the uses of keys are kept: a part that was not used for a quarter can go. */
export const MAX_USE_DAYS = 90;
export const DEFAULT_USE_DAYS = 30;
/** The number of failed calls that are kept for each key, and for how long: a person looks for the refusal that just happened. */
export const MAX_FAILED_CALLS = 100;
export const FAILED_CALL_HOURS = 24;
/** Consumer contracts of a user: the programs of a team, each under a tag or two. */
export const MAX_CONTRACTS = 100;
/** Needs of a consumer contract: one for each test that calls the service, and more than suites have. */
export const MAX_NEEDS = 1000;
/** Members that a need names, and likewise the reasons: three times what the largest operation has. */
export const MAX_NEEDED_MEMBERS = 500;

const KIB = 1024;
const MIB = 1024 * KIB;
/**
 * Largest request body of a procedure that reads, and of a batch of calls that all do, in bytes: anyone may send one. The
 * longest inputs of twenty lists, every character escaped, have some 500 KB; of their usual characters, 50.
 */
export const READ_BODY_LIMIT = 64 * KIB;
/** Largest request body of a procedure that writes, in bytes: a game with every member at its longest has 340 KB of ASCII. */
export const WRITE_BODY_LIMIT = 1 * MIB;
/** Largest request body of a batch of records, or of calls that write, in bytes: 100 records of 40 KB each. */
export const BATCH_BODY_LIMIT = 4 * MIB;
/** Needs of all consumer contracts of a user together, in bytes of JSON: 10 000 of them. All are read before each release. */
export const MAX_CONTRACT_BYTES = 4 * MIB;
/**
 * Largest answer to a batch of calls in bytes, short errors aside: it is held in memory as a whole. No single page is as
 * large: one of the largest image posts has 6.5 MB.
 */
export const ANSWER_LIMIT = 8 * MIB;
/** `4 MiB`, `64 KiB` */
export const inBytes = (bytes: number): string => (bytes < MIB ? `${bytes / KIB} KiB` : `${bytes / MIB} MiB`);

/**
 * How a request body may be encoded, by the names of RFC 9110, section 8.4.1. Not with `br`: its decoder takes 16 MB of
 * memory before it has read a byte.
 */
export const BODY_CODINGS = ['gzip', 'deflate'] as const;
export type BodyCoding = (typeof BODY_CODINGS)[number];

/** Headers of a request: ten times what browsers and proxies send. */
export const MAX_HEADERS = 1000;
/** All headers of a request together, in bytes: what servers and proxies are sure to take. */
export const HEADERS_LIMIT = 16 * 1024;
/** Seconds until the headers of a request must be there: they fit into a packet or a few. */
export const HEADERS_SECONDS = 30;
/** Seconds until a whole request must be there: its largest body at the pace of a bad mobile connection. */
export const REQUEST_SECONDS = 60;
/** Seconds that a caller may take nothing of its answer: memory holds it for as long. */
export const ANSWER_IDLE_SECONDS = 30;

/** Hours for which the answer to a write is kept for repetitions: a client's queue that was stuck over night is worked off. */
export const IDEMPOTENCY_HOURS = 24;

/** Faults beyond this number are left out of a reply, so that a hostile body cannot make it larger than itself. */
export const MAX_ISSUES = 1000;

/**
 * Members and elements of an input, with theirs, beyond which none of its faults is looked for: a game has 310 at most, a
 * hundred games have 31 000, and each that is unknown takes as long to find as one that is right. A consumer contract has 40
 * for each of its needs.
 */
export const MAX_VALUES = { single: 5000, many: 50_000 } as const;

/** Tags of a record: enough to describe it, too few to have it found under everything. */
export const MAX_TAGS = 20;
/** Platforms of a game: more than there are in use. */
export const MAX_PLATFORMS = 20;
/** Screenshots of a game: a long page of them; a collection is an image post. */
export const MAX_SCREENSHOTS = 50;
/** Download links of a game: a few mirrors of a few parts. */
export const MAX_DOWNLOADS = 50;
/** Images of a post: a long page of them. */
export const MAX_IMAGES = 100;
/**
 * Images that lists show of a post: one row of a card, and a page of lists stays well within `ANSWER_LIMIT`. They are
 * stored apart from the others, so another number takes a migration.
 */
export const MAX_SUMMARY_IMAGES = 4;
/** Social links of a user: more than a profile shows. */
export const MAX_SOCIAL_LINKS = 20;

/** The longest texts, in Unicode code points. Texts with a column of their own are as wide there. */
export const lengths = {
  /** Ours have 36 characters; there is room for ids of another making, since callers hold them for opaque. */
  id: 64,
  /** The length that all servers and proxies accept in a request line. */
  url: 2048,
  /** A magnet link names its trackers, each a URL. */
  downloadUrl: 4096,
  /** A handle, or the URL of a profile, which is short. */
  socialLink: 300,
  /** The name of a site, the key of a social link. */
  siteName: 32,
  /** Ours are shorter; there is room to put more into one. */
  cursor: 1000,
  /** As `X-Request-Id` may be. */
  requestId: 128,
  /** The name of a program, and where it runs. */
  keyName: 100,
  /** A few UUIDs; it is hashed, so that no more is stored of it. */
  idempotencyKey: 255,
  /** A search looks for each of its words: half a title is more than anyone types. */
  search: 100,
  /** A few lines of a card; the subtitles of light novels fit. */
  title: 200,
  /** A few screens of text. */
  description: 5000,
  /** A word or a few: what is longer is a description. */
  tagName: 50,
  /** Four times a name, as NFKC can make a character into eighteen; the slug of what is longer is a hash. */
  tagSlug: 200,
  /** A short word: types are an open list, but a list. */
  gameType: 32,
  /** `Ver` and the numbers of a build. */
  version: 32,
  /** As a title. */
  originalName: 200,
  /** A name, or those of a few. */
  originalAuthor: 200,
  /** A number and a unit. */
  fileSize: 32,
  /** The name of an operating system or a console. */
  platform: 32,
  /** The label of a link: the name of a mirror or a part. */
  downloadName: 200,
  /** Of an archive; some are sentences. */
  password: 200,
  /** A nickname must fit beside an avatar. */
  nickname: 50,
  /** One screen of text. */
  bio: 2000,
  /** The name of a package, with that of its owner. */
  consumer: 100,
  /** An environment, or a branch. */
  contractTag: 50,
  /** The name of a test, with those of the groups around it. */
  testName: 500,
  /** A member six levels deep, and a word of the contract. */
  pointer: 300,
  /** An operation or a reason: ours have half of it. */
  contractName: 64,
  /** A few words. */
  pronouns: 50,
  /** A place as people write it, with its region and country. */
  location: 100,
} as const;

/** How many days back from now each time range reaches. */
export const timeRangeDays = { day: 1, week: 7, month: 30, year: 365 } as const;

/** The prefix of API keys, by which secret scanners detect them. */
export const KEY_PREFIX = 'cgk_';
/** How many letters and digits follow: 32 random ones, which is 190 bits, and 6 for a checksum. */
export const KEY_LENGTH = 38;

/** Seconds in which a used-up rate is whole again: it comes back bit by bit, not all at once. */
export const RATE_SECONDS = 60;
/**
 * Default limits per `RATE_SECONDS`, counted by key, or by address for calls without one. An operator may set others.
 */
export const rates = {
  /** Reads with a key: fifty a second is a busy site, or a job that mirrors thousands of records in a minute. */
  read: 3000,
  /**
   * Reads without: ten a second. An office of sixteen, or a CI job, shares an address, and a page with twenty cards makes
   * twenty-one reads at once. `work` and `search` bound what such an address costs.
   */
  anonymous: 600,
  /** Writes: two a second is an import; `batchCreate` takes more records for it. */
  write: 120,
  /** Searches, which count as reads as well: one for each letter that two people type. */
  search: 120,
  /**
   * Milliseconds of work: half a processor, all the time. The requests of ordinary pages, within the numbers above, take a
   * tenth of it.
   */
  work: 30_000,
} as const;
export type RateName = keyof typeof rates;
/** Reads as which one of cost `high` counts: it takes three times the CPU of a list of twenty, measured at 20 000 games. */
export const READS_PER_HIGH_COST = 3;
/** Records that are stored together for the price of one stored alone: most of a write is what is done once. */
export const RECORDS_PER_WRITE = 10;
/** Bytes of a request that count as a millisecond of work: so long it takes at worst to take them apart. */
export const SENT_BYTES_PER_MS = 4096;
/** Bytes of an answer that do: they are read, checked and written. */
export const ANSWERED_BYTES_PER_MS = 65_536;
/**
 * Keys of an address that need not exist, within `RATE_SECONDS`: each has the database asked. Beyond, only keys that were
 * seen to work are let in from there.
 */
export const UNKNOWN_KEYS = 30;
/** New tags that a user may make in a day, in UTC: a whole catalogue has a few thousand. They stay for ever. */
export const DAILY_TAGS = 5000;
/** New types of games, likewise: they are an open list, but one for a menu. */
export const DAILY_GAME_TYPES = 200;
/**
 * Bytes of answers to changes that are kept for repetitions of a user in a day, in UTC: 5000 of posts of twenty images. The
 * answer to a change is as large as the whole record, even for a small change.
 */
export const DAILY_KEPT_ANSWERS = 16 * MIB;
/** Seconds in which the views of a record from one address count once: who comes back later has come again. */
export const VIEW_SECONDS = 3600;
/**
 * How many times the rates of one network (a /64) all networks of an IPv6 site (a /48) have together: a site has 65 536 of
 * them, and one that many people share is not held to the rate of a household.
 */
export const SITE_FACTOR = 8;
/** How many times the rates of one key all keys of a user have together: a user may make a hundred, and few need more than one. */
export const USER_FACTOR = 4;
