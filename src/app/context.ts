import type { Logger } from 'pino';
import { currentDate } from '../base/runtime.ts';
import { closeFeed } from '../event/outbox/feed.ts';
import { EventRelay } from '../event/outbox/relay.ts';
import { UseRecorder } from '../consumers/use/recorder.ts';
import { KeyVerifier } from '../auth/verifier.ts';
import type { DatabaseOptions } from '../db/connection.ts';
import { Database } from '../db/database.ts';
import { Deadline } from '../base/deadline.ts';
import { EventTails } from '../event/tails.ts';
import { Maintenance } from '../rpc/maintenance/maintenance.ts';
import { OverloadProtection } from '../limits/overload/overload-protection.ts';
import { openLimits } from '../limits/rate-limit/limits.ts';
import type { RpcContext, Routers } from '../rpc/procedures.ts';
import { TailPlaces } from '../rpc/trpc/open-tails.ts';
import type { Config } from '../config/config.ts';
import { DatabaseFigures } from './database-figures.ts';
import { CopyHold, placeOf } from './deployment/place.ts';
import { InstanceRegistry } from './instances/registry.ts';
import { Renewal } from './renewal.ts';
import { openRouters } from './routers.ts';
import { expiringRows, Sweeper } from './sweeper.ts';
import { schema, searchKinds } from './schema.ts';
import { Indexer } from '../search/indexing/indexer.ts';
import type { Observer } from '../base/observer.ts';
import { RecentRequests } from '../http/middleware/request-log.ts';
import type { MetricSources } from '../telemetry/metrics/metrics.ts';
import type { send } from '../event/webhook/sender/send.ts';
import { WebhookSecrets } from '../event/webhook/secrets.ts';
import { WebhookSender } from '../event/webhook/sender/sender.ts';

/** The default time limit for storing buffered changes. */
const CLOSE_MS = 10_000;

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

/** Substitutes for endpoints and files, which a sandbox and a simulation lack. */
interface Substitutes extends Pick<DatabaseOptions, 'connect'> {
  /** Answers the messages of webhooks in place of their endpoints. */
  deliver?: typeof send;
}

/** Connects to the database of the service. */
const openDatabase = (
  config: Config,
  log: Logger,
  { observer, connect }: Pick<DatabaseOptions, 'observer' | 'connect'>,
): Promise<Database> =>
  Database.open(config.databaseUrl, schema, {
    statementMs: config.requestTimeoutMs,
    readUrl: config.databaseReadUrl,
    maxLagMs: config.maxReplicaLagMs,
    onLag: (replica, lagMs, isFresh) => {
      if (isFresh) log.info({ replica }, 'a replica has caught up: reads use it again');
      else if (lagMs === Infinity) log.warn({ replica }, 'a replica cannot be reached, or is empty, and is not used');
      else log.warn({ replica, lagMs }, 'a replica lags behind by more than REPLICA_MAX_LAG, and is not used');
    },
    observer,
    recordsEvents: config.recordsEvents,
    connect,
  });

/** Connects to the database and creates the service's objects. @throws AppError DATABASE_UNAVAILABLE, ConfigError */
export const openContext = async (
  config: Config,
  log: Logger,
  now = currentDate,
  observer?: Observer,
  { deliver, connect }: Substitutes = {},
): Promise<Context> => {
  // This precedes the database, since an unusable key ends the start.
  const secrets = new WebhookSecrets(config);
  const db = await openDatabase(config, log, { observer: observer?.database, connect });
  const limits = config.quotas && (await openLimits(config.quotas, config, log, observer));
  const maintenance = new Maintenance(db.background, log, config.isReadOnly);
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
  const routers = openRouters(
    { db, now, log, limits, maintenance },
    { uses, webhook: { policy: config.webhooks, secrets, onWork: sender.poke } },
  );
  const tails = new EventTails({
    db: db.background,
    isOn: config.recordsEvents,
    now,
    log,
    events: routers.event.events,
    readShown: routers.event.readShown,
  });
  return {
    config,
    log,
    now,
    db,
    requests: new RecentRequests(config.slowRequestMs),
    auth: { keys: new KeyVerifier(db, log, now, maintenance), uses },
    protection: { limits, maintenance, overload: new OverloadProtection(config.maxQueueMs, observer?.overload) },
    routers,
    observer,
    tails,
    tailPlaces: new TailPlaces(),
    lifecycle: {
      indexer: new Indexer(db.background, searchKinds, log, undefined, maintenance),
      renewal: new Renewal(db, secrets, log, maintenance),
      sweeper: new Sweeper(expiringRows(db, config, now, log), log, { pause: maintenance }),
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

/** Starts the background work, in one process per instance. The tables are up to date by now. */
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
    // Work that does not end by then is ended with its connection.
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
