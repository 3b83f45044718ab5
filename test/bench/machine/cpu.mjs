import { readdirSync, readFileSync } from 'node:fs';

/**
 * The nanoseconds of CPU that each thread of a process has used, by its id. To the nanosecond, where /proc/<pid>/stat
 * counts hundredths of seconds.
 */
const threadTimes = (pid) =>
  new Map(
    readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
      try {
        return [[thread, Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ', 1)[0])]];
      } catch {
        // It ended meanwhile.
        return [];
      }
    }),
  );

/**
 * Begins to count the CPU time of a process.
 *
 * @returns a function that says the microseconds used since, of all threads that are still there: the servers keep theirs
 */
export const countCpu = (pid) => {
  const before = threadTimes(pid);
  return () => {
    let used = 0;
    for (const [thread, time] of threadTimes(pid)) used += time - (before.get(thread) ?? 0);
    return used / 1000;
  };
};
