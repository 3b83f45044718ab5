/**
 * The architecture of `src/`: its rooms, floor by floor from the top. A room imports from floors below its own only, so that
 * rooms import in no circle. A room is a folder, or a file that stands in `src/` itself.
 */
export const floors: readonly (readonly string[])[] = [
  ['cli.ts'],
  ['admin'],
  ['testkit'],
  ['app'],
  ['rpc', 'site'],
  ['webhook'],
  ['event'],
  ['game', 'image', 'http'],
  ['user', 'content', 'telemetry'],
  ['procedure.ts', 'overload', 'config'],
  ['idempotency', 'rate-limit'],
  ['auth'],
  ['audit', 'search', 'outbox'],
  ['db'],
  ['deadline.ts', 'suggestions'],
  ['errors.ts', 'version.ts'],
];

/** One or two words on what each room is for. */
export const purposes: Readonly<Record<string, string>> = {
  'cli.ts': 'entry point',
  admin: 'command line for operators',
  testkit: 'sandbox, conformance, mock server',
  app: 'context, Express app, processes',
  rpc: 'one call: tRPC and MCP transports',
  site: 'docs, guides, landing page',
  game: 'router game',
  image: 'router image',
  http: 'server, middleware, messages, routes',
  user: 'router user',
  event: 'router event: the feed',
  webhook: 'deliveries to endpoints',
  outbox: 'events recorded with changes',
  content: 'what games and image posts share',
  telemetry: 'hooks, metrics, tracing',
  'procedure.ts': 'types of handlers',
  overload: 'concurrency limits and queues',
  config: 'environment variables',
  idempotency: 'writes done once',
  'rate-limit': 'rates and their stores',
  auth: 'API keys and quotas',
  audit: 'audit log',
  search: 'full-text index',
  db: 'MySQL, MariaDB, SQLite',
  'deadline.ts': 'time limits',
  suggestions: '“did you mean”',
  'errors.ts': 'AppError',
  'version.ts': 'version',
};
