import type { Platform } from './platform.js';

/** Browsers have no environment; other runtimes without Node's conditions may. */
const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };

export const platform: Platform = {
  runtime: undefined,
  environment: (name) => process?.env?.[name],
  senderTo: () => (url, request) => fetch(url, request),
  recorded: (call) => call,
};
