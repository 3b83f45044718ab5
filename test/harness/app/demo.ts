import { createDemo } from '../../../src/sandbox/records.ts';
import { insertSandboxExamples } from '../../../src/sandbox/sandbox.ts';
import { webhookSecrets } from './webhook-key.ts';
import type { Database } from '../../../src/db/database.ts';

/** Fills an empty database with what the contract's examples talk about. Returns a key with every scope. */
export const demoKeyIn = async (db: Database, now = new Date()): Promise<string> => {
  const demo = await createDemo(db, now, { withKey: true });
  if (demo?.key === undefined) throw new Error('the database has users already');
  await insertSandboxExamples(db, now, webhookSecrets);
  return demo.key;
};
