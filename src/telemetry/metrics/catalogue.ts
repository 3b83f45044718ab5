/** The definition of a metric. docs/monitoring.md lists all metrics, and a test compares the two. */
export interface MetricDefinition {
  type: 'counter' | 'gauge' | 'histogram';
  help: string;
  /** Labels never hold values of callers. */
  labels: readonly string[];
}

const metric =
  <Type extends MetricDefinition['type']>(type: Type) =>
  (help: string, ...labels: string[]) => ({ type, help, labels });
const [counter, gauge, histogram] = [metric('counter'), metric('gauge'), metric('histogram')];

/** The prefix of all names. */
export const PREFIX = 'content_gateway_';

/** All metrics of this service by their names without the prefix: the help, and the names of the labels. */
export const catalogue = {
  build_info: gauge('Always 1; its labels describe the running build.', 'version', 'build', 'node', 'engine'),
  http_requests_total: counter('HTTP requests, answered or aborted.', 'route', 'status'),
  http_request_duration_seconds: histogram('Time from the headers of a request to the end of its response.', 'route'),
  http_requests_in_flight: gauge('Requests that are not answered yet.'),
  calls_total: counter('Calls of procedures; a batch counts each call.', 'procedure', 'status', 'reason'),
  calls_abandoned_total: counter('Calls whose client disconnected; calls_total excludes them.', 'procedure'),
  call_duration_seconds: histogram('Time until the answer of a call is ready.', 'procedure'),
  call_input_bytes: histogram('Sizes of inputs.', 'procedure'),
  call_answer_bytes: histogram('Sizes of successful answers, uncompressed.', 'procedure'),
  idempotent_replays_total: counter('Repeated writes that got their first answer.', 'procedure'),
  shared_reads_total: counter('Anonymous lists, read (made) or shared (joined).', 'outcome'),
  rate_limit_refusals_total: counter('Refusals by rate limits.', 'policy'),
  shed_total: counter('Calls refused because of overload.', 'limiter'),
  limiter_wait_seconds: histogram('Time that calls waited in the queue.', 'limiter'),
  limiter_running: gauge('Running calls, in units of the capacity.', 'limiter'),
  limiter_capacity: gauge('The concurrency limit.', 'limiter'),
  limiter_waiting: gauge('Calls waiting in the queue.', 'limiter'),
  database_statement_duration_seconds: histogram('Duration of statements.', 'pool'),
  database_statements_total: counter('Ended statements, failed and cancelled ones included.', 'pool'),
  database_statement_failures_total: counter('Failed and cancelled statements.', 'pool'),
  database_wait_seconds: histogram('Time waited for a connection, on SQLite for a turn.', 'pool'),
  database_connections: gauge('Connections, on SQLite threads and turns.', 'pool', 'state'),
  database_connections_max: gauge('The maximum size of a pool.', 'pool'),
  database_waiting: gauge('Requests waiting for a connection.', 'pool'),
  database_retries_total: counter('Retried reads and transactions.', 'cause'),
  database_faults_total: counter('Attempts that found the database unavailable.', 'cause'),
  database_size_bytes: gauge('The size of the database; an estimate, except on SQLite.'),
  database_disk_size_bytes: gauge('The size of the file system of an SQLite file.'),
  database_disk_free_bytes: gauge('The free space for an SQLite file.'),
  database_damaged_tables: gauge('Damaged SQLite tables that the nightly check found.'),
  database_replica_lag_seconds: gauge('The lag of a replica; +Inf while unreachable.', 'replica'),
  migrations_pending: gauge('Migrations that the database lacks.'),
  last_backup_timestamp_seconds: gauge('Unix time of the last backup; absent without one.'),
  redis_available: gauge('Whether instances count together in Redis (1) or alone (0).'),
  redis_losses_total: counter('How often Redis became unavailable.'),
  coalesced_reads_total: counter('Reads that can share a query.', 'reads'),
  coalesced_batches_total: counter('Batches of such reads.', 'reads'),
  event_tails: gauge('Open event streams.'),
  webhook_attempts_total: counter('Messages sent to webhooks.', 'outcome'),
  webhook_lag_seconds: gauge('The longest time that a webhook has waited.'),
  cache_lookups_total: counter('Cache lookups.', 'cache', 'outcome'),
  buffered_changes: gauge('Changes in memory that a crash would lose.', 'buffer'),
  buffered_changes_lost_total: counter('Buffered changes that were dropped.', 'buffer'),
  buffer_failures_total: counter('Failed attempts to store buffered changes.', 'buffer'),
  worker_exits_total: counter('Workers that ended unexpectedly.'),
};

/**
 * The counters of alerts, whose series start at 0, by the values of labels where only some do. Prometheus detects an
 * increase only from a value that it has scraped. Other series of counters and histograms start at their first count.
 */
export const fromZero: Partial<Record<keyof typeof catalogue, Readonly<Record<string, readonly string[]>>>> = {
  http_requests_total: { route: ['trpc', 'mcp'] },
  calls_total: { reason: ['INTERNAL', 'OUTCOME_UNKNOWN'] },
  shed_total: {},
  database_statements_total: {},
  database_statement_failures_total: {},
  database_faults_total: {},
  redis_losses_total: {},
  webhook_attempts_total: {},
  buffered_changes_lost_total: {},
  worker_exits_total: {},
};

/** Names of metrics of one type. */
export type NameOf<Type extends MetricDefinition['type']> = {
  [Name in keyof typeof catalogue]: (typeof catalogue)[Name]['type'] extends Type ? Name : never;
}[keyof typeof catalogue];
