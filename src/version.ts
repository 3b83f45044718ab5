import { createRequire } from 'node:module';

/** The version of the service. */
export const { version } = createRequire(import.meta.url)('#package') as { version: string };
