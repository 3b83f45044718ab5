/** Where HTTP requests come in: calls, assistants, whoever looks after the service, and readers of pages. */
export const DOORS = ['trpc', 'mcp', 'health', 'site'] as const;
export type Door = (typeof DOORS)[number];

/** The door that a request comes to, by its path. */
export const doorOf = (url: string): Door => {
  if (url.startsWith('/api/')) return 'trpc';
  if (url.startsWith('/mcp')) return 'mcp';
  return url.startsWith('/healthz') || url.startsWith('/readyz') ? 'health' : 'site';
};
