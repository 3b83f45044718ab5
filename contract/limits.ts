// All limits that the API sets for its callers: schemas, messages, the document, the service and the conformance kit
// import them from here. A lower limit breaks callers; the comment on each limit says why it is not higher.

/**
 * Pages end, and counting stops, where page × limit reaches this: the work for a page grows with the records before
 * it, and the work for a total with the records counted. Cursors reach any depth without either.
 */
export const MAX_PAGE_DEPTH = 10_000;
/** The number of a page: greater than that of any existing page, and no larger than an `int` of most languages. */
export const MAX_PAGE = 2_147_483_647;
/** Records per page: more than a screen shows. */
export const MAX_PAGE_SIZE = 100;
/** Tags to filter by: each tag is one more join, and few records have more tags in common. */
export const MAX_FILTER_TAGS = 10;

/** Events per page: a copy that lags by a day catches up in minutes. */
export const MAX_EVENTS = 100;
/**
 * How far back the start `recent` reaches: further than the lag of the replicas that serve lists. A copy that first
 * takes this cursor, then the lists, misses nothing.
 */
export const RECENT_EVENTS_SECONDS = 120;

/** Open tails of events per caller (a key or an address): the people of an office share one, and each has a screen. */
export const MAX_TAILS = 200;
/** The longest `maxDuration` of a tail: a day. Longer ones have no end. */
export const MAX_TAIL_SECONDS = 86_400;

/** Related games: the two to four rows that a page shows beside a game. */
export const MAX_RELATED = 24;
/** One row of related games. */
export const DEFAULT_RELATED = 6;
/** Types with a count of their own: more than a menu can show. Bounded, since all callers may invent types. */
export const MAX_COUNTED_TYPES = 500;
/** Users that a search finds: a person who has not found the user by then types another letter. */
export const MAX_FOUND_USERS = 50;

/** Records per batch: one transaction stores them, and holds locks and a connection meanwhile. */
export const MAX_BATCH_RECORDS = 100;
/** Calls in a batch of tRPC's: they run in parallel, and one request must not take all connections for long. */
export const MAX_BATCH_CALLS = 20;

/** Webhooks of a user: one for each purpose for which a site uses events. */
export const MAX_WEBHOOKS = 20;
/** Deliveries per page: people read this list, a screen or two at a time. */
export const MAX_DELIVERIES = 100;
/** Hours for which the old secret of a webhook also signs: enough to roll out a deployment. */
export const ROTATION_HOURS = 24;
/** Secrets of a webhook that sign at once: a receiver checks each signature. */
export const MAX_SIGNING_SECRETS = 4;

/** Keys per page: people read this list, a screen or two at a time. */
export const MAX_KEY_PAGE = 100;
/** The number of active keys at which a user can make no more: one for each program of a site, two during rotation. */
export const MAX_KEYS = 100;
/** The longest lifetime, in days, of a key that a user makes: ten years. */
export const MAX_KEY_DAYS = 3650;
export const DEFAULT_KEY_DAYS = 90;
/** The most hours for which an old key works beside its replacement: a month, as the slowest deployment takes. */
export const MAX_OVERLAP_HOURS = 720;
/** Days for which the uses of keys are kept: a part may be removed when unused for a quarter. */
export const MAX_USE_DAYS = 90;
export const DEFAULT_USE_DAYS = 30;
/** The failed calls kept for each key, and for how long: a person looks for a refusal that just happened. */
export const MAX_FAILED_CALLS = 100;
export const FAILED_CALL_HOURS = 24;
/** Consumer contracts of a user: the programs of a team, each under a tag or two. */
export const MAX_CONTRACTS = 100;
/** Needs of a consumer contract: one for each test that calls the service; suites have fewer such tests. */
export const MAX_NEEDS = 1000;
/** Members, or reasons, that a need names: three times as many as the largest operation has. */
export const MAX_NEEDED_MEMBERS = 500;

const KIB = 1024;
const MIB = 1024 * KIB;
/**
 * Largest request body of a procedure that reads, and of a batch of such calls, in bytes: callers need no key to send
 * one. The longest inputs of twenty lists, with all characters escaped, have some 500 KB; with their usual characters,
 * 50 KB.
 */
export const READ_BODY_LIMIT = 64 * KIB;
/** Largest request body of a procedure that writes, in bytes: a game at full length has 340 KB in ASCII. */
export const WRITE_BODY_LIMIT = 1 * MIB;
/** Largest request body of a batch of records, or of calls that write, in bytes: 100 records of 40 KB each. */
export const BATCH_BODY_LIMIT = 4 * MIB;
/** The needs of all consumer contracts of a user, in bytes of JSON: 10 000 needs. Each release reads all of them. */
export const MAX_CONTRACT_BYTES = 4 * MIB;
/**
 * Largest answer to a batch of calls in bytes, short errors aside: memory holds all of it. No single page is as large:
 * one of the largest image posts has 6.5 MB.
 */
export const ANSWER_LIMIT = 8 * MIB;
/** `4 MiB`, `64 KiB` */
export const inBytes = (bytes: number): string => (bytes < MIB ? `${bytes / KIB} KiB` : `${bytes / MIB} MiB`);

/**
 * The accepted codings of request bodies, by the names of RFC 9110, section 8.4.1. `br` is not among them: its decoder
 * takes 16 MB of memory before it has read a byte.
 */
export const BODY_CODINGS = ['gzip', 'deflate'] as const;
export type BodyCoding = (typeof BODY_CODINGS)[number];

/** Headers of a request: ten times as many as browsers and proxies send. */
export const MAX_HEADERS = 1000;
/** All headers of a request, in bytes: the size that all servers and proxies accept. */
export const HEADERS_LIMIT = 16 * 1024;
/** Seconds until the headers of a request must have arrived: they fit into a few packets. */
export const HEADERS_SECONDS = 30;
/** Seconds until a whole request must have arrived: its largest body over a bad mobile connection. */
export const REQUEST_SECONDS = 60;
/** Seconds for which a caller may read nothing of its answer: memory holds it meanwhile. */
export const ANSWER_IDLE_SECONDS = 30;

/** Hours for which the answer to a write is kept for repetitions: for a client's queue that was stuck over night. */
export const IDEMPOTENCY_HOURS = 24;

/** The number of faults in a reply, so that a hostile body cannot make a reply larger than itself. */
export const MAX_ISSUES = 1000;

/**
 * The number of members and elements of an input, at all depths, above which the service does not look for faults. A
 * game has at most 310, a hundred games 31 000, and an unknown member takes as long to find as a valid one. A consumer
 * contract has 40 for each of its needs.
 */
export const MAX_VALUES = { single: 5000, many: 50_000 } as const;

/** Tags of a record: enough to describe it, too few for it to appear under everything. */
export const MAX_TAGS = 20;
/** Platforms of a game: more than are in use. */
export const MAX_PLATFORMS = 20;
/** Screenshots of a game: a long page of them; a collection is an image post. */
export const MAX_SCREENSHOTS = 50;
/** Download links of a game: a few mirrors of a few parts. */
export const MAX_DOWNLOADS = 50;
/** Images of a post: a long page of them. */
export const MAX_IMAGES = 100;
/**
 * Images that lists show of a post: one row of a card, and a page of lists stays well below `ANSWER_LIMIT`. They are
 * stored apart from the others, so that another number takes a migration.
 */
export const MAX_SUMMARY_IMAGES = 4;
/** Social links of a user: more than a profile shows. */
export const MAX_SOCIAL_LINKS = 20;

/** The longest texts, in Unicode code points. Columns for single texts have the same width. */
export const lengths = {
  /** Ours have 36 characters; longer ones leave room for other kinds of ids, since ids are opaque to callers. */
  id: 64,
  /** The length that all servers and proxies accept in a request line. */
  url: 2048,
  /** A magnet link names its trackers, each a URL. */
  downloadUrl: 4096,
  /** A handle, or the URL of a profile, which is short. */
  socialLink: 300,
  /** The name of a site, the key of a social link. */
  siteName: 32,
  /** Ours are shorter, which leaves room to put more into one. */
  cursor: 1000,
  /** The same length as `X-Request-Id`. */
  requestId: 128,
  /** The name of a program, and where it runs. */
  keyName: 100,
  /** A few UUIDs; the service stores only a hash. */
  idempotencyKey: 255,
  /** A search looks for each of its words: half a title is more than people type. */
  search: 100,
  /** A few lines of a card; the subtitles of light novels fit. */
  title: 200,
  /** A few screens of text. */
  description: 5000,
  /** A word or a few: a longer text is a description. */
  tagName: 50,
  /** Four times a name, as NFKC can turn a character into eighteen; the slug of a longer name is a hash. */
  tagSlug: 200,
  /** A short word: types are an open list, but a list. */
  gameType: 32,
  /** `Ver` and the numbers of a build. */
  version: 32,
  /** The same as a title. */
  originalName: 200,
  /** A name, or those of a few. */
  originalAuthor: 200,
  /** A number and a unit. */
  fileSize: 32,
  /** The name of an operating system or a console. */
  platform: 32,
  /** The label of a link: the name of a mirror or a part. */
  downloadName: 200,
  /** The password of an archive; some are sentences. */
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
  /** An operation or a reason: the longest of ours have half of it. */
  contractName: 64,
  /** A few words. */
  pronouns: 50,
  /** A place as people write it, with its region and country. */
  location: 100,
} as const;

/** How many days back from now each time range reaches. */
export const timeRangeDays = { day: 1, week: 7, month: 30, year: 365 } as const;

/** The prefix of API keys; secret scanners detect keys by it. */
export const KEY_PREFIX = 'cgk_';
/** The number of letters and digits after the prefix: 32 random ones (190 bits), and 6 for a checksum. */
export const KEY_LENGTH = 38;

/** Seconds in which a used-up rate becomes whole again, bit by bit. */
export const RATE_SECONDS = 60;
/**
 * Default limits per `RATE_SECONDS`, counted by key, or by address for calls without one. An operator may set others.
 */
export const rates = {
  /** Reads with a key: fifty a second is a busy site, or a job that mirrors thousands of records in a minute. */
  read: 3000,
  /**
   * Reads without a key: ten a second. An office of sixteen, or a CI job, shares an address, and a page with twenty
   * cards sends twenty-one reads at once. `work` and `search` bound the cost of such an address.
   */
  anonymous: 600,
  /** Writes: two a second is an import; `batchCreate` stores more records per write. */
  write: 120,
  /** Searches, which also count as reads: one for each letter that two people type. */
  search: 120,
  /**
   * Milliseconds of work: half a processor, all the time. The requests of ordinary pages, within the numbers above,
   * take a tenth of it.
   */
  work: 30_000,
} as const;
export type RateName = keyof typeof rates;
/** A read of cost `high` counts as this many: three times the CPU of a list of twenty, measured at 20 000 games. */
export const READS_PER_HIGH_COST = 3;
/** Records stored together that count as one write: most of a write's work is the same for any number of records. */
export const RECORDS_PER_WRITE = 10;
/** Bytes of a request that count as a millisecond of work: at worst they take that long to parse. */
export const SENT_BYTES_PER_MS = 4096;
/** Bytes of an answer that count as a millisecond of work: they are read, checked and written. */
export const ANSWERED_BYTES_PER_MS = 65_536;
/**
 * Unknown keys of an address within `RATE_SECONDS`: the service looks each up in the database. Above this number, it
 * lets in only keys from there that it has seen work.
 */
export const UNKNOWN_KEYS = 30;
/** New tags that a user may make in a day, in UTC: a whole catalogue has a few thousand. Tags stay for ever. */
export const DAILY_TAGS = 5000;
/** New game types that a user may make in a day, in UTC: they are an open list, but one for a menu. */
export const DAILY_GAME_TYPES = 200;
/**
 * Bytes of stored answers to changes per user and day, in UTC, for repetitions: 5000 answers with posts of twenty
 * images. The answer to a change is as large as the whole record, even for a small change.
 */
export const DAILY_KEPT_ANSWERS = 16 * MIB;
/** Seconds in which the views of a record from one address count once: a later view is a new visit. */
export const VIEW_SECONDS = 3600;
/**
 * All networks of an IPv6 site (a /48) together have this many times the rates of one network (a /64). A site has 65
 * 536 networks, and a site that many people share needs more than the rate of a household.
 */
export const SITE_FACTOR = 8;
/** All keys of a user together have the rates of this many keys: a user may make a hundred, few need more than one. */
export const USER_FACTOR = 4;
