import { rmSync } from 'node:fs';
import { dirname } from 'node:path';

/** Stops what the setups of a Jest run have started, and removes what they made. */
export default async () => {
  const { MIGRATED_SQLITE } = process.env;
  if (MIGRATED_SQLITE !== undefined) rmSync(dirname(MIGRATED_SQLITE), { recursive: true });
  await Promise.all((globalThis.TEST_SERVERS ?? []).map((server) => server.stop()));
};
