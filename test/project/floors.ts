/**
 * The architecture of `src/`: its rooms, floor by floor from the top. A room imports from floors below its own only, so that
 * rooms import in no circle. A room is a folder, or a file that stands in `src/` itself.
 */
export const floors: readonly (readonly string[])[] = [
  // The entry point.
  ['cli.ts'],
  // The command line for operators.
  ['admin'],
  // The demo, generated records, and a gateway whose faults callers choose.
  ['sandbox'],
  // The context, the Express app, the processes.
  ['app'],
  // One call, by the transports tRPC and MCP; the documents, guides and pages.
  ['rpc', 'site'],
  // Two routers; the server, its middleware and messages.
  ['game', 'image', 'http'],
  // A router; what games and image posts share; hooks, metrics, tracing.
  ['user', 'content', 'telemetry'],
  // The outbox, the feed, webhooks.
  ['event'],
  // Who uses which operations; environment variables.
  ['consumers', 'config'],
  // API keys, quotas, the audit log, writes done once; the full-text index; rates, concurrency, queues.
  ['auth', 'search', 'limits'],
  // MySQL, MariaDB, SQLite.
  ['db'],
  // Errors, hints, deadlines, the clock.
  ['base'],
];
