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
  build_info: gauge(
    'Always 1; its labels are the running versions, the build, and the database engine.',
    'version',
    'build',
    'node',
    'engine',
  ),
  http_requests_total: counter('HTTP requests that were answered or aborted, by route group.', 'route', 'status'),
  http_request_duration_seconds: histogram(
    "Time from the headers of a request until its response is sent, including the client's reading.",
    'route',
  ),
  http_requests_in_flight: gauge('HTTP requests that are not answered yet.'),
  calls_total: counter(
    'Calls of procedures; a batch counts each of its calls. The reason is empty for success.',
    'procedure',
    'status',
    'reason',
  ),
  calls_abandoned_total: counter(
    'Calls whose client disconnected before the answer; calls_total excludes them.',
    'procedure',
  ),
  call_duration_seconds: histogram(
    'Time from the start of a call until its answer is ready, failures included.',
    'procedure',
  ),
  call_input_bytes: histogram('Sizes of the inputs of calls; each call of a batch has its share.', 'procedure'),
  call_answer_bytes: histogram('Sizes of the answers to successful calls, before compression.', 'procedure'),
  idempotent_replays_total: counter(
    'Repeated writes that got the first answer again, by their Idempotency-Key.',
    'procedure',
  ),
  shared_reads_total: counter(
    'Anonymous lists that were read (made), and that shared the answer of an equal one (joined).',
    'outcome',
  ),
  rate_limit_refusals_total: counter('Refusals by rate limits, by policy.', 'policy'),
  shed_total: counter('Calls refused because of overload, by limiter.', 'limiter'),
  limiter_wait_seconds: histogram('Time that calls waited in the queue of their limiter.', 'limiter'),
  limiter_running: gauge('Running calls of a limiter, in units of its capacity.', 'limiter'),
  limiter_capacity: gauge('The concurrency limit of a limiter.', 'limiter'),
  limiter_waiting: gauge('Calls waiting in the queue of a limiter.', 'limiter'),
  database_statement_duration_seconds: histogram(
    'Duration of database statements, from sending to the answer.',
    'pool',
  ),
  database_statements_total: counter(
    'Statements that ended, answered, failed or cancelled, also before they were sent.',
    'pool',
  ),
  database_statement_failures_total: counter('Those of them that failed or were cancelled.', 'pool'),
  database_wait_seconds: histogram(
    'Time that statements and transactions waited for a connection, or for their turn on SQLite.',
    'pool',
  ),
  database_connections: gauge('Connections, or on SQLite threads and turns, by state.', 'pool', 'state'),
  database_connections_max: gauge('The maximum number of connections of a pool.', 'pool'),
  database_waiting: gauge('Requests waiting for a connection.', 'pool'),
  database_retries_total: counter(
    'Reads and transactions that were retried, after a conflict or while the database was unavailable.',
    'cause',
  ),
  database_faults_total: counter(
    'Attempts of reads and transactions that failed since the database was unavailable, by cause.',
    'cause',
  ),
  database_size_bytes: gauge(
    'The size of the database: its files on SQLite, tables and indexes as the server estimates them elsewhere.',
  ),
  database_disk_size_bytes: gauge('The size of the file system of an SQLite file.'),
  database_disk_free_bytes: gauge('The space that the service may still use on that file system.'),
  database_damaged_tables: gauge(
    'Tables of an SQLite file with pages that the last nightly check found damaged; absent before the first one.',
  ),
  database_replica_lag_seconds: gauge(
    'How far a replica of DATABASE_READ_URL lags behind the primary; +Inf where it cannot be reached.',
    'replica',
  ),
  migrations_pending: gauge('Migrations of the running version that the database lacks.'),
  last_backup_timestamp_seconds: gauge(
    'The time of the last backup by the command backup, in seconds since 1970; absent without one.',
  ),
  redis_available: gauge(
    'Whether instances count together in Redis (1), or this process counts alone, as Redis is away (0).',
  ),
  redis_losses_total: counter('How often Redis was given up as away.'),
  coalesced_reads_total: counter('Reads that can share a query with other waiting reads.', 'reads'),
  coalesced_batches_total: counter('Batches that answered those reads, each by one or several queries.', 'reads'),
  event_tails: gauge('Open tails of events.'),
  webhook_attempts_total: counter('Messages sent to webhooks, by whether their endpoints took them.', 'outcome'),
  webhook_lag_seconds: gauge(
    'How long the webhook that waits longest has waited for an event, an attempt, or its challenge.',
  ),
  cache_lookups_total: counter('Cache lookups, by hit or miss.', 'cache', 'outcome'),
  buffered_changes: gauge('Changes buffered in memory, which a crash would lose.', 'buffer'),
  buffered_changes_lost_total: counter('Buffered changes that could not be stored and were dropped.', 'buffer'),
  buffer_failures_total: counter('Failed attempts to store buffered changes.', 'buffer'),
  worker_exits_total: counter('Workers that ended unexpectedly; the supervisor counts them.'),
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
