import type { Database } from '../../../src/db/database.ts';
import type { WorkloadPool } from '../../../src/db/workload-pool.ts';

type Read = WorkloadPool['read'];

/** Has `instead` run what calls read outside of transactions, given how it would be; returns a function that takes this back. */
export const interceptReads = (db: Database, instead: (read: Read) => Read): (() => void) => {
  const restores = [db, db.anonymous].map((lane) => {
    const { read } = lane;
    lane.read = instead(read.bind(lane));
    return () => {
      lane.read = read;
    };
  });
  return () => {
    for (const restore of restores) restore();
  };
};
