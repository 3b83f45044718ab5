/** The definition of a metric. docs/monitoring.md lists them all, and a test compares the two. */
export interface MetricDefinition {
  type: 'counter' | 'gauge' | 'histogram';
  help: string;
  /** Labels never hold values of callers. */
  labels: readonly string[];
}

/** The prefix of all names. */
export const PREFIX = 'content_gateway_';

/** All metrics of ours, by their names without the prefix. */
export const catalogue = {
  build_info: {
    type: 'gauge',
    help: 'Always 1; its labels are the running versions, the build, and the database engine.',
    labels: ['version', 'build', 'node', 'engine'],
  },
  http_requests_total: {
    type: 'counter',
    help: 'HTTP requests that were answered or aborted, by route group.',
    labels: ['route', 'status'],
  },
  http_request_duration_seconds: {
    type: 'histogram',
    help: "Time from the headers of a request until its response is sent, including the client's reading.",
    labels: ['route'],
  },
  http_requests_in_flight: {
    type: 'gauge',
    help: 'HTTP requests that are not answered yet.',
    labels: [],
  },
  calls_total: {
    type: 'counter',
    help: 'Calls of procedures; a batch counts each of its calls. The reason is empty for success.',
    labels: ['procedure', 'status', 'reason'],
  },
  calls_abandoned_total: {
    type: 'counter',
    help: 'Calls whose client disconnected before the answer; calls_total excludes them.',
    labels: ['procedure'],
  },
  call_duration_seconds: {
    type: 'histogram',
    help: 'Time from the start of a call until its answer is ready, failures included.',
    labels: ['procedure'],
  },
  call_input_bytes: {
    type: 'histogram',
    help: 'Sizes of the inputs of calls; each call of a batch has its share.',
    labels: ['procedure'],
  },
  call_answer_bytes: {
    type: 'histogram',
    help: 'Sizes of the answers to successful calls, before compression.',
    labels: ['procedure'],
  },
  idempotent_replays_total: {
    type: 'counter',
    help: 'Repeated writes that got the first answer again, by their Idempotency-Key.',
    labels: ['procedure'],
  },
  shared_reads_total: {
    type: 'counter',
    help: 'Anonymous lists that were read (made), and that shared the answer of an equal one (joined).',
    labels: ['outcome'],
  },
  rate_limit_refusals_total: {
    type: 'counter',
    help: 'Refusals by rate limits, by policy.',
    labels: ['policy'],
  },
  shed_total: {
    type: 'counter',
    help: 'Calls refused because of overload, by limiter.',
    labels: ['limiter'],
  },
  limiter_wait_seconds: {
    type: 'histogram',
    help: 'Time that calls waited in the queue of their limiter.',
    labels: ['limiter'],
  },
  limiter_running: {
    type: 'gauge',
    help: 'Running calls of a limiter, in units of its capacity.',
    labels: ['limiter'],
  },
  limiter_capacity: {
    type: 'gauge',
    help: 'The concurrency limit of a limiter.',
    labels: ['limiter'],
  },
  limiter_waiting: {
    type: 'gauge',
    help: 'Calls waiting in the queue of a limiter.',
    labels: ['limiter'],
  },
  database_statement_duration_seconds: {
    type: 'histogram',
    help: 'Duration of database statements, from sending to the answer.',
    labels: ['pool'],
  },
  database_statements_total: {
    type: 'counter',
    help: 'Statements that ended, answered, failed or cancelled, also before they were sent.',
    labels: ['pool'],
  },
  database_statement_failures_total: {
    type: 'counter',
    help: 'Those of them that failed or were cancelled.',
    labels: ['pool'],
  },
  database_wait_seconds: {
    type: 'histogram',
    help: 'Time that statements and transactions waited for a connection, or for their turn on SQLite.',
    labels: ['pool'],
  },
  database_connections: {
    type: 'gauge',
    help: 'Connections, or on SQLite threads and turns, by state.',
    labels: ['pool', 'state'],
  },
  database_connections_max: {
    type: 'gauge',
    help: 'The maximum number of connections of a pool.',
    labels: ['pool'],
  },
  database_waiting: {
    type: 'gauge',
    help: 'Requests waiting for a connection.',
    labels: ['pool'],
  },
  database_retries_total: {
    type: 'counter',
    help: 'Reads and transactions that were retried, after a conflict or while the database was unavailable.',
    labels: ['cause'],
  },
  database_faults_total: {
    type: 'counter',
    help: 'Attempts of reads and transactions that failed since the database was unavailable, by cause.',
    labels: ['cause'],
  },
  database_size_bytes: {
    type: 'gauge',
    help: 'The size of the database: its files on SQLite, tables and indexes as the server estimates them elsewhere.',
    labels: [],
  },
  database_disk_size_bytes: {
    type: 'gauge',
    help: 'The size of the file system of an SQLite file.',
    labels: [],
  },
  database_disk_free_bytes: {
    type: 'gauge',
    help: 'The space that the service may still use on that file system.',
    labels: [],
  },
  database_damaged_tables: {
    type: 'gauge',
    help: 'Tables of an SQLite file with pages that the last nightly check found damaged; absent before the first one.',
    labels: [],
  },
  database_replica_lag_seconds: {
    type: 'gauge',
    help: 'How far a replica of DATABASE_READ_URL lags behind the primary; +Inf where it cannot be reached.',
    labels: ['replica'],
  },
  migrations_pending: {
    type: 'gauge',
    help: 'Migrations of the running version that the database lacks.',
    labels: [],
  },
  last_backup_timestamp_seconds: {
    type: 'gauge',
    help: 'The time of the last backup by the command backup, in seconds since 1970; absent without one.',
    labels: [],
  },
  redis_available: {
    type: 'gauge',
    help: 'Whether instances count together in Redis (1), or this process counts alone, as Redis is away (0).',
    labels: [],
  },
  redis_losses_total: {
    type: 'counter',
    help: 'How often Redis was given up as away.',
    labels: [],
  },
  coalesced_reads_total: {
    type: 'counter',
    help: 'Reads that can share a query with other waiting reads.',
    labels: ['reads'],
  },
  coalesced_batches_total: {
    type: 'counter',
    help: 'Batches that answered those reads, each by one or several queries.',
    labels: ['reads'],
  },
  event_tails: {
    type: 'gauge',
    help: 'Open tails of events.',
    labels: [],
  },
  webhook_attempts_total: {
    type: 'counter',
    help: 'Messages sent to webhooks, by whether their endpoints took them.',
    labels: ['outcome'],
  },
  webhook_lag_seconds: {
    type: 'gauge',
    help: 'How long the webhook that waits longest has waited for an event, an attempt, or its challenge.',
    labels: [],
  },
  cache_lookups_total: {
    type: 'counter',
    help: 'Cache lookups, by hit or miss.',
    labels: ['cache', 'outcome'],
  },
  buffered_changes: {
    type: 'gauge',
    help: 'Changes buffered in memory, which a crash would lose.',
    labels: ['buffer'],
  },
  buffered_changes_lost_total: {
    type: 'counter',
    help: 'Buffered changes that could not be stored and were dropped.',
    labels: ['buffer'],
  },
  buffer_failures_total: {
    type: 'counter',
    help: 'Failed attempts to store buffered changes.',
    labels: ['buffer'],
  },
  worker_exits_total: {
    type: 'counter',
    help: 'Workers that ended unexpectedly; the supervisor counts them.',
    labels: [],
  },
} as const satisfies Record<string, MetricDefinition>;

export type MetricName = keyof typeof catalogue;

/** Names of metrics of one type. */
export type NameOf<Type extends MetricDefinition['type']> = {
  [Name in MetricName]: (typeof catalogue)[Name]['type'] extends Type ? Name : never;
}[MetricName];
