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
    help: 'Always 1; its labels say what is running.',
    labels: ['version', 'node', 'engine'],
  },
  http_requests_total: {
    type: 'counter',
    help: 'HTTP requests that were answered or broken off, by the group of routes that they came to.',
    labels: ['route', 'status'],
  },
  http_request_duration_seconds: {
    type: 'histogram',
    help: 'Time from the head of a request until its answer has gone out, with the time that its caller took.',
    labels: ['route'],
  },
  http_requests_in_flight: {
    type: 'gauge',
    help: 'HTTP requests that are not answered yet.',
    labels: [],
  },
  calls_total: {
    type: 'counter',
    help: 'Calls of procedures, each one of a batch by itself; the reason is empty for success.',
    labels: ['procedure', 'status', 'reason'],
  },
  calls_abandoned_total: {
    type: 'counter',
    help: 'Calls whose callers left before they were answered; calls_total does not hold them.',
    labels: ['procedure'],
  },
  call_duration_seconds: {
    type: 'histogram',
    help: 'Time from the beginning of a call until its answer is ready, whatever it is.',
    labels: ['procedure'],
  },
  call_input_bytes: {
    type: 'histogram',
    help: 'Sizes of what calls sent; of a batch, each call has its share.',
    labels: ['procedure'],
  },
  call_answer_bytes: {
    type: 'histogram',
    help: 'Sizes of the answers to calls that succeeded, before compression.',
    labels: ['procedure'],
  },
  idempotent_replays_total: {
    type: 'counter',
    help: 'Writes that were answered as they had been before, by their Idempotency-Key.',
    labels: ['procedure'],
  },
  shared_reads_total: {
    type: 'counter',
    help: 'Lists for nobody in particular: that were made, and that took the answer to an equal one.',
    labels: ['outcome'],
  },
  rate_limit_refusals_total: {
    type: 'counter',
    help: 'Charges that were refused, by the limit that had no room.',
    labels: ['policy'],
  },
  shed_total: {
    type: 'counter',
    help: 'Calls refused because of overload, by the limiter that refused them.',
    labels: ['limiter'],
  },
  limiter_wait_seconds: {
    type: 'histogram',
    help: 'Time that calls waited in the queue of their limiter before they began.',
    labels: ['limiter'],
  },
  limiter_running: {
    type: 'gauge',
    help: 'Calls that a limiter lets run, in units of its capacity.',
    labels: ['limiter'],
  },
  limiter_capacity: {
    type: 'gauge',
    help: 'Calls that a limiter lets run at most.',
    labels: ['limiter'],
  },
  limiter_waiting: {
    type: 'gauge',
    help: 'Calls that wait in the queue of a limiter.',
    labels: ['limiter'],
  },
  database_statement_duration_seconds: {
    type: 'histogram',
    help: 'Time of statements on the database, from sending to the answer.',
    labels: ['pool'],
  },
  database_statement_failures_total: {
    type: 'counter',
    help: 'Statements that failed or were given up.',
    labels: ['pool'],
  },
  database_wait_seconds: {
    type: 'histogram',
    help: 'Time that statements and transactions waited for a connection, or for their turn on SQLite.',
    labels: ['pool'],
  },
  database_connections: {
    type: 'gauge',
    help: 'Connections, or on SQLite threads and turns, by what they do.',
    labels: ['pool', 'state'],
  },
  database_connections_max: {
    type: 'gauge',
    help: 'How many connections a pool may have.',
    labels: ['pool'],
  },
  database_waiting: {
    type: 'gauge',
    help: 'Who waits for a connection.',
    labels: ['pool'],
  },
  database_retries_total: {
    type: 'counter',
    help: 'Reads and transactions that were run again: after a conflict with others, or while the database was out of reach.',
    labels: ['cause'],
  },
  coalesced_reads_total: {
    type: 'counter',
    help: 'Reads that may share a query with others that wait.',
    labels: ['reads'],
  },
  coalesced_batches_total: {
    type: 'counter',
    help: 'Queries, or groups of them, that answered those reads.',
    labels: ['reads'],
  },
  cache_lookups_total: {
    type: 'counter',
    help: 'Look-ups in a cache, by whether it held what was looked for.',
    labels: ['cache', 'outcome'],
  },
  buffered_changes: {
    type: 'gauge',
    help: 'Small changes in memory that are not stored yet, which a crash would lose.',
    labels: ['buffer'],
  },
  buffered_changes_lost_total: {
    type: 'counter',
    help: 'Small changes that could not be stored and were dropped.',
    labels: ['buffer'],
  },
  buffer_failures_total: {
    type: 'counter',
    help: 'Times that storing buffered changes failed.',
    labels: ['buffer'],
  },
  worker_exits_total: {
    type: 'counter',
    help: 'Workers that ended although nobody had told them to; the supervisor counts them.',
    labels: [],
  },
} as const satisfies Record<string, MetricDefinition>;

export type MetricName = keyof typeof catalogue;

/** Names of metrics of one type. */
export type NameOf<Type extends MetricDefinition['type']> = {
  [Name in MetricName]: (typeof catalogue)[Name]['type'] extends Type ? Name : never;
}[MetricName];
