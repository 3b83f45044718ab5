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
  ['game', 'image', 'http'],
  ['user', 'content', 'telemetry'],
  ['event'],
  ['consumers', 'config'],
  ['auth', 'search', 'limits'],
  ['db'],
  ['base'],
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
  event: 'outbox, router event, webhooks',
  content: 'what games and image posts share',
  telemetry: 'hooks, metrics, tracing',
  consumers: 'who uses what',
  config: 'environment variables',
  limits: 'rates, concurrency, queues',
  auth: 'API keys, quotas, audit log, writes done once',
  search: 'full-text index',
  db: 'MySQL, MariaDB, SQLite',
  base: 'errors, hints, deadlines, version',
};
