import type { Logger } from 'pino';
import { currentDate } from '../base/runtime.ts';
import { auditEnd, sweepEvents, systemActor } from '../auth/audit/log.ts';
import { closeFeed, sweepOldEvents } from '../event/outbox/feed.ts';
import { EventRelay } from '../event/outbox/relay.ts';
import { sweepKeys } from '../auth/key-sweep.ts';
import { quotaOf, sweepQuotas } from '../auth/quotas.ts';
import { sweepUses } from '../consumers/use/counts.ts';
import { sweepFailedCalls } from '../consumers/use/failed-calls.ts';
import { UseRecorder } from '../consumers/use/recorder.ts';
import { sweepConsumerUses } from '../consumers/use/store.ts';
import { KeyVerifier } from '../auth/verifier.ts';
import { ContentReads } from '../content/read/reads.ts';
import { Publisher } from '../content/write/publisher.ts';
import { Toggles } from '../content/engagement/service.ts';
import { TagDictionary } from '../content/tag/dictionary.ts';
import { ViewCounts } from '../content/write/view-counts.ts';
import type { DatabaseOptions } from '../db/connection.ts';
import { Database } from '../db/database.ts';
import { Deadline } from '../base/deadline.ts';
import { eventReads } from '../event/reads.ts';
import type { EventContext } from '../event/service.ts';
import { EventTails } from '../event/tails.ts';
import { readShown } from '../content/records.ts';
import { findTags } from '../content/tag/service.ts';
import { gameKind } from '../game/kind.ts';
import { gameSummaryView } from '../game/view.ts';
import type { GameContext } from '../game/service.ts';
import { sweepRecords } from '../auth/idempotency/records.ts';
import { Writes } from '../auth/idempotency/writes.ts';
import { imageKind } from '../image/kind.ts';
import { imagePostSummaryView } from '../image/view.ts';
import { Maintenance } from '../rpc/maintenance/maintenance.ts';
import { OverloadProtection } from '../limits/overload/overload-protection.ts';
import { openLimits } from '../limits/rate-limit/limits.ts';
import type { RpcContext } from '../rpc/context.ts';
import type { Routers } from '../rpc/procedures.ts';
import { TailPlaces } from '../rpc/trpc/tail-places.ts';
import type { Config } from '../config/config.ts';
import { DatabaseFigures } from './database-figures.ts';
import { checkPagesNightly } from './deployment/pages.ts';
import { CopyHold, placeOf } from './deployment/place.ts';
import { InstanceRegistry, sweepInstances } from './instances/registry.ts';
import { Renewal } from './renewal.ts';
import { Sweeper } from './sweeper.ts';
import { schema, searchKinds } from './schema.ts';
import { Indexer } from '../search/indexing/indexer.ts';
import { SearchIndex } from '../search/search-index.ts';
import type { Observer } from '../base/observer.ts';
import { RecentRequests } from '../telemetry/recent-requests.ts';
import type { MetricSources } from '../telemetry/metrics/metrics.ts';
import type { send } from '../event/webhook/sender/send.ts';
import { sweepSecrets, WebhookSecrets } from '../event/webhook/secrets.ts';
import { WebhookSender } from '../event/webhook/sender/sender.ts';
import { sweepChallenges } from '../event/webhook/sender/challenges.ts';
import { sweepDeliveries } from '../event/webhook/sender/store.ts';
import { profileReads, readUsers } from '../user/reads.ts';
import { userSummaryView } from '../user/view.ts';

/** The default time limit for storing buffered changes. */
const CLOSE_MS = 10_000;

/** How events read the records that they are about. */
const recordsOfEvents: EventContext['readShown'] = {
  game: (reader, ids) => readShown(reader, gameKind, ids, gameSummaryView),
  image: (reader, ids) => readShown(reader, imageKind, ids, imagePostSummaryView),
  user: async (reader, ids) =>
    new Map(Array.from(await readUsers(reader, ids), ([id, user]) => [id, userSummaryView(user)])),
  tag: async (reader, slugs) =>
    new Map(Array.from(await findTags(reader, slugs), ([sought, { name, slug }]) => [sought, { name, slug }])),
};

/** Everything the service depends on. */
export interface Context extends RpcContext {
  /** The clock. */
  now: () => Date;
  db: Database;
  /** The last failed and slow requests. */
  requests: RecentRequests;
  /** The dependencies of each router's handlers. */
  routers: Routers;
  /** The tails of events. */
  tails: EventTails;
  tailPlaces: TailPlaces;
  /** Background work. `stopping` is aborted when the service has been told to stop. */
  lifecycle: {
    indexer: Indexer;
    renewal: Renewal;
    sweeper: Sweeper;
    registry: InstanceRegistry;
    relay: EventRelay;
    sender: WebhookSender;
    stopping: AbortController;
  };
}

/** Substitutes for endpoints and files, which a sandbox and a simulation have not. */
interface Substitutes extends Pick<DatabaseOptions, 'connect'> {
  /** Answers the messages of webhooks in place of their endpoints. */
  deliver?: typeof send;
}

/** Connects to the database and creates what lives as long as the service. @throws AppError DATABASE_UNAVAILABLE, ConfigError */
export const openContext = async (
  config: Config,
  log: Logger,
  now = currentDate,
  observer?: Observer,
  { deliver, connect }: Substitutes = {},
): Promise<Context> => {
  // Before the database is opened, since a key that cannot be used ends the start.
  const secrets = new WebhookSecrets(config);
  const db = await Database.open(config.databaseUrl, schema, {
    statementMs: config.requestTimeoutMs,
    readUrl: config.databaseReadUrl,
    maxLagMs: config.maxReplicaLagMs,
    onLag: (replica, lagMs, isFresh) => {
      if (isFresh) log.info({ replica }, 'a replica has caught up: reads use it again');
      else if (lagMs === Infinity) log.warn({ replica }, 'a replica cannot be reached, or is empty, and is not used');
      else log.warn({ replica, lagMs }, 'a replica lags behind by more than REPLICA_MAX_LAG, and is not used');
    },
    observer: observer?.database,
    recordsEvents: config.recordsEvents,
    connect,
  });
  const limits = config.quotas && (await openLimits(config.quotas, config, log, observer));
  const maintenance = new Maintenance(db.background, log, config.isReadOnly);
  const tags = new TagDictionary(db);
  const search = new SearchIndex(db);
  const writes = new Writes(db, now);
  const content: Pick<GameContext, 'db' | 'now' | 'tags' | 'writes' | 'publisher' | 'toggles' | 'quotaOf'> = {
    db,
    now,
    tags,
    writes,
    publisher: new Publisher(db, writes, now),
    toggles: new Toggles(db, writes, now),
    quotaOf: (caller) => limits && quotaOf(caller, now()),
  };
  const uses = config.recordsUse ? new UseRecorder(db.background, log, now, maintenance) : undefined;
  const sender = new WebhookSender(db, {
    log,
    pause: maintenance,
    hold: new CopyHold(db.background, placeOf(config), { now, log }),
    now,
    policy: config.webhooks,
    secrets,
    deliver,
    isAlone: config.sandbox,
  });
  const events = eventReads(db);
  const tails = new EventTails({
    db: db.background,
    isOn: config.recordsEvents,
    now,
    log,
    events,
    readShown: recordsOfEvents,
  });
  return {
    config,
    log,
    now,
    db,
    requests: new RecentRequests(config.slowRequestMs),
    auth: {
      keys: new KeyVerifier(db, log, now, maintenance),
      uses,
    },
    protection: { limits, maintenance, overload: new OverloadProtection(config.maxQueueMs, observer?.overload) },
    routers: {
      game: {
        ...content,
        kind: gameKind,
        reads: new ContentReads(db, tags, search, gameKind),
        views: new ViewCounts(db.background, log, gameKind, { first: limits?.firstViews, pause: maintenance }),
      },
      image: {
        ...content,
        kind: imageKind,
        reads: new ContentReads(db, tags, search, imageKind),
        views: new ViewCounts(db.background, log, imageKind, { first: limits?.firstViews, pause: maintenance }),
      },
      user: { db, now, profiles: profileReads(db), search, writes },
      event: { db, now, events, readShown: recordsOfEvents },
      webhook: { db, now, writes, policy: config.webhooks, secrets, onWork: sender.poke },
      apiKey: { db, now, writes, uses },
      consumerContract: { db, now, writes },
    },
    observer,
    tails,
    tailPlaces: new TailPlaces(),
    lifecycle: {
      indexer: new Indexer(db.background, searchKinds, log, undefined, maintenance),
      renewal: new Renewal(db, secrets, log, maintenance),
      sweeper: new Sweeper(
        [
          { name: 'idempotency records', sweep: () => sweepRecords(db.background, now()) },
          { name: 'audit entries', sweep: () => sweepEvents(db.background, now(), config.auditRetentionDays) },
          {
            name: 'keys',
            sweep: async () =>
              (await sweepKeys(db.background, auditEnd(now(), config.auditRetentionDays), systemActor(now()))) > 0,
          },
          { name: 'events', sweep: () => sweepOldEvents(db.background, now(), config.eventRetentionDays) },
          {
            name: 'deliveries of webhooks',
            sweep: () => sweepDeliveries(db.background, now(), config.eventRetentionDays),
          },
          { name: 'challenges of webhooks', sweep: () => sweepChallenges(db.background, now()) },
          { name: 'replaced secrets of webhooks', sweep: () => sweepSecrets(db.background, now()) },
          { name: 'counts of key uses', sweep: () => sweepUses(db.background, now()) },
          { name: 'uses of consumers', sweep: () => sweepConsumerUses(db.background, now()) },
          { name: 'failed calls', sweep: () => sweepFailedCalls(db.background, now()) },
          { name: 'counts of quotas', sweep: () => sweepQuotas(db.background, now()) },
          { name: 'rows of instances', sweep: () => sweepInstances(db.background, now()) },
          { name: 'checks of pages', sweep: () => checkPagesNightly(db, now(), log) },
        ],
        log,
        { pause: maintenance },
      ),
      relay: new EventRelay(db, {
        log,
        now,
        pause: maintenance,
        // No other process writes into a space of the sandbox.
        isAlone: config.sandbox,
        hasWorkers: config.workers > 1,
        onMoved: () => {
          tails.poke();
          sender.poke();
        },
      }),
      sender,
      registry: new InstanceRegistry(db.background, {
        workers: config.workers,
        isStamp: config.databaseReadUrl !== undefined,
        secrets,
        now,
        log,
        pause: maintenance,
      }),
      stopping: new AbortController(),
    },
  };
};

/** Starts the work in the background: one process of an instance does it. The tables are up to date by now. */
export const startBackgroundWork = async ({ db, config, now, log, lifecycle }: Context): Promise<void> => {
  const { indexer, renewal, sweeper, registry, relay, sender } = lifecycle;
  indexer.start();
  renewal.start();
  sweeper.start();
  registry.start();
  relay.start();
  sender.start();
  if (config.recordsEvents || config.isReadOnly) return;
  await closeFeed(db.background, now()).catch((error: unknown) =>
    log.warn({ err: error }, 'events could not be ended'),
  );
};

/** The counts of the service's own parts, for its metrics. */
export const metricSources = ({ db, auth, protection, routers, tails, lifecycle }: Context): MetricSources => ({
  engine: db.dialect.engine,
  database: new DatabaseFigures(db),
  redis: protection.limits?.redis,
  policies: protection.limits?.limiter.allPolicies ?? [],
  buffers: {
    game_views: routers.game.views.buffer,
    image_views: routers.image.views.buffer,
    key_last_uses: auth.keys.uses,
    ...(auth.uses && { key_uses: auth.uses.counts, consumer_uses: auth.uses.parts, failed_calls: auth.uses.failures }),
  },
  tails,
  webhooks: lifecycle.sender,
  lookUps: { keys: auth.keys.lookUps, tags: routers.game.tags.lookUps },
});

/** Stores buffered changes, as far as the deadline allows, and disconnects. */
export const closeContext = async (
  { db, auth, protection, routers, tails, lifecycle }: Context,
  deadline = new Deadline(CLOSE_MS),
): Promise<void> => {
  const { indexer, renewal, sweeper, registry, relay, sender } = lifecycle;
  await Promise.all([
    // Work that does not end by then ends with its connection.
    deadline
      .race(Promise.all([indexer.close(), renewal.close(), sweeper.close(), relay.close(), sender.close()]))
      .catch(() => undefined),
    registry.close(deadline),
    deadline.race(tails.close()).catch(() => undefined),
    auth.keys.close(deadline),
    auth.uses?.close(deadline),
    routers.game.views.buffer.close(deadline),
    routers.image.views.buffer.close(deadline),
  ]);
  protection.limits?.close();
  await db.close();
  deadline.close();
};
