/** The older versions, for tests that resolve the newer ones. */
export { createTRPCProxyClient, httpBatchLink, httpLink, TRPCClientError } from '@trpc/client';
export { default as superjson } from 'superjson';
