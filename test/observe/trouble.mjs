import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** The processes that one has started. */
const childrenOf = (pid) =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((other) => {
      try {
        const [, parent] = /\) \S (\d+) /.exec(readFileSync(`/proc/${other}/stat`, 'utf8')) ?? [];
        return Number(parent) === pid;
      } catch {
        // It has just ended.
        return false;
      }
    });

/** Cuts all connections to the database. */
export const cutConnections = async (database) => {
  const connection = await database.connect();
  const [threads] = await connection.query(
    "SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND db = 'content'",
  );
  // One may have ended meanwhile.
  for (const { id } of threads) await connection.query(`KILL CONNECTION ${id}`).catch(() => undefined);
  await connection.end();
};

/** Kills one of the workers of a supervisor. Resolves when another has been started in its place. */
export const killWorker = async (supervisor) => {
  const before = new Set(childrenOf(supervisor));
  const [worker] = before;
  process.kill(worker, 'SIGKILL');
  while (childrenOf(supervisor).every((pid) => before.has(pid))) await sleep(50);
};
