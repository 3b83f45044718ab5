import type { Logger } from 'pino';
import { sweepActs } from './audit/acts.ts';
import type { GameColumns, GameSummaryColumns } from './game/entity.ts';
import { gameKind } from './game/kind.ts';
import type { ImagePostColumns, ImagePostSummaryColumns } from './image/entity.ts';
import { imageKind } from './image/kind.ts';
import { ContentReads } from './content/read/reads.ts';
import { viewCounts } from './content/write/view-counts.ts';
import type { Config } from './runtime/config.ts';
import { Database } from './db/database.ts';
import { Deadline } from './deadline.ts';
import type { WriteBehind } from './db/batching/write-buffer.ts';
import { sweepRecords } from './idempotency/records.ts';
import type { Observer } from './telemetry/hooks.ts';
import { Writes } from './idempotency/writes.ts';
import { OverloadProtection } from './overload/overload-protection.ts';
import { KeyUses, sweepUses } from './auth/uses.ts';
import { KeyVerifier } from './auth/verifier.ts';
import { type Limits, openLimits } from './rate-limit/limits.ts';
import { Publisher } from './content/write/publisher.ts';
import { Toggles } from './content/engagement/service.ts';
import { schema, searchKinds } from './schema.ts';
import { Indexer } from './search/indexing/indexer.ts';
import { SearchIndex } from './search/search-index.ts';
import { Sweeper } from './runtime/jobs/sweeper.ts';
import { TagDictionary } from './content/tag/dictionary.ts';
import { profileReads, type ProfileReads } from './user/reads.ts';

interface Reads {
  games: ContentReads<GameSummaryColumns, GameColumns>;
  images: ContentReads<ImagePostSummaryColumns, ImagePostColumns>;
  profiles: ProfileReads;
}

/** How long it may take to store what is in memory, unless told. */
const CLOSE_MS = 10_000;

/** Everything the service depends on. */
export interface Context {
  config: Config;
  db: Database;
  log: Logger;
  /** The clock. */
  now: () => Date;
  tags: TagDictionary;
  search: SearchIndex;
  indexer: Indexer;
  /** How records are read outside of transactions. */
  reads: Reads;
  keys: KeyVerifier;
  keyUses: KeyUses;
  /** What callers are held to; undefined for nothing. */
  limits: Limits | undefined;
  writes: Writes;
  /** Decides which calls run, wait, and are refused. */
  overload: OverloadProtection;
  toggles: Toggles;
  publisher: Publisher;
  gameViews: WriteBehind<number>;
  imageViews: WriteBehind<number>;
  sweeper: Sweeper;
  /** Watches the service at work; undefined for nobody. */
  observer: Observer | undefined;
  /** Aborted when the service has been told to stop: nobody should come any more. */
  stopping: AbortController;
}

/** Connects to the database and sets up what lives as long as the service. @throws AppError DATABASE_UNAVAILABLE */
export const openContext = async (
  config: Config,
  log: Logger,
  now = () => new Date(),
  observer?: Observer,
): Promise<Context> => {
  const db = await Database.open(config.databaseUrl, schema, {
    statementMs: config.requestTimeoutMs,
    readUrl: config.databaseReadUrl,
    observer: observer?.database,
  });
  const tags = new TagDictionary(db);
  const search = new SearchIndex(db);
  const writes = new Writes(db, now, config.quotas !== undefined);
  return {
    config,
    db,
    log,
    now,
    tags,
    search,
    indexer: new Indexer(db.background, searchKinds, log),
    reads: {
      games: new ContentReads(db, tags, search, gameKind),
      images: new ContentReads(db, tags, search, imageKind),
      profiles: profileReads(db),
    },
    keys: new KeyVerifier(db, log, now),
    keyUses: new KeyUses(db.background, log, now),
    limits: config.quotas && (await openLimits(config.quotas, config, log, observer)),
    writes,
    toggles: new Toggles(db, writes, now),
    publisher: new Publisher(db, writes, now),
    gameViews: viewCounts(db.background, log, gameKind),
    imageViews: viewCounts(db.background, log, imageKind),
    sweeper: new Sweeper(
      [
        { what: 'idempotency records', sweep: () => sweepRecords(db.background, now()) },
        { what: 'audit entries', sweep: () => sweepActs(db.background, now(), config.auditRetentionDays) },
        { what: 'counts of key uses', sweep: () => sweepUses(db.background, now()) },
      ],
      log,
    ),
    overload: new OverloadProtection(config.maxQueueMs, observer?.overload),
    observer,
    stopping: new AbortController(),
  };
};

/** Stores what is still in memory, as far as this is done until the deadline, and disconnects. */
export const closeContext = async (
  { db, keys, keyUses, limits, gameViews, imageViews, indexer, sweeper }: Context,
  deadline = new Deadline(CLOSE_MS),
): Promise<void> => {
  await Promise.all([
    // What does not end by then, ends with its connection.
    deadline.race(Promise.all([indexer.close(), sweeper.close()])).catch(() => undefined),
    keys.close(deadline),
    keyUses.close(deadline),
    gameViews.close(deadline),
    imageViews.close(deadline),
  ]);
  limits?.close();
  await db.close();
  deadline.close();
};
